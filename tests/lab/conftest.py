"""What the lab tests stand on: a Docker Engine of their own, and a real cgroup with a cap.

Both are made from nothing and leave the machine as they found it: no engine, no container, no
cgroup and no mount stays. They need root; without it the tests fail and say so, since a lab that
skips proves nothing.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from tests import machine
from tests.lab.patience import PATIENCE

ENGINE_SCRIPT = Path(__file__).parent / "engine" / "engine.sh"
# Below /var/tmp, so that downloads and images are made once and not for each run.
ENGINE_CACHE = Path(os.environ.get("ENGINE_CACHE", "/var/tmp/evictd-engine"))  # noqa: S108  # root's own folder
ENGINE_PLACES = 4  # engines beside each other on one machine; each holds about 0.5 GB of images
PREPARATION_SECONDS = 900  # packages and base file system from a slow mirror
TEST_SECONDS = 60  # the project's own limit, without what fixtures take
CGROUPS = Path("/sys/fs/cgroup")
CAP_BYTES = (
    1 << 30
)  # a small machine: large enough for a few workloads, small enough to fill at once


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test with an engine waits for it to be made; that is not the test's own time."""
    for item in items:
        wants_engine = "docker_engine" in getattr(item, "fixturenames", ())
        if wants_engine and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS, func_only=True))


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is true of real processes; fail when it is not within `seconds`."""
    machine.until("it comes true", condition, seconds * PATIENCE)


@dataclass(frozen=True, kw_only=True)
class DockerEngine:
    """A running dockerd that belongs to this test session alone.

    `environment` is the whole environment for a client (`DOCKER_HOST` and `DOCKER_CONFIG` with
    Compose v2 as a plugin included); `image` is an image with Python and a shell that is there
    already. Containers live in the cgroup `cgroup`, whose memory is capped.
    """

    socket: Path
    cgroup: str
    environment: dict[str, str]
    image: str = "python:3.12-slim"

    @property
    def host(self) -> str:
        """The engine's address in the form that `DOCKER_HOST` has."""
        return f"unix://{self.socket}"

    def run(
        self,
        *command: str,
        seconds: float = 60,
        folder: Path | None = None,
        variables: dict[str, str] | None = None,
    ) -> str:
        """Run a program against this engine; return what it printed, or fail with what it said."""
        environment = {**self.environment, **(variables or {})}
        return run_program(*command, environment=environment, seconds=seconds, folder=folder)

    def docker(self, *arguments: str, seconds: float = 60) -> str:
        """Run the `docker` client against this engine."""
        return self.run("docker", *arguments, seconds=seconds)

    def inside(self, *command: str, seconds: float = 60) -> str:
        """Run a program where the ports that containers publish on loopback can be reached."""
        return self.run(str(ENGINE_SCRIPT), "inside", *command, seconds=seconds)

    def restart(self, network: str) -> None:
        """Start again with network `host` (package indexes in reach) or `netns` (sealed off).

        Containers, volumes and networks are gone after it; images stay.
        """
        self.run(str(ENGINE_SCRIPT), "start", network)

    def reboot(self) -> None:
        """End it as a restart of the machine does, and start it: containers stay as they are."""
        self.run(str(ENGINE_SCRIPT), "again", "netns")


def run_program(
    *command: str, environment: dict[str, str], seconds: float, folder: Path | None = None
) -> str:
    """What it printed; it must end well, else the failure has what it said."""
    finished = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        timeout=seconds,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    said = f"{finished.stdout}\n{finished.stderr}"
    assert finished.returncode == 0, f"{' '.join(command)}: {finished.returncode}\n{said}"
    return finished.stdout


