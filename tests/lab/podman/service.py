"""Podman behind its Docker-compatible socket, for one test module: root's, or a user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.conftest import ENGINE_CACHE, ENGINE_SCRIPT, PREPARATION_SECONDS, run_program

SCRIPT = Path(__file__).parent / "podman.sh"
MAKING = ("run", "create")


@dataclass(frozen=True, kw_only=True)
class PodmanService:
    """A running service whose containers live in the cgroup `cgroup`, which is capped.

    `parent`: what a new container must be told for that; None where its user may not say it.
    """

    socket: Path
    cgroup: str
    parent: str | None
    environment: dict[str, str]
    image: str = "base"

    @property
    def host(self) -> str:
        """Its address in the form that `DOCKER_HOST` has."""
        return f"unix://{self.socket}"

    def docker(self, *arguments: str, seconds: float = 60) -> str:
        """Docker's client, which knows nothing of Podman; new containers get their cgroup."""
        verb, *rest = arguments
        told = verb in MAKING and self.parent is not None
        place = (f"--cgroup-parent={self.parent}",) if told else ()
        return run_program(
            "docker", verb, *place, *rest, environment=self.environment, seconds=seconds
        )


@contextmanager
def podman_service(user: str) -> Iterator[PodmanService]:
    """Started from nothing and ended; one of each user at a time in a test process."""
    name = f"podman-{user}-{os.getpid()}"
    folder = ENGINE_CACHE / name
    environment = {
        **os.environ,
        "ENGINE_CACHE": str(ENGINE_CACHE),
        "DOCKER_CONFIG": str(ENGINE_CACHE / "client"),
        "DOCKER_HOST": f"unix://{folder}/run/podman/podman.sock",
        "PODMAN_CACHE": str(ENGINE_CACHE),
        "PODMAN_FOLDER": str(folder),
        "PODMAN_USER": user,
    }

    def script(script: Path, *words: str) -> None:
        run_program(str(script), *words, environment=environment, seconds=PREPARATION_SECONDS)

    for step in ("packages", "base"):
        script(ENGINE_SCRIPT, step)
    for step in ("packages", "sweep"):
        script(SCRIPT, step)
    try:
        script(SCRIPT, "start")
        script(SCRIPT, "image", str(ENGINE_CACHE / "base.tar"))
        yield PodmanService(
            socket=folder / "run" / "podman" / "podman.sock",
            cgroup=f"evictd-{name}",
            parent=f"/evictd-{name}" if user == "root" else None,
            environment=environment,
        )
    finally:
        script(SCRIPT, "stop")
