"""A machine that is played by hand, with a real controller on a real broker, for responders that
are programs of their own."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.integration.processes import PATIENCE_SECONDS, Site, until
from tests.integration.stories.conftest import DEMO, Hand, pod, settings, uid

ROOT = f"evictd/v1/{DEMO}"


class Play:
    """Workloads that are there, whoever wants them to leave, and what comes of it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._hand = Hand()
        self._seconds = 0
        self._pods: list[dict[str, Any]] = []

    def add(self, name: str, **fields: Any) -> None:
        """A workload is seen."""
        self._pods.append(pod(name, uses_mib=100, request_mib=100, **fields))
        self._observe()

    def ask(self, name: str, **spec: Any) -> None:
        """Somebody wants it to leave."""
        target = {"pod": {"name": name, "uid": uid(name)}}
        body = {"target": target, "requester": "acme.io/mover", "intent": "Eviction", **spec}
        self.site.publish(_request(name), {"spec": body}, retain=True)

    def withdraw(self, name: str) -> None:
        """Nobody wants it any more."""
        self.site.publish(_request(name), b"", retain=True)

    def eviction(self, name: str, number: int = 1) -> Any:
        """The Eviction as it stands, {} before there is one."""
        return self.site.ear.now(f"{ROOT}/evictions/shop/pod-{number}-{name}") or {}

    def entry(self, name: str, responder: str, number: int = 1) -> Any:
        """What the controller knows of one responder's work."""
        found = self.eviction(name, number).get("status", {}).get("responders", [])
        return next((item for item in found if item["name"] == responder), {})

    def state(self, name: str, responder: str, number: int = 1) -> str | None:
        """Where it stands in the chain."""
        found = self.eviction(name, number).get("status", {}).get("targetResponders", [])
        return next((item["state"] for item in found if item["name"] == responder), None)

    def reports(self, name: str, responder: str, number: int = 1) -> list[Any]:
        """Everything that it has said, oldest first; what a list repeats counts once."""
        topic = f"{ROOT}/evictions/shop/pod-{number}-{name}/responders/{responder}"
        messages = [item for item in tuple(self.site.ear.messages) if item.topic == topic]
        said = {item.payload: item for item in messages if item.payload}
        return [item.content for item in said.values()]

    def registration(self, responder: str) -> Any:
        """What it says of itself, {} before it said anything."""
        return self.site.ear.now(f"{ROOT}/responders/{responder}") or {}

    def await_state(self, name: str, responder: str, state: str, number: int = 1) -> None:
        until(f"{name} {state}", lambda: self.state(name, responder, number) == state)

    def await_ready(self, responder: str) -> None:
        until(
            f"{responder} is ready", lambda: self.registration(responder).get("status") == "ready"
        )

    @contextmanager
    def program(
        self, *command: str, name: str = "responder", **variables: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A responder as a process; it is ended by SIGTERM, if it has not ended before."""
        with (self.site.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env={**self.site.environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_SECONDS)

    def _observe(self) -> None:
        self._seconds += 1
        observation = self._hand.observation(self._seconds, 4000, *self._pods)
        self.site.publish(self._hand.topic, observation, retain=True)


@contextmanager
def playing(folder: Path, broker: Any) -> Iterator[Play]:
    """The controller runs, and acts on the played machine."""
    site = Site(folder=folder, settings=settings(), broker=broker.url)
    with site.running("controller"):
        yield Play(site)


def _request(name: str) -> str:
    return f"{ROOT}/evictionrequests/acme.io/mover/shop/move-{name}"