def _free_place() -> tuple[int, IO[str]]:
    """The first engine place that no other test session uses, held until its file is closed."""
    ENGINE_CACHE.mkdir(parents=True, exist_ok=True)
    for number in range(ENGINE_PLACES):
        lock = (ENGINE_CACHE / f"engine-{number}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            return number, lock
    pytest.fail(f"{ENGINE_PLACES} test sessions already have an engine in {ENGINE_CACHE}")


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[DockerEngine]:
    """A sealed-off Docker Engine with the base images; ended by its own process id."""
    with make_engine() as engine:
        engine.run(str(ENGINE_SCRIPT), "images", seconds=PREPARATION_SECONDS)
        yield engine


@contextmanager
def make_engine(**more: str) -> Iterator[DockerEngine]:
    """An engine of one's own, without images; `more` variables are told to its script."""
    number, lock = _free_place()
    folder = ENGINE_CACHE / f"engine-{number}"
    cgroup = f"evictd-lab-{number}"
    settings = {"ENGINE_CACHE": ENGINE_CACHE, "ENGINE_FOLDER": folder, "ENGINE_CGROUP": cgroup}
    environment = {
        **os.environ,
        **{name: str(value) for name, value in settings.items()},
        **more,
        "DOCKER_HOST": f"unix://{folder}/docker.sock",
        "DOCKER_CONFIG": str(ENGINE_CACHE / "client"),
    }
    engine = DockerEngine(socket=folder / "docker.sock", cgroup=cgroup, environment=environment)
    with lock:
        try:
            for step in (("packages",), ("base",), ("start", "netns")):
                engine.run(str(ENGINE_SCRIPT), *step, seconds=PREPARATION_SECONDS)
            yield engine
        finally:
            engine.run(str(ENGINE_SCRIPT), "stop")


@dataclass(frozen=True, kw_only=True)
class CappedCgroup:
    """A cgroup that is a small machine of its own, in every hierarchy that the kernel has.

    On cgroup v1 and hybrid layouts `memory` and `pids` are folders of those hierarchies and
    `unified` is the v2 folder beside them, or None; on cgroup v2 all three are one folder.
    """

    name: str
    memory: Path
    pids: Path
    unified: Path | None

    @property
    def folders(self) -> list[Path]:
        """Each folder once."""
        return list(dict.fromkeys(f for f in (self.memory, self.pids, self.unified) if f))

    def child(self, name: str) -> CappedCgroup:
        """A cgroup for one workload below this one."""
        below = CappedCgroup(
            name=f"{self.name}/{name}",
            memory=self.memory / name,
            pids=self.pids / name,
            unified=self.unified and self.unified / name,
        )
        for folder in below.folders:
            folder.mkdir()
        return below

    def add(self, process: int) -> None:
        """Put a process into this cgroup, in every hierarchy."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(process))

    def processes(self) -> set[int]:
        """Every process in this cgroup and below it."""
        found: set[int] = set()
        for folder in self.folders:
            for listing in folder.rglob("cgroup.procs"):
                found |= {int(line) for line in listing.read_text().split()}
        return found

    def remove(self) -> None:
        """End what is inside and take the folders away."""
        until(self.end_processes)
        for folder in self.folders:
            for below in sorted(folder.rglob("*/"), reverse=True):
                below.rmdir()
            folder.rmdir()

    def end_processes(self) -> bool:
        """Send SIGKILL to all that is inside; true when nothing was left."""
        remaining = self.processes()
        for process in remaining:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return not remaining


@pytest.fixture
def capped_cgroup() -> Iterator[CappedCgroup]:
    """A cgroup limited to `CAP_BYTES` of memory, gone afterwards with all that is in it."""
    cgroup = make_capped_cgroup(f"evictd-test-{os.getpid()}")
    try:
        yield cgroup
    finally:
        cgroup.remove()


def make_capped_cgroup(name: str) -> CappedCgroup:
    """A cgroup limited to `CAP_BYTES` of memory; whoever makes it removes it."""
    if (CGROUPS / "memory").is_dir():
        unified = CGROUPS / "unified"
        made = CappedCgroup(
            name=name,
            memory=CGROUPS / "memory" / name,
            pids=CGROUPS / "pids" / name,
            unified=unified / name if unified.is_dir() else None,
        )
        limit = "memory.limit_in_bytes"
    else:
        _give_controllers(CGROUPS)
        made = CappedCgroup(
            name=name, memory=CGROUPS / name, pids=CGROUPS / name, unified=CGROUPS / name
        )
        limit = "memory.max"
    for folder in made.folders:
        folder.mkdir()
    if limit == "memory.max":
        _give_controllers(made.memory)
    (made.memory / limit).write_text(str(CAP_BYTES))
    return made


def _give_controllers(group: Path) -> None:
    """On v2 a group's children have the controllers that it hands down, and no others."""
    (group / "cgroup.subtree_control").write_text("+memory +pids")
