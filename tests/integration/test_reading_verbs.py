"""`evictd record`, `rank` and `explain` on a real broker."""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from tests.integration.conftest import Mosquitto

from evictd.client import connect
from evictd.core.decision import Judged, Plan, decide
from evictd.core.evaluation import Observed, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.pods import reference
from evictd.shell.configuration import load_text, rules_of
from evictd.simulation import recording
from evictd.simulation.replay import replay
from evictd_schemas import (
    Decision,
    Growth,
    Loss,
    Observation,
    Pressure,
    SignalReading,
    Wish,
    topics,
)

NODE = "reading-1"
FULL = "reading-2"
CONFIGURATION = "profile: kubelet\nevictionHard: {memory.available: 500Mi}\n"
FOUND = {
    "node": NODE,
    "time": "2026-11-30T08:00:00Z",
    "sequence": 1,
    "signals": {"memory.available": {"available": 400 << 20, "capacity": 4 << 30}},
    "pods": [
        {
            "namespace": "shop",
            "name": name,
            "uid": f"00000000-0000-4000-8000-00000000000{number}",
            "stats": {"memory": {"workingSetBytes": (number + 1) * 300 << 20}},
        }
        for number, name in enumerate(("web", "batch"))
    ],
}


def evictd(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One verb as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "evictd", *arguments, "--config", "evictd.yaml"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )


def said() -> tuple[Observation, Pressure, Decision]:
    """What collector, evaluator and evictor of the node would have published."""
    rules = rules_of(load_text(CONFIGURATION, "c").configuration, NODE)
    now = Now(boot_seconds=1.0, utc=datetime(2026, 11, 30, 8, tzinfo=UTC))
    found = msgspec.convert(FOUND, Observation)
    _, effects = evaluate(rules, Watch(), Observed(observation=found), now)
    pressure = next(effect.message for effect in effects if hasattr(effect, "message"))
    pressure = msgspec.structs.replace(pressure, epoch=1, rev=1)
    _, effects = decide(rules, Plan(), Judged(pressure=pressure, observation=found), now)
    decision = next(
        effect.message
        for effect in effects
        if isinstance(getattr(effect, "message", None), Decision)
    )
    return found, pressure, msgspec.structs.replace(decision, epoch=1, rev=1)


async def publish(broker: str) -> None:
    """The node as it is on the bus, and a person who holds one of its workloads."""
    found, pressure, decision = said()
    async with connect(broker, NODE) as mirror:
        mirror.publish(topics.OBSERVATION, found, NODE)
        mirror.publish(topics.PRESSURE, pressure, NODE)
        mirror.publish(topics.DECISION, decision, NODE)
        wish = Wish(verb="Hold", target="shop/batch", include_hard=True)
        mirror.publish(topics.WISH, wish, NODE, domain="acme.io", key="ops", name="keep")


def test_a_node_on_the_bus_is_ranked_explained_and_recorded(
    shared_broker: Mosquitto, tmp_path: Path
) -> None:
    """A wish of a person counts, as it does for the evictor."""
    (tmp_path / "evictd.yaml").write_text(CONFIGURATION)
    where = ("--broker", shared_broker.url, "--node", NODE)
    asyncio.run(publish(shared_broker.url))
    ranked = evictd(tmp_path, "rank", *where)
    assert (ranked.returncode, ranked.stderr) == (0, "")
    assert ranked.stdout.splitlines()[0] == (
        f"{NODE}: memory.available is 400Mi of 4Gi; MemoryPressure"
    )
    assert [line.split()[1:3] for line in ranked.stdout.splitlines() if line[1:2] == "."] == [
        ["shop/batch", "Held"],
        ["shop/web", "Victim"],
    ]
    explained = evictd(tmp_path, "explain", "web", *where)
    assert "shop/web is number 2 of 2 to go for memory.available: Victim" in explained.stdout
    recorded = evictd(tmp_path, "record", "r.jsonl", *where, "--seconds", "0.1")
    assert recorded.returncode == 0, recorded.stderr
    lines = recording.read(tmp_path / "r.jsonl").lines
    assert {topics.OBSERVATION.at(NODE), topics.DECISION.at(NODE)} <= {line.topic for line in lines}
    assert all(line.listed for line in lines)
    assert replay(recording.read(tmp_path / "r.jsonl")).differences == ()


async def publish_full_disk(broker: str) -> None:
    """`batch` fills it, as its evictor has measured."""
    found = msgspec.convert({**FOUND, "node": FULL}, Observation)
    signals = {"nodefs.available": SignalReading(available=1 << 30, capacity=16 << 30)}
    found = msgspec.structs.replace(found, signals=signals)
    growth = Growth(
        pod=reference(next(pod for pod in found.pods or () if pod.name == "batch")),
        grown=1 << 30,
        seconds=64,
        per_second=16 << 20,
        lost=1 << 30,
        left=1 << 30,
    )
    loss = Loss(
        signal="nodefs.available", lost=1 << 30, seconds=64, unattributed=0, growing=(growth,)
    )
    decision = Decision(
        node=FULL, time=found.time, sequence=1, mode="act", action="None", reason="", losses=(loss,)
    )
    async with connect(broker, FULL) as mirror:
        mirror.publish(topics.OBSERVATION, found, FULL)
        mirror.publish(topics.DECISION, decision, FULL)


def test_who_fills_a_disk_is_ranked_by_the_growth_that_the_evictor_measured(
    shared_broker: Mosquitto, tmp_path: Path
) -> None:
    """One look would show nobody's."""
    (tmp_path / "evictd.yaml").write_text("candidates: all\n")
    asyncio.run(publish_full_disk(shared_broker.url))
    where = ("--broker", shared_broker.url, "--node", FULL, "--signal", "nodefs.available")
    ranked = evictd(tmp_path, "rank", *where)
    assert (ranked.returncode, ranked.stderr) == (0, "")
    rows = [line.split() for line in ranked.stdout.splitlines() if line[1:2] == "."]
    assert {(row[1], row[2], row[-1]) for row in rows} == {
        ("shop/batch", "Victim", "16Mi/s"),
        ("shop/web", "Candidate", "-"),
    }


def test_a_node_that_nobody_observes_is_not_found(shared_broker: Mosquitto, tmp_path: Path) -> None:
    (tmp_path / "evictd.yaml").write_text(CONFIGURATION)
    for verb in ("rank", "status"):
        result = evictd(tmp_path, verb, "--broker", shared_broker.url, "--node", "nowhere")
        assert (result.returncode, result.stdout) == (4, "")
        assert "evictd: nobody observes node nowhere" in result.stderr
