"""What one heartbeat costs the controller among few and among many live Evictions, and how long a
restart takes with many.

From the project's folder:

    python -m benchmarks.controller

One controller with its SQLite journal, on a bus in memory. A requester has asked for every workload
of the machine and the default responder is at work on each; one report at a time says that it gets
on. Measured is from the report until the Eviction that names it is published, the commit in
between; a hundred times, each about another workload chosen by chance, because further reports of
the same one are held back for a while. Then the controller ends and another one starts from the
journal on an empty bus. Prints figures, asserts nothing.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import msgspec

from evictd.controller import Controller
from evictd.core.effects import ControllerEffect
from evictd.core.protocol.case import Case
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.rules import Mode, Rules
from evictd.shell.blocking import in_thread
from evictd.shell.bus import Delivery, Listing, Router
from evictd.shell.clock import SystemClock
from evictd.shell.epoch import Epoch
from evictd.shell.garbage import search_less
from evictd.shell.inbox import Inbox
from evictd.shell.journal_sqlite import SqliteJournal
from evictd.shell.supervise import Outside
from evictd_schemas import Eviction, topics

NODE = "edge"
COUNTS = (100, 1_000, 10_000)
HEARTBEATS = 100
SETTLE_SECONDS = 10.0
"""What was asked for is written down, and told again where it changed, before heartbeats begin."""
PATIENCE_SECONDS = 120.0
"""For each wait; beyond it something is wrong."""
RULES = Rules(node=NODE, mode=Mode.ACT)


class Ear:
    """Hears Evictions and statuses: what the controller has said last of each."""

    filters = ("evictd/v1/+/evictions/+/+", "evictd/v1/+/evictionrequests/#")

    def __init__(self) -> None:
        self.evictions: dict[str, bytes] = {}
        self._statuses: set[str] = set()
        self._awaited: str | int = ""
        self._heard = asyncio.Event()

    def deliver(self, delivery: Delivery) -> None:
        if delivery.topic.endswith("/status"):
            self._statuses.add(delivery.topic)
        elif delivery.topic.count("/") == 5:
            self.evictions[delivery.topic] = delivery.payload
        told = min(len(self.evictions), len(self._statuses))
        if self._awaited in (delivery.topic, told):
            self._heard.set()

    def listed(self, listing: Listing) -> None:
        """It decides nothing."""

    def expect(self, awaited: str | int) -> None:
        """The next one of this topic, or so many Evictions with their requests' statuses."""
        self._awaited = awaited
        self._heard.clear()

    async def heard(self) -> None:
        """Until it came."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._heard.wait()


@asynccontextmanager
async def controller(router: Router, folder: Path, epoch: int) -> AsyncIterator[Controller]:
    """One life of a controller; the journal is what the next one starts from."""
    clock = SystemClock()
    inbox: Inbox[Any] = Inbox(clock)
    async with SqliteJournal[Case, ControllerEffect](
        folder / "journal", Case, ControllerEffect
    ) as journal:
        outside: Outside[Case, Any, ControllerEffect] = Outside(
            node=NODE,
            scope=NODE,
            bus=router,
            epoch=Epoch(epoch),
            inbox=inbox,
            clock=clock,
            journal=journal,
            run_blocking=in_thread,
            rules=lambda node: RULES if node == NODE else None,
        )
        worker = Controller(outside)
        running = asyncio.create_task(worker.run())
        yield worker
        inbox.close()
        await running


def uid(number: int) -> str:
    """Of a workload."""
    return str(UUID(int=number + 1))


def say(router: Router, topic: str, message: dict[str, Any]) -> None:
    """Somebody publishes."""
    router.publish(topic, msgspec.json.encode(message), retain=True)


async def ask_for_all(router: Router, ear: Ear, count: int) -> None:
    """Every workload is there, and somebody wants each of them to leave."""
    ear.expect(count)
    pods = [{"namespace": "s", "name": f"w{n}", "uid": uid(n)} for n in range(count)]
    now = datetime.now(UTC).isoformat()
    observation = {"node": NODE, "time": now, "sequence": 1, "signals": {}, "pods": pods}
    say(router, topics.OBSERVATION.at(NODE), observation)
    for number in range(count):
        where = {"domain": "acme.io", "key": "mover", "namespace": "s", "name": f"w{number}"}
        target = {"pod": {"name": f"w{number}", "uid": uid(number)}}
        spec = {"target": target, "requester": "acme.io/mover", "intent": "Eviction"}
        say(router, topics.REQUEST.at(NODE, **where), {"spec": spec})
    await ear.heard()


async def heartbeat(router: Router, ear: Ear, topic: str, message: str) -> float:
    """Seconds from a report to the Eviction that names it."""
    eviction = msgspec.json.decode(ear.evictions[topic], type=Eviction)
    domain, _, key = DEFAULT_RESPONDER.partition("/")
    where = {"namespace": "s", "name": eviction.metadata.name, "domain": domain, "key": key}
    report = {"evictionUid": eviction.metadata.uid, "message": message}
    payload = msgspec.json.encode(report)
    ear.expect(topic)
    begun = time.perf_counter()
    router.publish(topics.REPORT.at(NODE, **where), payload, retain=True)
    await ear.heard()
    return time.perf_counter() - begun


async def measure(count: int, folder: Path) -> str:
    """One row of the table."""
    router, ear = Router(), Ear()
    router.attach(ear)
    async with controller(router, folder, 1):
        begun = time.perf_counter()
        await ask_for_all(router, ear, count)
        asking_seconds = time.perf_counter() - begun
        await asyncio.sleep(SETTLE_SECONDS)
        chosen = random.sample(sorted(ear.evictions), k=HEARTBEATS)
        processor = time.thread_time()
        seconds = [await heartbeat(router, ear, topic, "it gets on") for topic in chosen]
        processor = (time.thread_time() - processor) / HEARTBEATS
    restart_seconds = await restart(count, folder)
    slow = sorted(seconds)[len(seconds) * 9 // 10]
    return (
        f"| {count:,} | {1e3 * median(seconds):.2f} | {1e3 * slow:.2f} "
        f"| {1e3 * processor:.2f} | {1e3 * asking_seconds / count:.2f} | {restart_seconds:.2f} |"
    )


async def restart(count: int, folder: Path) -> float:
    """Seconds until everything is told again to a bus that has lost it."""
    router, ear = Router(), Ear()
    router.attach(ear)
    begun = time.perf_counter()
    ear.expect(count)
    async with controller(router, folder, 2):
        await ear.heard()
        return time.perf_counter() - begun


def main() -> None:
    """Every count, each on a journal of its own."""
    search_less()
    print("| live Evictions | heartbeat, ms | 9 of 10 below, ms ", end="")  # noqa: T201
    print("| processor, ms | request, ms | restart, s |")  # noqa: T201
    print("|---|---|---|---|---|---|")  # noqa: T201
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            print(asyncio.run(measure(count, Path(folder))), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
