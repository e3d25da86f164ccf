"""The life of a process without a broker: beginning, signs of life, crash and end."""

import asyncio
import json
import logging
import socket
import threading
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog
from msgspec import Struct
from tests.sockets import within_reach
from tests.waiting import until

from evictd.core.effects import Publish, Tick, WakeAt
from evictd.core.errors import Bug, HostError
from evictd.core.moments import Now
from evictd.core.rules import Rules
from evictd.shell import blocking, logs, vitals
from evictd.shell.bus import Delivery, Listing
from evictd.shell.bus.presence import read_status
from evictd.shell.clock import SystemClock
from evictd.shell.epoch import Epoch, first_epoch
from evictd.shell.inbox import Inbox
from evictd.shell.process import Post, Process, run_workers
from evictd.shell.publisher import Publisher
from evictd.shell.serving import Serving
from evictd.shell.supervise import Outside, drive
from evictd.shell.systemd import Notifier
from evictd.shell.vitals import Vitals
from evictd_schemas import Decision, WorkerStatus, topics
from evictd_schemas.topics import Role

NODE = "edge-7"
Effects = Publish | WakeAt


class Count(Struct, frozen=True, kw_only=True):
    """A state."""

    number: int = 0


class Counter:
    """A worker that counts the observations of its node, and says so."""

    def __init__(self, outside: Outside[Count, bytes, Effects]) -> None:
        self.outside = outside
        self.publisher = Publisher(outside.bus, outside.epoch, self, outside.inbox.wake_at)
        self.states: dict[str, Count] = {}
        self.fails = ""

    @property
    def filters(self) -> Sequence[str]:
        return (topics.OBSERVATION.everywhere(self.outside.scope),)

    def deliver(self, delivery: Delivery) -> None:
        self.outside.inbox.feed(NODE, delivery.payload)

    def listed(self, listing: Listing) -> None:
        """Nothing hangs on it."""

    async def run(self) -> None:
        if self.fails:
            raise RuntimeError(self.fails)
        self.outside.bus.attach(self)
        await drive(self._step, Count(), self.outside, self.publisher.perform, self.states)

    def _step(
        self, _key: str, state: Count, given: bytes | Tick, now: Now
    ) -> tuple[Count, list[Effects]]:
        if isinstance(given, Tick):
            return state, []
        number = state.number + 1
        decision = Decision(
            node=NODE, time=now.utc, sequence=number, mode="act", action="None", reason=""
        )
        return Count(number=number), [Publish(topic=topics.DECISION.at(NODE), message=decision)]


def process(folder: Path) -> Process:
    return Process(
        node=NODE,
        address=None,
        rules=lambda _node: None,
        state_folder=folder,
        runtime_folder=folder,
    )


def post(built: list[Counter], *, fails: str = "") -> Post:
    def build(outside: Outside[Any, Any, Any]) -> Counter:
        counter = Counter(outside)
        counter.fails = fails
        built.append(counter)
        return counter

    return Post(role=Role.EVICTOR, build=build, state=Count, effects=Effects)


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Counter]:
    built: list[Counter] = []
    stopping = asyncio.Event()
    task = asyncio.create_task(run_workers(process(folder), [post(built)], stopping=stopping))
    await until(lambda: built)
    yield built[0]
    stopping.set()
    await task


def observe(counter: Counter) -> None:
    counter.outside.bus.publish(topics.OBSERVATION.at(NODE), b"{}", retain=True)


async def counted(counter: Counter, number: int) -> None:
    await until(lambda: counter.states.get(NODE) == Count(number=number))


async def test_a_worker_goes_on_where_the_process_before_it_ended(tmp_path: Path) -> None:
    """And its epoch is greater."""
    async with running(tmp_path) as first:
        observe(first)
        await counted(first, 1)
    async with running(tmp_path) as second:
        observe(second)
        await counted(second, 2)
        await until(lambda: [one.sequence for one in second.publisher.published.values()] == [2])
        assert second.outside.epoch.epoch > first.outside.epoch.epoch
        (decision,) = second.publisher.published.values()
        assert isinstance(decision, Decision)
        assert (decision.epoch, decision.sequence) == (second.outside.epoch.epoch, 2)


