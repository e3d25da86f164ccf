"""A bus, a fake runtime, a journal, and the lives of one responder."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from evictd.core.duty import Duty, Effect, Given
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.rules import Mode, Rules
from evictd.responder.service import DefaultResponder
from evictd.shell.blocking import inline
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.clock import LoopClock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import MemoryJournal
from evictd.shell.supervise import Outside
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import (
    Eviction,
    EvictionSpec,
    EvictionStatus,
    Metadata,
    Pod,
    PodReference,
    PodTarget,
    Reason,
    Report,
    ResponderStatus,
    Stopped,
    Target,
    TargetResponder,
    topics,
)

NODE = "edge-7"
START = datetime(2026, 1, 1, tzinfo=UTC)
WEB = Pod(namespace="shop", name="web", uid="", termination_grace_period_seconds=30)


def topic(name: str = "web-1") -> str:
    return topics.EVICTION.at(NODE, namespace="shop", name=name)


def report_topic(name: str = "web-1") -> str:
    domain, _, key = DEFAULT_RESPONDER.partition("/")
    return topics.REPORT.at(NODE, namespace="shop", name=name, domain=domain, key=key)


def eviction(
    pod: PodReference,
    *,
    name: str = "web-1",
    state: str = "Active",
    grace: int | None = None,
    dry_run: bool = False,
) -> Eviction:
    return Eviction(
        metadata=Metadata(namespace=pod.namespace, name=name, uid=f"uid of {name}"),
        spec=EvictionSpec(target=Target(pod=PodTarget(name=pod.name, uid=pod.uid))),
        status=EvictionStatus(
            node=NODE,
            target_responders=(TargetResponder(name=DEFAULT_RESPONDER, priority=100, state=state),),
            responders=(ResponderStatus(name=DEFAULT_RESPONDER, start_time=START),),
            grace_period_seconds=grace,
            dry_run=dry_run,
            reason=Reason(signal="memory.available"),
        ),
    )


class Machine:
    """A bus, a fake runtime, a journal, and the lives of one responder."""

    filters = ("#",)

    def __init__(self, *runtimes: Any, mode: Mode = Mode.ACT) -> None:
        self.bus = Router()
        self.runtime = FakeRuntime()
        self.runtimes = runtimes or (self.runtime,)
        self.journal: MemoryJournal[Duty, Effect] = MemoryJournal()
        self.rules = Rules(node=NODE, mode=mode)
        self.hold_file: Path | None = None
        self.heard: list[Delivery] = []
        self.lives = 0
        self.bus.attach(self)

    def forget_journal(self) -> None:
        """Somebody has moved the file away."""
        self.journal = MemoryJournal()

    def deliver(self, delivery: Delivery) -> None:
        self.heard.append(delivery)

    def listed(self, listing: Listing) -> None:
        """It only hears."""

    def say(self, message: Any, where: str = "") -> None:
        payload = b"" if message is None else msgspec.json.encode(message)
        self.bus.publish(where or topic(), payload, retain=True, publisher=self)

    def reports(self, where: str = "") -> list[Report]:
        return [
            msgspec.json.decode(found.payload, type=Report)
            for found in self.heard
            if found.topic == (where or report_topic()) and found.payload
        ]

    def retained(self, where: str, kind: Any) -> Any:
        payload = self.bus.retained.get(where)
        return None if payload is None else msgspec.json.decode(payload, type=kind)

    def stopped(self) -> Stopped | None:
        found: Stopped | None = self.retained(
            topics.STOPPED.at(NODE, namespace="shop", name="web"), Stopped
        )
        return found

    @asynccontextmanager
    async def life(self) -> AsyncIterator[DefaultResponder]:
        """A responder that is killed at the end, whatever it was doing."""
        self.lives += 1
        clock = LoopClock(START)
        inbox: Inbox[Given] = Inbox(clock)
        responder = DefaultResponder(
            Outside(
                node=NODE,
                scope=NODE,
                bus=self.bus,
                epoch=Epoch(self.lives * 1000),
                inbox=inbox,
                clock=clock,
                journal=self.journal,
                run_blocking=inline,
                rules=lambda node: self.rules if node == NODE else None,
            ),
            self.runtimes,
            self.hold_file,
        )
        running = asyncio.create_task(responder.run())
        await asyncio.sleep(0.1)
        try:
            yield responder
            if running.done():
                running.result()
        finally:
            running.cancel()
            await asyncio.wait([running])
            inbox.close()


async def stopped_web(machine: Machine) -> PodReference:
    """A workload that is down because of an Eviction."""
    web = machine.runtime.begin(WEB)
    machine.say(eviction(web))
    await asyncio.sleep(1)
    assert machine.stopped() is not None
    return web
