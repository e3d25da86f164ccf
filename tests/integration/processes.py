"""evictd as real processes on a real bus: a machine that is heard and spoken to as people do it.

What holds for every such machine is in `tests.machine`. Nothing here knows what evictd should do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.machine import PATIENCE_SECONDS, ROLES, Client, Heard, Machine, until

__all__ = ["HOME", "PATIENCE_SECONDS", "ROLES", "STOP_SECONDS", "Ear", "Site", "until"]

HOME = "edge-7"
STOP_SECONDS = 8.0
"""An orderly end takes no longer, whatever the broker does."""
PROBE = "evictd/v1/nobody/probe"
"""No topic of the contract: who hears it hears everything."""
SESSION_SECONDS = 120
"""Longer than a broker with a memory is away in any story."""


class Ear(Client):
    """A client that hears everything of every node.

    It has a session of its own: what is told before it is back after a restart of the broker waits
    for it there, as no event is retained.
    """

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.command = tuple(command)
        """A subscription with the same login."""
        self.state: dict[str, bytes] = {}
        """What the newest message of each topic said, events apart."""
        session = ("-i", f"ear-{uuid4()}", "-c", "-x", str(SESSION_SECONDS))
        super().__init__([*command, *session, "-t", "evictd/#"], environment)

    def hear(self, heard: Heard) -> None:
        """What is on a topic is known before its message is counted."""
        if "/events/" not in heard.topic:
            self.state[heard.topic] = heard.payload
        super().hear(heard)

    def now(self, topic: str) -> Any:
        """What is on a topic as far as was heard, None where nothing is."""
        payload = self.state.get(topic)
        return json.loads(payload) if payload else None

    def below(self, prefix: str) -> dict[str, Any]:
        """Every topic that begins like this and has something on it now."""
        found = tuple(self.state.items())
        return {
            topic: json.loads(text) for topic, text in found if topic.startswith(prefix) and text
        }

    def events(self, node: str, reason: str) -> list[Any]:
        """The events of one Reason of a node, oldest first, each id once as readers count it."""
        found = (
            message.content
            for message in tuple(self.messages)
            if message.topic.startswith(f"evictd/v1/{node}/events/")
            and message.topic.endswith(f"/{reason}")
        )
        return list({event["id"]: event for event in found}.values())


@dataclass(kw_only=True)
class Site(Machine):
    """A machine that is heard with all others of its broker."""

    node: str = HOME
    ear: Ear = field(init=False)
    probes: int = 0

    @contextmanager
    def running(self, *workers: str) -> Iterator[Site]:
        """Start workers, or `up`; when all are ready the test goes on; all end orderly."""
        with self.started(*workers):
            self.ear = Ear(self.listening, self.environment)
            with closing(self.ear):
                self.await_hearing()
                for worker in workers:
                    self.await_ready(worker)
                yield self

    def publish(self, topic: str, content: dict[str, Any] | bytes, *, retain: bool = False) -> None:
        """On any topic, as a person would."""
        self.send(topic, content, retain=retain)

    def status(self, worker: str) -> Any:
        """What a process says of itself on the bus, {} before it said anything."""
        return self.ear.now(f"{self.root}/workers/{'all' if worker == 'up' else worker}") or {}

    def await_ready(self, worker: str, *, after_epoch: int = 0, after_connection: int = 0) -> None:
        """Until it is there in a life or connection newer than these."""

        def ready() -> bool:
            status = self.status(worker)
            return (
                status.get("status") == "ready"
                and status["epoch"] > after_epoch
                and status["connection"] > after_connection
            )

        until(f"{worker} is ready", ready)

    def await_hearing(self) -> None:
        """Until the client hears what is published now, after a broker was gone too."""
        self.probes += 1
        wanted = str(self.probes).encode()
        self.publish(PROBE, wanted, retain=True)
        until("the client hears", lambda: self.ear.state.get(PROBE) == wanted)
