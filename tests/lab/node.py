"""One machine as the lab runs it: all of evictd, a broker, a client that hears all of the node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.integration.conftest import Mosquitto
from tests.lab.patience import PATIENCE
from tests.machine import ROLES, Client, Heard, Machine, until

NAME = "lab"
ROOT = f"evictd/v1/{NAME}"
RESPONDER = "imperative-eviction.k8s.io/evictor"
REQUESTER = "acme.io/mover"
SESSION = ("-i", "ear", "-c", "-x", "600")
WAIT_SECONDS = 30.0 * PATIENCE
"""For what has no deadline of its own, once everything runs."""


class Ear(Client):
    """A client that hears the node, with a session that outlives a broker's restart."""

    def newest(self, below: str) -> Any:
        """The content of the newest message of a topic below the node, None before there is one."""
        found = self.all(below)
        return found[-1].content if found else None

    def all(self, below: str) -> list[Heard]:
        """Everything heard on topics below the node that begin like this."""
        return [m for m in tuple(self.messages) if m.topic.startswith(f"{ROOT}/{below}")]

    def events(self, reason: str) -> list[Any]:
        """The events of one Reason, oldest first."""
        found = (m for m in self.all("events/") if m.topic.endswith(f"/{reason}"))
        return [m.content for m in found]

    def kernel_kills(self) -> list[Any]:
        """Workloads of the node that the kernel killed; what it killed elsewhere is no matter."""
        return [victim for oom in self.events("SystemOOM") for victim in oom["data"]["victims"]]


@dataclass(kw_only=True)
class Node(Machine):
    """All of evictd on this machine."""

    node: str = NAME
    mosquitto: Mosquitto | None = None
    """None: the broker is the one that `evictd up` owns."""
    hears: Ear = field(init=False)

    @contextmanager
    def separate(self) -> Iterator[Node]:
        """One process for each worker, beside a Mosquitto."""
        self.mosquitto = Mosquitto(self.folder)
        self.mosquitto.start()
        self.broker = self.mosquitto.url
        try:
            with self._running(*ROLES):
                yield self
        finally:
            self.mosquitto.kill()

    def joined(self) -> AbstractContextManager[Node]:
        """One process for all of them, and for its broker."""
        return self._running("up")

    @contextmanager
    def _running(self, *workers: str) -> Iterator[Node]:
        """Start processes, wait until the node decides, and end everything afterwards."""
        with self.started(*workers):
            self.hears = Ear([*self.listening, *SESSION, "-t", f"{ROOT}/#"], self.environment)
            with closing(self.hears):
                until("every worker is ready", lambda: self._ready(workers))
                until("the node decides", lambda: self.hears.newest("decision"))
                yield self

    def publish(self, below: str, content: dict[str, Any]) -> None:
        """Retained, below the node, as a person would."""
        self.send(f"{ROOT}/{below}", content, retain=True)

    def pod(self, name: str) -> dict[str, Any] | None:
        """A workload as the newest observation has it."""
        observation = self.hears.newest("observation") or {}
        pods = observation.get("pods", [])
        return next((dict(pod) for pod in pods if pod["name"] == name), None)

    def available(self) -> float:
        """Bytes of memory available by the newest observation."""
        return float(self.hears.newest("observation")["signals"]["memory.available"]["available"])

    def until(
        self, what: str, condition: Callable[[], object], seconds: float = WAIT_SECONDS
    ) -> None:
        """Wait until something is true of real processes; fail when it is not in time."""
        until(what, condition, seconds)

    def looks_on(self, looks: int = 2) -> None:
        """Wait for a few more observations: what should not happen has had its chance."""
        seen = len(self.hears.all("observation"))
        self.until("it looks on", lambda: len(self.hears.all("observation")) >= seen + looks)

    def _ready(self, workers: tuple[str, ...]) -> bool:
        self.nobody_ended()
        names = ["all" if worker == "up" else worker for worker in workers]
        statuses = [self.hears.newest(f"workers/{name}") for name in names]
        return all(status and status["status"] == "ready" for status in statuses)


def request(pod: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    """What a person publishes to have a workload moved away: the topic below the node, and it."""
    below = f"evictionrequests/{REQUESTER}/{pod['namespace']}/move-{pod['name']}"
    target = {"pod": {"name": pod["name"], "uid": pod["uid"]}}
    spec = {"target": target, "requester": REQUESTER, "intent": "Eviction", **more}
    return below, {"spec": spec}


def condition(content: dict[str, Any], kind: str) -> tuple[str, str] | None:
    """Status and reason of a condition, None where it is not there."""
    conditions = content["status"].get("conditions", [])
    return next(((c["status"], c["reason"]) for c in conditions if c["type"] == kind), None)
