"""`evictd describe`, `plan`, `withdraw` and `watch`: what they make of what is on the bus."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.cli.bus import (
    DRAIN,
    EVICTED,
    NODE,
    NOW,
    REFERENCE,
    WEB,
    Stage,
    ago,
    condition,
    pod,
)

from evictd.cli import describe, naming, plan, request, responder_tables, tables, watch, withdraw
from evictd.cli.naming import the_one
from evictd.cli.reading import noted_address
from evictd.cli.situation import NotFoundError
from evictd.core.errors import InputError
from evictd.core.rules import Budget, Portion
from evictd.shell.bus.address import Address
from evictd_schemas import topics

OTHER = "5b0e3a56-9a51-4c7e-8f2b-0f3f6f7d2b10"
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


def test_who_is_meant_may_be_told_by_any_of_its_names() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    for name in ("web", "shop/web", WEB, f"{NODE} shop/web"):
        assert describe.observed_pod(stage.mirror, name)[0] == NODE


def test_an_eviction_is_found_by_its_workload_too() -> None:
    stage = Stage()
    stage.evict()
    for name in ("shop/pod-1-web", "shop/web", "web", f"{NODE} shop/pod-1-web"):
        (found,) = stage.mirror.objects(topics.EVICTION)
        assert name in tuple(naming.eviction_names(found))


def test_a_name_that_nobody_has_is_answered_with_those_that_are() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    with pytest.raises(NotFoundError, match=f"there is no workload 'wbe'; there are {NODE} shop/w"):
        describe.observed_pod(stage.mirror, "wbe")


def test_a_name_of_two_is_not_guessed() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    stage.observe(pod("web", uid=OTHER), node="other")
    with pytest.raises(NotFoundError, match=f"{NODE} shop/web, other shop/web; --node or"):
        describe.observed_pod(stage.mirror, "web")
    with pytest.raises(NotFoundError, match=r"there is no thing 'x'$"):
        the_one("thing", "x", [], str)


def test_the_plan_names_everybody_and_the_worst_case() -> None:
    stage = Stage()
    named = [{"name": DRAIN, "priority": 10000, "startDeadlineSeconds": 60}]
    stage.observe(pod("web", evictionResponders=named, terminationGracePeriodSeconds=30))
    registration = {"status": "ready", "namespaces": ["shop"], "heartbeatDeadlineSeconds": 300}
    stage.say(topics.REGISTRATION, registration, domain="acme.io", key="copy")
    found = plan.plan_of(stage.mirror, "web", ())
    text = "\n".join(plan.lines(found))
    assert "1.  acme.io/copy                        10000     registration (ready)" in text
    assert "2.  acme.io/drain                       10000     the workload" in text
    assert "its stop begins after 21m; at worst after\n46m," in text
    assert "The stop takes at most 30s." in text
    assert "udget" not in text
    told = plan.document(found)
    assert told["handoverSecondsMax"] == (1200 + 300) + (60 + 1200)
    assert [turn["registration"] for turn in told["chain"]] == ["ready", None, None]


def test_without_responders_the_plan_is_one_line() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    text = "\n".join(plan.lines(plan.plan_of(stage.mirror, "web", ())))
    assert "Nobody is asked before: its stop begins at once." in text
    assert "The stop takes its own time." in text


def one_of(needed: int, name: str = "web", **labels: str) -> Budget:
    """A budget over what has these labels."""
    return Budget(name=name, match_labels=labels, minimum_available=Portion(amount=needed))


def test_the_plan_tells_what_each_budget_about_the_workload_would_say() -> None:
    stage = Stage()
    stage.observe(pod("web", labels={"app": "web"}), pod("web-2", uid=OTHER, labels={"app": "web"}))
    budgets = (one_of(2, app="web"), one_of(1, name="some", app="web"), one_of(9, app="db"))
    found = plan.plan_of(stage.mirror, "web", budgets)
    text = list(plan.lines(found))
    refusal = "budget web (minAvailable 2) needs 2 healthy of 2, and 1 would be left"
    again = "The stop is tried again after 5s, doubling to 10m."
    assert text[-3:] == [
        f"It would not be stopped now: {refusal}. {again}",
        "Budget some (minAvailable 1) lets it go now.",
        "Node pressure ignores budgets.",
    ]
    assert plan.document(found)["budgets"] == [
        {"name": "web", "refusal": refusal},
        {"name": "some", "refusal": None},
    ]


def test_what_evictd_has_stopped_is_missed_in_the_plan_as_in_the_stop() -> None:
    stage = Stage()
    stage.observe(pod("web", labels={"app": "web"}))
    budget = Budget(name="web", maximum_unavailable=Portion(amount=1))
    (allowed,) = plan.plan_of(stage.mirror, "web", [budget]).budgets
    assert allowed[1] is None
    down = {"uid": OTHER, "time": ago(60), "labels": {"app": "web"}}
    stage.say(topics.STOPPED, down, namespace="shop", name="web-2")
    (kept,) = plan.plan_of(stage.mirror, "web", [budget]).budgets
    assert kept[1] == "budget web (maxUnavailable 1) needs 1 healthy of 2, and 0 would be left"


def test_a_plan_on_an_incomplete_observation_says_that_budgets_cannot_be_judged() -> None:
    stage = Stage()
    stage.say(
        topics.OBSERVATION,
        {"node": NODE, "time": ago(1), "signals": {}, "pods": [pod("web")], "podsComplete": False},
    )
    (kept,) = plan.plan_of(stage.mirror, "web", [one_of(1)]).budgets
    assert kept[1] is not None
    assert "cannot be judged: the last observation does not list everything" in kept[1]


@pytest.mark.parametrize(
    "name", ["move", "shop/move", "shop/web", "web", "evictd.io/cli/shop/move"]
)
def test_a_request_of_ours_is_withdrawn_by_its_name_or_by_its_target(name: str) -> None:
    stage = Stage()
    stage.request()
    assert withdraw.named(stage.mirror, name).place.names["name"] == "move"


def test_a_request_of_others_is_left_to_them() -> None:
    stage = Stage()
    stage.request(requester="acme.io/mover")
    with pytest.raises(InputError, match=r"request of acme.io/mover, which alone may withdraw"):
        withdraw.named(stage.mirror, "shop/move")
    with pytest.raises(NotFoundError):
        withdraw.named(stage.mirror, "nothing")


def test_requests_that_have_had_their_answer_are_known() -> None:
    stage = Stage()
    for name in ("one", "two", "three"):
        stage.request(name)
    stage.answer(*EVICTED, name="two")
    stage.answer(*PENDING, name="three")
    assert [found.place.names["name"] for found in withdraw.over(stage.mirror)] == ["two"]


def wanted(pod_name: str, uid: str | None = None) -> request.Wanted:
    return request.Wanted(
        pod=pod_name, uid=uid, kind="Soft", deadline=None, grace=None, reason=None, dry_run=False
    )


def test_the_life_that_is_observed_is_asked_for() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    node, found = request.meant(stage.mirror, wanted("shop/web"))
    assert (node, found.uid) == (NODE, WEB)


def test_of_a_node_that_is_played_by_hand_the_last_decision_tells_the_lives() -> None:
    stage = Stage()
    stage.decide({"pod": pod("web"), "verdict": "Candidate", "why": "uses most"})
    node, found = request.meant(stage.mirror, wanted("web"))
    assert (node, found.uid) == (NODE, WEB)


def test_a_life_that_is_not_observed_is_asked_for_by_its_uid() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    node, found = request.meant(stage.mirror, wanted("shop/web", OTHER))
    assert (node, found.uid) == (None, OTHER)
    with pytest.raises(NotFoundError):
        request.meant(stage.mirror, wanted("web", OTHER))


def test_a_collected_eviction_is_told_as_such_to_who_watches() -> None:
    stage = Stage()
    stage.evict()
    (item,) = watch.present(stage.mirror)
    assert watch.text(item, "evictions", "name") == "shop/pod-1-web"
    assert watch.text(item, "evictions", "json").startswith('{"node":"edge-7","topic":"evictd/v1/')


async def test_who_watches_sees_what_is_there_and_then_what_comes() -> None:
    stage = Stage()
    stage.evict()
    items = watch.items(stage.mirror, "evictions")
    assert (await anext(items)).cells[4] == "Running"
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.evict(conditions=EVICTED)
    assert (await coming).cells[4] == "Evicted"
    coming = asyncio.ensure_future(anext(items))
    stage.say(topics.EVICTION, None, namespace="shop", name="pod-1-web")
    assert (await coming).cells[4] == "Collected"


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


async def test_who_watches_requests_sees_each_answer_and_no_mere_passing_of_time() -> None:
    stage = Stage()
    place = {"domain": "acme.io", "key": "mover", "namespace": "shop", "name": "move"}
    spec = {"target": {"pod": {"name": "web", "uid": OTHER}}, "requester": "acme.io/mover"}
    stage.say(topics.REQUEST, {"spec": {**spec, "intent": "Eviction"}}, **place)
    items = watch.items(stage.mirror, "requests")
    assert (await anext(items)).cells[5] == "no answer yet"
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.evict()
    status = {"uid": OTHER, "generation": 1, "creationTimestamp": ago(0), "conditions": []}
    stage.say(topics.REQUEST_STATUS, status, **place)
    found = await coming
    assert found.cells[5] == "Awaiting"
    assert watch.text(found, "requests", "yaml").startswith("---\n")
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.say(topics.REQUEST, None, **place)
    assert (await coming).document["gone"] is True


async def test_who_watches_responders_sees_them_come_work_and_go() -> None:
    stage = Stage()
    items = watch.items(stage.mirror, "responders")
    coming = asyncio.ensure_future(anext(items))
    await asyncio.sleep(0)
    stage.say(topics.REGISTRATION, {"status": "ready"}, domain="acme.io", key="copy")
    assert (await coming).cells[:3] == (NODE, "acme.io/copy", "ready")
    coming = asyncio.ensure_future(anext(items))
    stage.say(topics.REGISTRATION, {"status": "lost"}, domain="acme.io", key="copy")
    assert (await coming).cells[2] == "lost"
    coming = asyncio.ensure_future(anext(items))
    stage.say(topics.REGISTRATION, None, domain="acme.io", key="copy")
    assert (await coming).cells[-1] == "Collected"


async def test_events_come_as_rows() -> None:
    stage = Stage()
    coming = asyncio.ensure_future(anext(watch.items(stage.mirror, "events")))
    await asyncio.sleep(0)
    data = {"reason": "Evicted", "message": "shop/web is gone"}
    event = {"id": "1", "source": "s", "type": "t", "time": ago(0), "data": data}
    stage.say(topics.EVENT, event, worker="controller", reason="Evicted")
    assert (await coming).cells == (
        "2026-11-30T08:10:00Z",
        NODE,
        "controller",
        "Evicted",
        "shop/web is gone",
    )


def test_what_client_config_wrote_is_where_the_broker_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert noted_address() is None
    (tmp_path / "mosquitto_pub").write_text("-h elsewhere\n-p 1884\n")
    assert noted_address() is None, "somebody else's file is not ours to use"
    signed = "# written by evictd client-config\n-h 10.0.0.5\n-p 1884\n-V 5\n-u ada\n-P s t\n"
    (tmp_path / "mosquitto_pub").write_text(signed)
    found = noted_address()
    assert found is not None
    assert found == Address(
        host="10.0.0.5",
        port=1884,
        username="ada",
        password="s t",  # noqa: S106 - made up, and it shows that blanks are kept
    )
