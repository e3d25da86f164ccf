"""A recording decides again what the live workers decided, and tells where it would not."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio
import msgspec
import pytest

from evictd.core.errors import InputError
from evictd.core.rules import Mode
from evictd.shell.bus import Delivery, Router
from evictd.shell.clock import LoopClock
from evictd.shell.configuration import load_text, rules_of
from evictd.simulation.collector import SimulatedCollector
from evictd.simulation.machine import SimulatedMachine, SimulatedWorkload, growing, steady
from evictd.simulation.node import BUILDERS, SimulatedNode
from evictd.simulation.recording import Line, Recorder, Recording, head_of, line_of, recording_of
from evictd.simulation.replay import replay
from evictd_schemas import Decision, Loss, topics
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import Role

NODE = "edge-7"
LINES = """\
mode: act
profile: {profile}
candidates: all
evictionHard: {{memory.available: {line}}}
evictionSoft: {{memory.available: 1Gi}}
evictionSoftGracePeriod: {{memory.available: 5s}}
evictionPressureTransitionPeriod: 20s
"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def configuration(profile: str = "kubelet", line: str = "500Mi") -> Configuration:
    text = LINES.format(profile=profile, line=line)
    return load_text(text, "test.yaml").configuration


def shop() -> SimulatedMachine:
    """4 GiB; one grows slowly below the soft line, another in a burst below the hard one."""
    machine = SimulatedMachine(node=NODE, memory_mib=4096, interval_seconds=10)
    for name, curve, starts_at in (
        ("db", steady(1200), 0.0),
        ("web", steady(700), 0.0),
        ("batch", growing(600, 60, 1400), 0.0),
        ("cache", growing(200, 400, 1900), 60.0),
    ):
        machine.add(
            SimulatedWorkload(
                namespace="shop",
                name=name,
                memory=curve,
                request_mib=256,
                starts_at_seconds=starts_at,
                priority=1000 if name == "db" else 0,
            )
        )
    return machine


async def recorded(
    used: Configuration,
    *,
    seconds: float = 180,
    restarted: Role | None = None,
    burst: int = 0,
) -> Recording:
    """The real workers around a machine, and everything that travelled between them."""
    router, clock = Router(), LoopClock()
    recorder = Recorder(clock)
    router.attach(recorder)
    machine = shop()
    rules = rules_of(used, NODE)
    node = SimulatedNode(
        machine=machine, rules=lambda name: rules if name == NODE else None, clock=clock, bus=router
    )
    async with anyio.create_task_group() as tasks:
        for role in BUILDERS:
            if role is not restarted:
                tasks.start_soon(node.worker(role).run)
        collector = SimulatedCollector(machine, router, clock)
        tasks.start_soon(collector.run)
        if burst:
            tasks.start_soon(_bursts, collector, burst)
        if restarted is not None:
            with anyio.move_on_after(seconds / 4):
                await node.worker(restarted).run()
            tasks.start_soon(node.worker(restarted).run)
        await anyio.sleep(seconds)
        tasks.cancel_scope.cancel()
    assert machine.killed
    text = head_of(used, "test", START) + recorder.take()
    return recording_of(text.splitlines(keepends=True), "test")


async def _bursts(collector: SimulatedCollector, count: int) -> None:
    """So many observations at one moment, again and again."""
    while True:
        await anyio.sleep(3.3)
        for _ in range(count):
            collector.look()


@pytest.mark.looptime
async def test_what_was_passed_over_in_a_burst_is_passed_over_again() -> None:
    """Five observations at once are one for the evaluator; the replay does not judge the others."""
    recording = await recorded(configuration(), burst=5)
    looks = sum(line.topic == topics.OBSERVATION.at(NODE) for line in recording.lines)
    report = replay(recording)
    assert report.differences == ()
    assert report.compared[topics.PRESSURE.at(NODE)] < looks


