"""`evictd describe`: what it makes of what is on the bus."""

from collections.abc import Iterable

from tests.cli.bus import (
    DRAIN,
    NODE,
    NOW,
    REFERENCE,
    WEB,
    Stage,
    ago,
    condition,
    pod,
)

from evictd.cli import describe, naming, responder_tables, tables
from evictd_schemas import topics

PENDING = (condition("Failed", "False"), condition("TargetEvicted", "False"))


def facts(lines: Iterable[str]) -> dict[str, str]:
    """The labelled lines."""
    pairs = (line.split(":", 1) for line in lines if ":" in line and not line.startswith(" "))
    return {label: value.strip() for label, value in pairs}


def test_an_eviction_is_described_with_its_chain_its_deadline_and_its_conditions() -> None:
    stage = Stage()
    stage.evict(type="SoftWithDeadline", deadlineTime=ago(-30), round=1)
    (found,) = stage.mirror.objects(topics.EVICTION)
    lines = [*describe.eviction_lines(found, NOW)]
    told = facts(lines)
    assert told["Target"] == f"shop/web ({WEB})"
    assert told["Requesters"] == "evictd.io/cli (Eviction)"
    assert told["Reason"] == "memory.available: moving house"
    assert told["Deadline"] == "2026-11-30 08:10:30 UTC (in 30s)"
    assert told["Round"] == "2: the whole chain ended before without evicting it"
    (drain,) = (line for line in lines if DRAIN in line)
    assert drain.split() == [
        DRAIN,
        "10000",
        "Active",
        "60s",
        "5s",
        "in",
        "115s",
        "-",
        "copied",
        "3",
        "of",
        "7",
        "volumes",
    ]
    assert any(line.split()[:2] == ["TargetEvicted", "False"] for line in lines)


def test_what_did_not_work_yet_says_when_it_is_tried_again() -> None:
    stage = Stage()
    setback = {"cause": "Budget", "attempts": 3, "nextTryTime": ago(-40)}
    entry = {"name": DRAIN, "startTime": ago(60), "message": "kept", "setback": setback}
    stage.evict(responders=[entry])
    (found,) = stage.mirror.objects(topics.EVICTION)
    assert any(
        line.endswith("kept [tried again in 40s]") for line in describe.eviction_lines(found, NOW)
    )


def test_an_eviction_that_was_forced_says_by_whom() -> None:
    stage = Stage()
    stage.evict(forced={"by": "evictd.io/node-pressure", "time": ago(7)}, targetResponders=[])
    (found,) = stage.mirror.objects(topics.EVICTION)
    lines = [*describe.eviction_lines(found, NOW)]
    assert facts(lines)["Forced"] == "by evictd.io/node-pressure 7s ago"
    assert lines[-1] == "  its target has not been observed yet"


def test_a_request_is_described_with_its_answer_and_its_eviction() -> None:
    stage = Stage()
    stage.request(type="SoftWithDeadline", deadlineSeconds=60)
    (found,) = stage.mirror.objects(topics.REQUEST)
    assert facts(describe.request_lines(stage.mirror, found, NOW))["Answer"] == "no answer yet"
    stage.answer(*PENDING, eviction=REFERENCE)
    stage.evict()
    lines = [*describe.request_lines(stage.mirror, found, NOW)]
    told = facts(lines[: lines.index("")])
    assert (told["Deadline"], told["State"]) == ("60 s after it was received", "Running")
    assert facts(lines)["Eviction"] == "shop/pod-1-web"


def test_a_workload_is_described_with_its_place_in_the_last_decision() -> None:
    stage = Stage()
    stage.observe(pod("web", managedBy="systemd", protected=True))
    stage.decide({"pod": pod("web"), "verdict": "Victim", "why": "uses most"})
    node, found = describe.observed_pod(stage.mirror, "web")
    told = facts(describe.workload_lines(stage.mirror, node, found, NOW))
    assert told["Last decision"] == "Victim, number 1 of 1 for memory.available: uses most"
    assert told["Kept"] == "protected, managed by systemd"


def test_a_responder_is_described_with_what_it_is_at_work_on() -> None:
    stage = Stage()
    stage.evict()
    domain, _, key = DRAIN.partition("/")
    told = {"status": "ready", "priority": 10000, "selector": {"matchLabels": {"drain": "yes"}}}
    stage.say(topics.REGISTRATION, told, domain=domain, key=key)
    (responder,) = responder_tables.responders(stage.mirror, NOW)
    lines = [*describe.responder_lines(stage.mirror, responder, NOW)]
    found = facts(lines)
    assert found["Responder"] == DRAIN
    assert found["Status"] == "ready"
    assert found["Workloads"] == "drain=yes"
    assert found["At work on"] == "pod-1-web"
    assert found["Silent for"] == "20m"
    assert found["Target"].startswith("shop/web")
    assert any(item.startswith(f"  {DRAIN}") and "Active" in item for item in lines)
    assert DRAIN in naming.responder_names(responder)


def test_what_is_described_is_there_for_programs_too() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    stage.evict()
    eviction = describe.document_of(stage.mirror, "eviction", "web")
    assert eviction["metadata"]["name"] == "pod-1-web"
    assert eviction["node"] == NODE
    workload = describe.document_of(stage.mirror, "workload", "shop/web")
    assert (workload["node"], workload["name"]) == (NODE, "web")
    domain, _, key = DRAIN.partition("/")
    stage.say(topics.REGISTRATION, {"status": "ready"}, domain=domain, key=key)
    assert describe.document_of(stage.mirror, "responder", DRAIN)["status"] == "ready"
    assert '"node": "edge-7"' in tables.object_text(workload, "json")
    assert "node: edge-7" in tables.object_text(workload, "yaml")
