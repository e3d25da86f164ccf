"""`evictd status`: one screen from the bus, and from what the machine itself knows."""

import os
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result
from msgspec import structs
from tests.cli.bus import DRAIN, EVICTED, MIB, NODE, NOW, WEB, Stage, ago, pod
from tests.cli.journals import evictions, journal_with

from evictd.cli import offline, reading, standing_text
from evictd.cli.figures import Figures
from evictd.cli.standing import Standing, standing
from evictd.core.duty import Duty
from evictd.core.errors import HostError, PeerError
from evictd.shell.journal_store import Store
from evictd_schemas import Observation, Pod, topics
from evictd_schemas.configuration import Configuration, Signals

Run = Callable[..., Result]
SHORT = "memory.available is 400Mi, below the hard threshold 500Mi"
BY_ITSELF = "when there is room again"
LATER = "in 60s at the earliest"
BY_HAND = "when somebody starts it"
CONFIGURATION = Configuration(candidates="all", profile="kubelet")


def screen(stage: Stage) -> list[str]:
    """The lines about the node."""
    return [*standing_text.lines(at_home(stage), NOW)]


def at_home(stage: Stage) -> Standing:
    """The same as a value."""
    return standing(stage.mirror, CONFIGURATION, NODE, NOW)


def test_under_pressure_it_tells_what_is_short_who_leaves_and_who_is_next() -> None:
    """Who leaves because somebody else asked for it is not the next one either."""
    stage = Stage()
    stage.observe(pod("web"), memory_available=(400 * MIB, 4096 * MIB))
    stage.judge()
    stage.decide(
        {"pod": pod("db"), "verdict": "Critical", "why": "is critical"},
        {"pod": pod("web"), "verdict": "Candidate", "why": "uses most"},
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
    (line,) = standing_text.worker_lines(at_home(stage))
    assert line == "workers:     those of edge-1 decide for it"


def test_other_nodes_of_the_bus_are_a_line_each() -> None:
    stage = Stage()
    for number in range(standing_text.OTHERS_MAX + 2):
        stage.observe(node=f"edge-{number:02}")
    lines = [*standing_text.other_lines(at_home(stage).others)]
    assert lines[0] == "also:        edge-00: Unknown"
    assert lines[-1] == "also:        2 more; see `evictd get nodes`"
    assert len(lines) == standing_text.OTHERS_MAX + 1


def alive(machine: Path, worker: str, seconds_ago: float) -> None:
    """A sign of life."""
    moment = time.clock_gettime(time.CLOCK_BOOTTIME) - seconds_ago
    (machine / "run" / f"{worker}.alive").write_text(f"{moment:.3f}\n")


def seen(*pods: dict[str, Any], complete: bool = True, **found: Any) -> Figures:
    """A look at the machine, at NOW."""
    signals = {"memory.available": {"available": 400 * MIB, "capacity": 4096 * MIB}}
    message = {"node": NODE, "time": ago(0), "signals": signals, "pods": list(pods)}
    observation = msgspec.convert({**message, "podsComplete": complete}, Observation)
    return Figures(observation=observation, **{"failures": {}, **found})


def by_itself(path: Path, look: Figures | None = None, now: datetime = NOW) -> list[str]:
    """The screen without a broker."""
    told = offline.told(CONFIGURATION, seen() if look is None else look, path, now)
    return [*standing_text.lines(told, now)]


def test_without_a_broker_journal_signs_of_life_and_a_look_speak(machine: Path) -> None:
    alive(machine, "controller", 0)
    alive(machine, "evictor", 100)
    path = journal_with(machine, *evictions(*EVICTED), running=evictions())
    used = {"memory": {"workingSetBytes": 512 * MIB}}
    lines = by_itself(path, seen(pod("cache", stats=used)))
    assert lines[0] == f"{NODE}: mode observe, observed 0s ago"
    assert lines[-6:-1] == [
        f"leaving:     shop/web: {DRAIN} is at work, its deadline in 115s (by the journal)",
        f"down:        shop/web for 20s, short of memory.available; comes back {BY_ITSELF}",
        lines[-4],
        f"evicted:     shop/web on {NODE}, 20s ago: moving house",
        "workers:     controller, alive",
    ]
    assert lines[-1].startswith("late:        evictor has been silent for 1")
    assert lines[-4].startswith("next:        shop/cache (nothing is stopped in mode observe): ")


def test_without_a_broker_what_only_a_person_starts_is_told_by_the_responders_journal(
    machine: Path,
) -> None:
    path = journal_with(machine, *evictions(*EVICTED))
    web = msgspec.convert({**pod("web"), "restore": "manual"}, Pod)
    store = Store(machine / "state" / "responder.journal")
    store.open()
    store.write([("shop/web", msgspec.json.encode(Duty(pod=web)), b"[]")], {}, None)
    store.close()
    (down,) = (line for line in by_itself(path) if line.startswith("down:"))
    assert down.endswith(f"comes back {BY_HAND}")
    (machine / "state" / "responder.journal").write_text("no database " * 100)
    (down,) = (line for line in by_itself(path) if line.startswith("down:"))
    assert down.endswith(f"comes back {BY_ITSELF}")


def test_without_a_broker_conditions_are_those_of_the_moment(machine: Path) -> None:
    configuration = structs.replace(CONFIGURATION, eviction_hard=Signals(memory_available="500Mi"))
    told = offline.told(configuration, seen(), machine / "none", NOW)
    assert [one.type for one in told.conditions if one.status == "True"] == ["MemoryPressure"]
    assert "conditions:  MemoryPressure" in [*standing_text.lines(told, NOW)]


def test_without_a_broker_who_runs_again_or_may_run_is_not_down(machine: Path) -> None:
    """An engine that is silent has not said that anybody is gone."""
    path = journal_with(machine, *evictions(*EVICTED))
    for look in (seen(pod("web")), seen(complete=False)):
        assert "down:        nothing because of evictd" in by_itself(path, look)


def test_without_a_broker_an_engine_that_is_silent_or_refuses_is_late(machine: Path) -> None:
    look = seen(failures={"systemd": "refused"}, silent=("docker does not answer",))
    assert by_itself(machine / "none", look)[-2:] == [
        "late:        systemd: refused",
        "late:        docker does not answer",
    ]


@pytest.mark.parametrize("text", [b"no database " * 100, b""])
def test_a_journal_that_cannot_be_read_hides_nothing_else(text: bytes, machine: Path) -> None:
    path = machine / "state" / "controller.journal"
    path.write_bytes(text)
    alive(machine, "evictor", 0)
    (machine / "run" / "responder.alive").write_text("soon")
    lines = by_itself(path)
    told = next((line for line in lines if line.startswith("journal: ")), "")
    assert bool(text) == (f"{path} cannot be read" in told)
    assert lines[-2:] == [
        "workers:     evictor, alive",
        f"late:        responder: {machine}/run/responder.alive cannot be read",
    ]


@pytest.mark.parametrize("text", ["{", '{"port": []}', '["port"]', '{"port": null}'])
def test_a_record_of_a_broker_that_is_garbage_is_told_and_the_machine_speaks(
    text: str, offline_run: Run, machine: Path
) -> None:
    (machine / "state" / "broker-record.json").write_text(text)
    result = offline_run("status")
    assert result.exit_code == 5
    assert "broker" in result.stderr
    assert "none is running here" in result.stdout


def test_on_a_machine_without_evictd_the_exit_code_says_so(offline_run: Run) -> None:
    for arguments in ((), ("status",)):
        result = offline_run(*arguments)
        assert result.exit_code == 5
        assert "start `evictd up`, or name a broker" in result.stderr
        assert "none is running here" in result.stdout
        assert "none that can be read" in result.stdout


def test_as_json_it_is_one_object_with_and_without_a_broker(offline_run: Run) -> None:
    result = offline_run("status", "-o", "json")
    assert result.exit_code == 5
    told = msgspec.json.decode(result.stdout, type=Standing)
    assert (told.node, told.source, told.workers) == (NODE, "machine", ())
    stage = Stage()
    stage.evict()
    assert at_home(stage).leaving[0].responder == DRAIN
    assert msgspec.json.decode(msgspec.json.encode(at_home(stage)))["leaving"][0]["name"] == "web"


def test_what_the_alphabet_of_the_terminal_does_not_have_is_an_escape(
    evictd_process: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    odd = {"EVICTD_STATEFOLDER": "/nowhere/…", "EVICTD_NODE": NODE}
    result = evictd_process("status", **odd, PYTHONIOENCODING="latin-1")
    assert (result.returncode, "Traceback" in result.stderr) == (5, False)
    assert "/nowhere/\\u2026" in result.stdout


def test_a_source_that_does_not_answer_is_late_as_its_worker_says(machine: Path) -> None:
    stage = Stage()
    lag = {"collector docker waiting": 12.5, "collector workload storage waiting": 90.0}
    status = {"worker": "all", "status": "ready", "lag": {**lag, "broker": 0.01, "looks": 400}}
    stage.say(topics.WORKER, status, worker="all")
    assert at_home(stage).late == ("all: docker had not answered for 12.5 s",)
    said = {**status, "epoch": 2, "message": "docker does not answer"}
    stage.say(topics.WORKER, said, worker="all")
    assert at_home(stage).late[0] == "all: docker does not answer"


def test_an_old_end_is_no_news(machine: Path) -> None:
    path = journal_with(machine, *evictions(*EVICTED))
    lines = by_itself(path, now=NOW.replace(year=NOW.year + 1))
    assert "evicted:     nothing in the last day" in lines
    assert "down:        nothing because of evictd" in lines


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
    alive(machine, "controller", 0)

    def vanished(file: Path) -> float:
        file.unlink()
        raise HostError(str(file))

    monkeypatch.setattr(offline, "boot_seconds", vanished)
    assert offline.silent_seconds() == {}