@pytest.mark.looptime
@pytest.mark.parametrize("profile", ["kubelet", "host"])
async def test_live_and_replay_decide_the_same(profile: str) -> None:
    report = replay(await recorded(configuration(profile)))
    assert report.differences == ()
    assert min(report.compared.values()) > 20
    assert set(report.compared) == {topics.PRESSURE.at(NODE), topics.DECISION.at(NODE)}


@pytest.mark.looptime
@pytest.mark.parametrize("role", [Role.EVALUATOR, Role.EVICTOR])
async def test_a_worker_that_was_restarted_is_restarted_in_the_replay(role: Role) -> None:
    assert replay(await recorded(configuration(), restarted=role)).differences == ()


@pytest.mark.looptime
async def test_another_configuration_shows_what_it_would_have_changed() -> None:
    recording = await recorded(configuration())
    report = replay(recording, configuration(line="10Mi"))
    texts = [text for found in report.differences for text in found.what]
    assert any(text.startswith("thresholds: live ") for text in texts)
    assert any(text.startswith('action: live "Evict", replayed ') for text in texts)


@pytest.mark.looptime
async def test_a_decision_that_was_tampered_with_is_found() -> None:
    recording = await recorded(configuration(), seconds=30)
    lines = list(recording.lines)
    index = next(
        index for index, line in enumerate(lines) if line.topic == topics.DECISION.at(NODE)
    )
    decision = msgspec.json.decode(lines[index].content, type=Decision)
    forged = msgspec.json.encode(msgspec.structs.replace(decision, mode=Mode.OBSERVE.value))
    lines[index] = msgspec.structs.replace(lines[index], payload=msgspec.Raw(forged))
    report = replay(msgspec.structs.replace(recording, lines=tuple(lines)))
    assert [(found.line, found.what) for found in report.differences] == [
        (index + 2, ('mode: live "observe", replayed "act"',))
    ]


def with_losses(line: Line) -> Line:
    """A decision as one who had counted before would have published it."""
    if line.topic != topics.DECISION.at(NODE) or not line.content:
        return line
    loss = Loss(signal="nodefs.available", lost=7, seconds=60, unattributed=7)
    decision = msgspec.json.decode(line.content, type=Decision)
    told = msgspec.json.encode(msgspec.structs.replace(decision, losses=(loss,)))
    return msgspec.structs.replace(line, payload=msgspec.Raw(told))


@pytest.mark.looptime
async def test_growth_that_was_measured_before_the_recording_began_is_no_difference() -> None:
    recording = await recorded(configuration(), seconds=30)
    lines = tuple(map(with_losses, recording.lines))
    assert lines != recording.lines
    assert replay(msgspec.structs.replace(recording, lines=lines)).differences == ()


def test_no_login_is_recorded() -> None:
    login = {"broker": "mqtt://a:b@c", "broker_user": "a", "broker_password": "battery staple"}
    used = msgspec.structs.replace(configuration(), **login)
    head = head_of(used, "test", START)
    assert b"battery" not in head
    assert b"mqtt://" not in head
    assert recording_of([head], "test").head.configuration == configuration()


def test_what_is_no_json_is_recorded_as_it_travelled() -> None:
    payloads = (b"\xff{", b'{"a":\n1}', b"", b"null")
    lines = [line_of(Delivery(topic="t", payload=one), START, 1.0) for one in payloads]
    assert [line.content for line in lines] == [b"\xff{", b'{"a": 1}', b"", b"null"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head: head[:0] + b"[]\n", "test:1: is no recording: "),
        (lambda head: head.replace(b":1,", b":7,", 1), "test:1: format 7; this program reads 1"),
        (lambda head: head + b'{"topic":1}\n', "test:2: is no line of a recording: "),
    ],
)
def test_a_file_that_is_none_is_told_with_its_line(
    change: Callable[[bytes], bytes], message: str
) -> None:
    text = change(head_of(configuration(), "test", START))
    with pytest.raises(InputError) as caught:
        recording_of(text.splitlines(keepends=True), "test")
    assert str(caught.value).startswith(message)


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    head = head_of(configuration(), "test", START)
    assert recording_of([head, b'{"topic":'], "test").lines == ()