async def test_a_crashed_worker_ends_the_process_and_says_who_and_where(tmp_path: Path) -> None:
    with pytest.raises(Bug, match=r"RuntimeError\('boom'\); please report it") as caught:
        await run_workers(process(tmp_path), [post([], fails="boom")], stopping=asyncio.Event())
    cause = caught.value.__cause__
    assert cause is not None
    assert "raise RuntimeError(self.fails)" in "".join(traceback.format_exception(cause))


async def test_a_journal_that_cannot_be_used_is_told_as_it_is(tmp_path: Path) -> None:
    await asyncio.to_thread((tmp_path / "evictor.journal").write_bytes, b"x" * 5000)
    with pytest.raises(HostError, match=r"evictor.journal cannot be used"):
        await run_workers(process(tmp_path), [post([])], stopping=asyncio.Event())


async def test_the_alive_file_holds_boot_time_and_is_gone_after_an_orderly_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vitals, "BEAT_SECONDS", 0.01)
    file = tmp_path / "evictor.alive"
    began_seconds = SystemClock().now().boot_seconds
    async with running(tmp_path):
        await until(lambda: asyncio.to_thread(file.exists))
        seconds = float(await asyncio.to_thread(file.read_text))
        assert began_seconds - 1 <= seconds <= SystemClock().now().boot_seconds
    assert not await asyncio.to_thread(file.exists)


def test_who_reads_the_alive_file_never_finds_half_of_it(tmp_path: Path) -> None:
    signs = Vitals(tmp_path, {"evictor": Inbox[Any](SystemClock())}, SystemClock())
    signs._write(tmp_path, ["evictor"])
    with (tmp_path / "evictor.alive").open() as reading:
        signs._write(tmp_path, ["evictor"])
        first = reading.read()
    assert 0 < float(first) <= float((tmp_path / "evictor.alive").read_text())
    signs.close()
    assert [*tmp_path.iterdir()] == []


