"""`evictd status`: one screen from the bus, and from what the machine itself knows."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result
from tests.cli.bus import DRAIN, EVICTED, MIB, NODE, NOW, WEB, Stage, ago, pod

from evictd.cli import offline, past, reading, status
from evictd.core.effects import ControllerEffect, Keep
from evictd.core.errors import HostError, PeerError
from evictd.core.protocol.case import Case
from evictd.shell.journal import Row
from evictd.shell.journal_sqlite import SqliteJournal
from evictd_schemas import Eviction, topics
from evictd_schemas.configuration import Configuration

Run = Callable[..., Result]
SHORT = "memory.available is 400Mi, below the hard threshold 500Mi"
BY_ITSELF = "when there is room again"
LATER = "in 60s at the earliest"
BY_HAND = "when somebody starts it"
CONFIGURATION = Configuration(candidates="all", profile="kubelet")


def screen(stage: Stage) -> list[str]:
    """The lines about the node."""
    return [*status.node_lines(stage.mirror, CONFIGURATION, NODE, NOW)]


def evictions(*conditions: Any) -> tuple[Eviction, ...]:
    """One of web as the controller has it."""
    stage = Stage()
    stage.evict(**({"conditions": conditions} if conditions else {}))
    return tuple(found.message for found in stage.mirror.objects(topics.EVICTION))


def test_under_pressure_it_tells_what_is_short_who_leaves_and_who_is_next() -> None:
    stage = Stage()
    stage.observe(pod("web"), memory_available=(400 * MIB, 4096 * MIB))
    stage.judge()
    stage.decide(
        {"pod": pod("db"), "verdict": "Critical", "why": "is critical"},
        {"pod": pod("web"), "verdict": "Leaving", "why": "is on its way"},
        {"pod": pod("cache"), "verdict": "Candidate", "why": "uses least"},
    )
    stage.evict()
    stage.say(topics.WORKER, {"worker": "all", "status": "ready"}, worker="all")
    assert screen(stage) == [
        f"{NODE}: mode act, observed 10s ago",
        "conditions:  MemoryPressure",
        f"             MemoryPressure True for 5m: {SHORT}",
        f"leaving:     shop/web: {DRAIN} is at work, its deadline in 115s",
        "down:        nothing because of evictd",
        "next:        shop/cache: uses least",
        "workers:     all in one process, ready",
    ]


def test_where_nothing_is_short_the_order_is_made_now() -> None:
    stage = Stage()
    used = {"memory": {"workingSetBytes": 512 * MIB}}
    stage.observe(pod("web", stats=used), memory_available=(3000 * MIB, 4096 * MIB))
    stage.judge("False")
    stage.decide(mode="observe", action="None")
    lines = screen(stage)
    assert "conditions:  nothing is short" in lines
    (following,) = (line for line in lines if line.startswith("next:"))
    assert following.startswith("next:        shop/web (nothing is stopped in mode observe): ")


def test_what_is_down_because_of_evictd_is_told_with_when_it_comes_back() -> None:
    stage = Stage()
    stopped = {"uid": WEB, "time": ago(300), "signal": "memory.available"}
    stage.say(topics.STOPPED, stopped, namespace="shop", name="web")
    later = {**stopped, "nextTryTime": ago(-60)}
    stage.say(topics.STOPPED, later, namespace="shop", name="batch")
    manual = {**stopped, "restore": "manual"}
    stage.say(topics.STOPPED, manual, namespace="shop", name="once")
    asked = {"uid": WEB, "time": ago(300)}
    stage.say(topics.STOPPED, asked, namespace="shop", name="moved")
    down = [line for line in screen(stage) if line.startswith("down:")]
    assert down == [
        f"down:        shop/batch for 5m, short of memory.available; comes back {LATER}",
        "down:        shop/moved for 5m; comes back when somebody starts it",
        f"down:        shop/once for 5m, short of memory.available; comes back {BY_HAND}",
        f"down:        shop/web for 5m, short of memory.available; comes back {BY_ITSELF}",
    ]


def test_a_worker_that_is_missing_lost_or_late_is_named() -> None:
    stage = Stage()
    for worker in ("collector", "evaluator", "controller", "responder"):
        stage.say(topics.WORKER, {"worker": worker, "status": "ready"}, worker=worker)
    stage.say(topics.WORKER, {"worker": "responder", "status": "lost"}, worker="responder")
    late = {"worker": "evaluator", "status": "ready", "epoch": 2, "lag": {"loop": 4.5}}
    stage.say(topics.WORKER, late, worker="evaluator")
    behind = {"worker": "controller", "status": "ready", "epoch": 2, "message": "journal behind"}
    stage.say(topics.WORKER, behind, worker="controller")
    assert screen(stage)[-5:] == [
        "workers:     collector, controller, evaluator, ready",
        "late:        controller: journal behind",
        "late:        evaluator: its loop was late by 4.5 s",
        "late:        responder is lost",
        "missing:     evictor",
    ]


def test_of_a_node_without_workers_of_its_own_it_is_told_whose_decide_for_it() -> None:
    stage = Stage()
    serving = {"worker": "all", "status": "ready", "serves": ["edge-1", "ed*"]}
    stage.say(topics.WORKER, serving, node="edge-1", worker="all")
    stage.say(topics.WORKER, {**serving, "serves": ["far"]}, node="far", worker="all")
    stage.say(topics.WORKER, {**serving, "status": "lost"}, node="edge-2", worker="all")
    (line,) = status.worker_lines(stage.mirror, NODE)
    assert line == "workers:     those of edge-1 decide for it"


def test_other_nodes_of_the_bus_are_a_line_each() -> None:
    stage = Stage()
    for number in range(status.OTHERS_MAX + 2):
        stage.observe(node=f"edge-{number:02}")
    lines = [*status.other_lines(stage.mirror, NODE)]
    assert lines[0] == "also:        edge-00: Unknown"
    assert lines[-1] == "also:        2 more; see `evictd get nodes`"
    assert len(lines) == status.OTHERS_MAX + 1


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which evictd has run; nothing runs now."""
    for name in ("config", "run", "state"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    return tmp_path


@pytest.fixture
def offline_run(run: Run, machine: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A verb on that machine."""
    monkeypatch.setenv("EVICTD_STATEFOLDER", str(machine / "state"))
    monkeypatch.setenv("EVICTD_NODE", NODE)
    return run


async def written(path: Path, *rows: Row[Case, ControllerEffect]) -> None:
    async with SqliteJournal(path, Case, ControllerEffect) as journal:
        await journal.commit(rows)


def journal_with(machine: Path, *ended: Eviction, running: tuple[Eviction, ...] = ()) -> Path:
    """A controller's journal."""
    path = machine / "state" / "controller.journal"
    keep = Row[Case, ControllerEffect](
        key="over", state=None, effects=[Keep(eviction=eviction) for eviction in ended]
    )
    at = Row[Case, ControllerEffect](key="now", state=Case(evictions=running), effects=())
    asyncio.run(written(path, keep, at))
    return path


def alive(machine: Path, worker: str, seconds_ago: float) -> None:
    """A sign of life."""
    moment = time.clock_gettime(time.CLOCK_BOOTTIME) - seconds_ago
    (machine / "run" / f"{worker}.alive").write_text(f"{moment:.3f}\n")


def test_without_a_broker_journal_and_signs_of_life_speak(machine: Path) -> None:
    alive(machine, "controller", 2)
    alive(machine, "evictor", 100)
    path = journal_with(machine, *evictions(*EVICTED), running=evictions())
    assert [*offline.lines(path, NOW)] == [
        "late:        evictor has been silent for 100 s",
        "workers:     controller alive",
        f"leaving:     shop/web on {NODE} when the journal was written last: {DRAIN} is at work",
        f"evicted:     shop/web on {NODE}, 20s ago: moving house",
    ]


def test_on_a_machine_without_evictd_the_exit_code_says_so(offline_run: Run) -> None:
    for arguments in ((), ("status",)):
        result = offline_run(*arguments)
        assert result.exit_code == 5
        assert "start `evictd up`, or name a broker" in result.stderr
        assert "none is running here" in result.stdout
        assert "none that can be read" in result.stdout


def test_an_old_end_is_no_news(machine: Path) -> None:
    path = journal_with(machine, *evictions(*EVICTED))
    late = NOW.replace(year=NOW.year + 1)
    assert [*offline.lines(path, late)][-1] == (
        "evicted:     nothing in the last day, and nothing is leaving"
    )


def test_history_tells_what_when_why_by_whom_and_how_long(offline_run: Run, machine: Path) -> None:
    journal_with(machine, *evictions(*EVICTED))
    result = offline_run("history")
    assert result.exit_code == 0
    head, row = result.stdout.splitlines()
    cells = dict(zip(head.split("  "), row.split("  "), strict=False))
    assert cells["ENDED"].startswith("2026-11-30T08:09:40Z")
    assert row.split()[1:] == [
        NODE,
        "shop/web",
        "Evicted",
        "evictd.io/cli",
        DRAIN,
        "40s",
        "moving",
        "house",
    ]


def test_history_as_json_is_the_evictions_themselves(offline_run: Run, machine: Path) -> None:
    (eviction,) = evictions(*EVICTED)
    journal_with(machine, eviction)
    result = offline_run("history", "-o", "json")
    assert msgspec.json.decode(result.stdout, type=list[Eviction]) == [eviction]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("--workload", "shop/web"), 1),
        (("--workload", "web"), 1),
        (("--workload", "db"), 0),
        (("--node", NODE), 1),
        (("--node", "other"), 0),
        (("--evicted",), 1),
    ],
)
def test_history_may_be_asked_for_less(
    offline_run: Run, machine: Path, options: tuple[str, ...], count: int
) -> None:
    journal_with(machine, *evictions(*EVICTED))
    result = offline_run("history", "-o", "name", *options)
    assert len(result.stdout.splitlines()) == count
    assert bool(result.stderr) == (count == 0)


def test_without_a_journal_there_is_no_history(
    evictd_process: Callable[..., Any], tmp_path: Path
) -> None:
    result = evictd_process("history", EVICTD_STATEFOLDER=str(tmp_path / "none"))
    assert result.returncode == 4
    assert "no history yet" in result.stderr


def test_a_journal_that_is_not_for_this_user_is_told_as_such(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = journal_with(machine)

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(HostError, match="Permission denied; try it with sudo"):
        past.history(path)


def test_a_user_beside_a_root_s_evictd_is_told_to_use_sudo(
    offline_run: Run, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SYSTEM_STATE", machine)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    result = offline_run("get", "nodes")
    assert isinstance(result.exception, PeerError)
    assert "evictd runs as root here, so try sudo" in str(result.exception)


def test_a_sign_of_life_that_vanishes_is_no_failure(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive(machine, "controller", 2)

    def vanished(file: Path) -> float:
        file.unlink()
        raise HostError(str(file))

    monkeypatch.setattr(offline, "boot_seconds", vanished)
    assert offline.silent_seconds() == {}
