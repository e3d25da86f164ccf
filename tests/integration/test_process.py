"""Whole processes against a real broker: signals, death, replacement, and what the bus shows."""

import asyncio
import os
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from tests.waiting import until

from evictd.client import Mirror, connect
from evictd.shell.bus import link
from evictd_schemas import WorkerStatus, topics

NODE = "edge-7"
PATIENCE_SECONDS = 20.0
PROGRAM = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from evictd.core.effects import Publish, Retract, Tick, WakeAt
from evictd.core.errors import EvictdError
from evictd.shell import logs
from evictd.shell.bus.address import address
from evictd.shell.process import Post, Process, run_workers
from evictd.shell.publisher import Publisher
from evictd.shell.supervise import drive
from evictd_schemas import Eviction, topics
from evictd_schemas.topics import Role

NODE, url, folder = "edge-7", sys.argv[1], Path(sys.argv[2])
logs.configure(worker="controller", node=NODE)


class Count(Struct, frozen=True, kw_only=True):
    number: int = 0


class Controller:
    # one Eviction for each request, for ever

    def __init__(self, outside):
        self.outside = outside
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.filters = (topics.REQUEST.everywhere(NODE),)

    def deliver(self, delivery):
        self.outside.inbox.feed(topics.place(delivery.topic).names["name"], delivery.payload)

    def listed(self, listing):
        print("listed", listing.authoritative, flush=True)

    async def run(self):
        self.outside.bus.attach(self)
        await drive(self.step, Count(), self.outside, self.publisher.perform)

    def step(self, key, state, given, now):
        topic = topics.EVICTION.at(NODE, namespace="shop", name=key)
        return Count(number=state.number + 1), [Publish(topic=topic, message=Eviction())]


try:
    asyncio.run(
        run_workers(
            Process(
                node=NODE,
                address=address(url),
                rules=lambda node: None,
                state_folder=folder,
                runtime_folder=folder,
                machine=sys.argv[3],
            ),
            [Post(role=Role.CONTROLLER, build=Controller, state=Count, effects=Publish | Retract)],
        )
    )
except EvictdError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


@asynccontextmanager
async def started(broker: Any, folder: Path, machine: str = "aaaa") -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, broker.url, str(folder), machine, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def listed(process: Process) -> bool:
    """Wait for the list; whether it was authoritative."""
    assert process.stdout is not None
    async with asyncio.timeout(20):
        return (await process.stdout.readline()).split() == [b"listed", b"True"]


async def noted(folder: Path, number: int) -> None:
    """Wait until the journal knows that the broker has so many Evictions."""

    def marks() -> int:
        with closing(sqlite3.connect(folder / "controller.journal")) as connection:
            return int(connection.execute("SELECT count(*) FROM marks").fetchone()[0])

    async def has_them() -> bool:
        return await asyncio.to_thread(marks) >= number

    await until(has_them)


def status(mirror: Mirror) -> WorkerStatus | None:
    return mirror.get(topics.WORKER, NODE, worker="controller")


def said(mirror: Mirror, word: str) -> bool:
    held = status(mirror)
    return held is not None and held.status == word


def request(mirror: Mirror, name: str) -> None:
    mirror._bus.publish(
        topics.REQUEST.at(NODE, domain="acme.io", key="mover", namespace="shop", name=name),
        b"{}",
        retain=True,
    )


def evictions(mirror: Mirror) -> list[str]:
    return [found.place.names["name"] for found in mirror.objects(topics.EVICTION)]


async def test_sigterm_ends_orderly_and_in_time(broker: Any, tmp_path: Path) -> None:
    async with connect(broker.url) as mirror, started(broker, tmp_path) as process:
        await until(lambda: said(mirror, "ready"))
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0
        await until(lambda: said(mirror, "disconnected"))


async def test_a_killed_process_is_lost_and_its_successor_goes_on_with_all_it_had(
    broker: Any, tmp_path: Path
) -> None:
    async with connect(broker.url) as mirror:
        async with started(broker, tmp_path) as process:
            await until(lambda: said(mirror, "ready"))
            for number in range(20):
                request(mirror, f"r{number}")
            await until(lambda: len(evictions(mirror)) == 20)
            await noted(tmp_path, 20)
            process.kill()
            await until(lambda: said(mirror, "lost"))
        first = status(mirror)
        async with started(broker, tmp_path) as process:
            assert await listed(process)
            await until(lambda: said(mirror, "ready"))
        second = status(mirror)
        assert first is not None
        assert second is not None
        assert second.epoch > first.epoch
        assert len(evictions(mirror)) == 20


async def test_a_successor_does_not_believe_a_broker_that_lost_its_store(
    broker: Any, tmp_path: Path
) -> None:
    async with connect(broker.url) as mirror, started(broker, tmp_path) as process:
        await until(lambda: said(mirror, "ready"))
        request(mirror, "web")
        await until(lambda: evictions(mirror) == ["web"])
        await noted(tmp_path, 1)
        process.kill()
        await process.wait()
    await asyncio.to_thread(broker.kill)
    await asyncio.to_thread(broker.start)
    async with started(broker, tmp_path) as process, connect(broker.url) as mirror:
        assert not await listed(process)
        await until(lambda: evictions(mirror) == ["web"])  # from the journal


async def test_a_newer_process_ends_the_older_with_exit_code_nine(
    broker: Any, tmp_path: Path
) -> None:
    async with connect(broker.url) as mirror, started(broker, tmp_path / "a") as older:
        await until(lambda: said(mirror, "ready"))
        async with started(broker, tmp_path / "b") as newer:
            assert await asyncio.wait_for(older.wait(), 20) == 9
            await until(lambda: said(mirror, "ready"))
            assert newer.returncode is None


async def test_another_machine_under_the_same_name_ends_with_exit_code_three(
    broker: Any, tmp_path: Path
) -> None:
    async with connect(broker.url) as mirror, started(broker, tmp_path / "a", "aaaa") as holder:
        await until(lambda: said(mirror, "ready"))
        async with started(broker, tmp_path / "b", "bbbb") as other:
            assert other.stderr is not None
            text = await asyncio.wait_for(other.stderr.read(), 20)
            assert await other.wait() == 3
        assert b"aaaa" in text
        assert b"bbbb" in text
        assert holder.returncode is None


async def test_the_loss_of_the_broker_is_visible_within_five_seconds(
    broker: Any, tmp_path: Path
) -> None:
    async with started(broker, tmp_path) as process:
        async with connect(broker.url) as mirror:
            await until(lambda: said(mirror, "ready"))
        assert process.stderr is not None
        broker.signal(signal.SIGSTOP)
        assert link.WATCH_SECONDS + link.STALL_SECONDS <= 5
        async with asyncio.timeout(PATIENCE_SECONDS):
            while b"does not answer" not in await process.stderr.readline():
                pass
        broker.signal(signal.SIGCONT)
        async with connect(broker.url) as mirror:
            await until(lambda: said(mirror, "ready"))
        await asyncio.to_thread(broker.kill)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while b"no broker" not in await process.stderr.readline():
                pass
        alive = await asyncio.to_thread((tmp_path / "controller.alive").read_text)
        assert float(alive) > 0
        os.kill(process.pid, signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0