async def test_a_place_that_takes_no_sign_of_life_ends_nothing_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full, which is what evictd is for; a file in its place stands for that."""
    monkeypatch.setattr(vitals, "BEAT_SECONDS", 0.01)
    place = tmp_path / "run"
    signs = Vitals(place, {"evictor": Inbox[Any](SystemClock())}, SystemClock())
    await asyncio.to_thread(place.touch)
    assert await signs.beat() == ["evictor"]
    assert signs.problem == "no sign of life can be written: File exists"
    await asyncio.to_thread(place.unlink)
    assert await signs.beat() == ["evictor"]
    assert signs.problem == ""
    assert await asyncio.to_thread((place / "evictor.alive").exists)
    await asyncio.to_thread((place / "evictor.alive").unlink)
    await asyncio.to_thread(place.rmdir)
    await asyncio.to_thread(place.touch)
    await asyncio.to_thread(signs.close)


async def test_a_machine_that_has_no_thread_to_give_ends_no_process_and_hides_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signs of life are told as missing meanwhile; the end leaves their files where they are."""

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(vitals, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(blocking, "START_SECONDS", 0.05)
    told: list[str] = []
    monkeypatch.setattr(Notifier, "tell", lambda _notifier, **state: told.extend(state.values()))
    async with running(tmp_path) as counter:
        monkeypatch.setattr(threading.Thread, "start", start)
        await until(lambda: "no sign of life can be written: can't start new thread" in told)
        observe(counter)
        await counted(counter, 1)
    assert "1" in told, "it was ready, and its watchdog content"


async def test_a_worker_that_stays_at_one_batch_is_not_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inbox: Inbox[bytes] = Inbox(SystemClock())
    signs = Vitals(None, {"evictor": inbox}, SystemClock())
    inbox.feed(NODE, b"")
    batches = aiter(inbox)
    await anext(batches)
    assert signs.alive() == ["evictor"]
    monkeypatch.setattr(vitals, "STUCK_SECONDS", 0)
    assert signs.alive() == []
    signs.close()


def test_an_epoch_is_above_the_clock_and_every_former_one() -> None:
    assert [first_epoch(100), first_epoch(100, 50, 300), first_epoch(0, 0)] == [100, 301, 1]


def test_raising_an_epoch_makes_everything_be_published_again() -> None:
    epoch = Epoch(10)
    raised: list[int] = []
    epoch.on_raise(lambda: raised.append(epoch.epoch))
    epoch.raise_above(9)
    epoch.raise_above(10)
    assert (epoch.epoch, raised) == (11, [11])


def rules(node: str) -> Rules | None:
    return Rules(node=node) if node == NODE or node.startswith("demo-") else None


def said(node: str, worker: str, status: str) -> Delivery:
    message = WorkerStatus(worker=worker, status=status)
    return Delivery(
        topic=topics.WORKER.at(node, worker=worker), payload=msgspec.json.encode(message)
    )


def test_a_foreign_node_with_a_live_worker_of_the_role_is_not_served() -> None:
    serving = Serving(NODE, rules)
    evictor = serving.rules_of(Role.EVICTOR)
    assert evictor("demo-1") is not None
    serving.deliver(said("demo-1", "collector", "ready"))
    assert evictor("demo-1") is not None
    serving.deliver(said("demo-1", "all", "init"))
    assert evictor("demo-1") is None
    serving.deliver(said("demo-1", "all", "lost"))
    assert evictor("demo-1") is not None


def test_the_home_node_is_served_whoever_says_to_live_there() -> None:
    serving = Serving(NODE, rules)
    serving.deliver(said(NODE, "all", "ready"))
    serving.leave(NODE)
    assert serving.rules_of(Role.EVICTOR)(NODE) is not None


def test_a_foreign_node_that_was_left_stays_left_and_an_unknown_one_has_no_rules() -> None:
    serving = Serving(NODE, rules)
    serving.leave("demo-1")
    evictor = serving.rules_of(Role.EVICTOR)
    assert [evictor("demo-1"), evictor("other")] == [None, None]


def test_systemd_is_told_over_its_socket_and_nobody_where_there_is_none(tmp_path: Path) -> None:
    with within_reach(tmp_path) as folder:
        place = str(folder / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(place)
            Notifier({"NOTIFY_SOCKET": place}).tell(READY="1", STATUS="well")
            assert systemd.recv(100) == b"READY=1\nSTATUS=well"
        Notifier({"NOTIFY_SOCKET": place}).tell(READY="1")
    Notifier({}).tell(READY="1")


def test_logs_outside_a_terminal_are_json_lines_that_name_worker_and_node() -> None:
    before = list(logging.getLogger().handlers)
    stream = StringIO()
    try:
        logs.configure(worker="evictor", node=NODE, stream=stream)
        structlog.get_logger().info("hello", number=1)
        logging.getLogger("other").warning("from a library")
    finally:
        logging.getLogger().handlers[:] = before
        structlog.contextvars.clear_contextvars()
        structlog.reset_defaults()
    ours, theirs = (json.loads(line) for line in stream.getvalue().splitlines())
    assert {
        "event": "hello",
        "number": 1,
        "worker": "evictor",
        "node": NODE,
    }.items() <= ours.items()
    assert {"event": "from a library", "worker": "evictor"}.items() <= theirs.items()


def test_a_status_that_cannot_be_read_is_none() -> None:
    for payload in (b"", b"[", b"\xff", b"[" * 200_000, b"{}"):
        assert read_status(payload) is None
