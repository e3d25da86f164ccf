"""What the contract's sentences are tried on: the workers as separate processes on a broker of
somebody else's, started once for a module; each test plays a node of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.integration.conftest import Mosquitto
from tests.integration.processes import ROLES, Site, until
from tests.integration.stories.conftest import MIB, pod, settings, uid

MOVER = "acme.io/mover"
LOOK_SECONDS = 1
"""Between two looks of the collector."""


@dataclass(kw_only=True)
class Outsider:
    """Somebody with nothing but the standard clients and a node of a demonstration."""

    site: Site
    node: str = field(default_factory=lambda: f"demo-{uuid4().hex[:12]}")

    def topic(self, *levels: str) -> str:
        """Below this node."""
        return "/".join(("evictd/v1", self.node, *levels))

    def observe(self, *pods: dict[str, Any], available_mib: int = 2000, **more: Any) -> None:
        """Publish an observation as people do, without `sequence` and at the present time; None
        leaves a field out."""
        signal = {"available": available_mib * MIB, "capacity": 4096 * MIB}
        content = {
            "node": self.node,
            "time": datetime.now(UTC).isoformat(),
            "signals": {"memory.available": signal},
            "pods": list(pods),
            **more,
        }
        stated = {name: value for name, value in content.items() if value is not None}
        self.site.publish(self.topic("observation"), stated)

    def request(self, name: str, workload: str = "web", **spec: Any) -> None:
        """Ask that a workload leaves; its uid is that of `pod` unless `target` says otherwise."""
        wanted = {"pod": {"name": workload, "uid": uid(workload)}}
        spec = {"target": wanted, "requester": MOVER, "intent": "Eviction", **spec}
        self.site.publish(self.request_topic(name), {"spec": spec}, retain=True)

    def request_topic(self, name: str) -> str:
        """Where a request of this person stands."""
        return self.topic("evictionrequests", MOVER, "shop", name)

    def status(self, name: str) -> dict[str, Any]:
        """Of each condition of a request (status, reason), {} before there is a status."""
        found = self.site.ear.now(f"{self.request_topic(name)}/status") or {"conditions": []}
        return {item["type"]: (item["status"], item["reason"]) for item in found["conditions"]}

    def evictions(self) -> list[Any]:
        """All that are there now."""
        found = self.site.ear.below(self.topic("evictions/"))
        return [content for topic, content in found.items() if "/responders/" not in topic]

    def chain(self) -> list[tuple[str, str]]:
        """Name and state of each responder of the only Eviction."""
        (eviction,) = self.evictions()
        return [(item["name"], item["state"]) for item in eviction["status"]["targetResponders"]]

    def rejections(self) -> list[tuple[str, str]]:
        """Worker and field of each answer, oldest first."""
        return [
            (event["source"].rpartition("/")[2], event["data"]["field"])
            for event in self.site.ear.events(self.node, "MessageRejected")
        ]

    def await_decision(self) -> Any:
        """Until the evictor has decided for this node."""
        until("it decides", lambda: self.site.ear.now(self.topic("decision")))
        return self.site.ear.now(self.topic("decision"))

    def await_evictions(self, count: int) -> None:
        """Until so many are there."""
        until(f"{count} Evictions are there", lambda: len(self.evictions()) == count)

    def await_eviction(self) -> Any:
        """Until one is there."""
        self.await_evictions(1)
        return self.evictions()[0]

    def await_gone(self) -> Any:
        """Until the target of an Eviction is gone; the event that says so."""
        until("it is gone", lambda: self.site.ear.events(self.node, "Evicted"))
        return self.site.ear.events(self.node, "Evicted")[0]

    def await_rejection(self) -> list[tuple[str, str]]:
        """Until something was answered."""
        until("it is answered", self.rejections)
        return self.rejections()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """All workers, each a process; those that crashed fail the module."""
    with _running(tmp_path_factory.mktemp("contract")) as made:
        yield made


@pytest.fixture
def fresh_site(tmp_path: Path) -> Iterator[Site]:
    """The same for one test alone."""
    with _running(tmp_path) as made:
        yield made


@contextmanager
def _running(folder: Path) -> Iterator[Site]:
    """A broker of its own keeps the nodes of other tests away, of which a worker serves a hundred
    at most."""
    broker = Mosquitto(folder)
    broker.start()
    try:
        made = Site(folder=folder, settings=settings(), broker=broker.url)
        made.settings["sources"]["intervalSeconds"] = LOOK_SECONDS
        with made.running(*ROLES):
            yield made
    finally:
        broker.kill()


@pytest.fixture
def outsider(site: Site) -> Outsider:
    """A new node for each test."""
    return Outsider(site=site)


__all__ = ["Outsider", "pod", "uid"]
