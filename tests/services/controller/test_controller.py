"""The controller's worker: what requesters and responders see of it."""

from typing import Any

import msgspec
import pytest
from tests.services.controller.bench import (
    DEFAULT,
    DRAIN,
    OTHER,
    WEB,
    Bench,
    drained,
    request_topic,
    web,
)

from evictd.core.protocol.policy import SUCCESS_KEPT_SECONDS
from evictd.shell.inbox import KEYS_AT_ONCE

pytestmark = pytest.mark.looptime


async def test_a_target_that_the_default_responder_ended_is_evicted_once(bench: Bench) -> None:
    await bench.begin()
    await bench.request(reason={"signal": "memory.available"})
    assert bench.states() == {DEFAULT: "Active"}
    assert bench.answer() == ("False", "AwaitingEviction")
    await bench.after(7)
    await bench.report(completionTime=bench.time(), targetGone=True, message="stopped")
    assert bench.states() == {DEFAULT: "Completed"}
    assert bench.answer() == ("False", "Succeeded")
    assert bench.reasons() == [
        "EvictionRequested",
        "ResponderActive",
        "ResponderCompleted",
        "Evicted",
    ]
    data = bench.event("Evicted")["data"]
    assert data["pod"] == {"namespace": "shop", "name": "web", "uid": WEB}
    assert (data["node"], data["signal"]) == ("edge", "memory.available")
    assert (data["requesters"], data["responder"]) == (["acme.io/mover"], DEFAULT)
    assert (data["forced"], data["tookSeconds"]) == (None, 7.0)


async def test_a_target_is_gone_when_a_live_complete_observation_misses_it(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.observe(empty=True, podsComplete=False)
    await bench.after(6)
    assert bench.answer() == ("False", "AwaitingEviction")
    await bench.observe(empty=True)
    assert bench.answer() == ("False", "AwaitingEviction"), "the report has 5 s to come"
    await bench.after(6)
    assert bench.answer() == ("False", "Succeeded")
    assert bench.states() == {DEFAULT: "Interrupted"}


async def test_another_uid_under_the_name_is_another_pod(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.observe(web(uid=OTHER))
    await bench.after(6)
    assert bench.answer() == ("False", "Succeeded")
    await bench.request(name="again", uid=OTHER)
    assert bench.names() == ["pod-1-web", "pod-2-web"]


async def test_a_request_before_any_observation_waits_for_one() -> None:
    bench = Bench()
    await bench.start()
    await bench.request()
    status = bench.status()
    assert status is not None
    assert bench.answer() == ("False", "AwaitingEviction")
    assert {item.message for item in status.conditions} == {"no observation of node edge yet"}
    assert bench.names() == []
    await bench.observe(web())
    assert bench.states() == {DEFAULT: "Active"}
    await bench.kill()


async def test_absence_is_concluded_only_from_an_observation_after_the_request() -> None:
    bench = Bench()
    await bench.start()
    await bench.observe(empty=True)
    await bench.request()
    assert bench.answer() == ("False", "AwaitingEviction")
    await bench.observe(empty=True)
    assert bench.answer() == ("True", "EvictionInvalid")
    status = bench.status()
    assert status is not None
    assert status.conditions[0].message == "Target pod not found."
    await bench.observe(web())
    assert bench.answer() == ("True", "EvictionInvalid"), "only another spec is checked again"
    await bench.request(gracePeriodSeconds=60)
    assert bench.states() == {DEFAULT: "Active"}
    await bench.kill()


async def test_two_requesters_share_one_eviction_until_the_last_withdraws(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.request(name="other", requester="acme.io/second")
    assert bench.names() == ["pod-1-web"]
    await bench.withdraw()
    eviction = bench.eviction()
    assert eviction is not None
    intents = {item.name: item.intent for item in eviction.status.requesters}
    assert intents == {"acme.io/mover": "Withdrawn", "acme.io/second": "Eviction"}
    assert bench.status() is None
    await bench.request(name="other", requester="acme.io/second", intent="Withdrawn")
    assert bench.failed() == ("True", "CanceledDueToNoRequesters")
    assert bench.states() == {DEFAULT: "Canceled"}
    assert bench.reasons()[-1] == "EvictionCanceled"


async def test_a_finished_eviction_is_collected_after_a_delay_with_its_reports(
    bench: Bench,
) -> None:
    await bench.begin()
    await bench.request()
    await bench.report("acme.io/stranger", message="whose turn it never was")
    await bench.report(completionTime=bench.time(), targetGone=True)
    await bench.withdraw()
    await bench.after(59)
    assert bench.names() == ["pod-1-web"]
    await bench.after(2)
    assert [topic for topic in bench.router.retained if "/evictions/" in topic] == []
    assert bench.worker.cases == {}


async def test_what_has_succeeded_is_collected_after_a_day_although_its_request_is_never_cleared(
    bench: Bench,
) -> None:
    """The status stays, says since when it is final, and lets nothing begin anew."""
    await bench.begin()
    await bench.request()
    pending = bench.status()
    assert pending is not None
    assert pending.final_time is None
    await bench.report(completionTime=bench.time(), targetGone=True)
    final = bench.status()
    assert final is not None
    assert final.final_time == next(
        item.last_transition_time for item in final.conditions if item.type == "TargetEvicted"
    )
    await bench.after(SUCCESS_KEPT_SECONDS - 60)
    assert bench.names() == ["pod-1-web"]
    await bench.after(120)
    assert [topic for topic in bench.router.retained if "/evictions/" in topic] == []
    assert bench.status() == final
    assert bench.answer() == ("False", "Succeeded")
    told = bench.reasons()
    await bench.kill()
    await bench.start()
    await bench.observe(web())
    await bench.after(60)
    assert bench.names() == []
    assert bench.reasons() == told
    status = bench.status()
    assert status is not None
    assert (status.uid, status.final_time) == (final.uid, final.final_time)


async def test_another_spec_of_a_final_request_is_not_final(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(web(critical=True))
    await bench.request()
    status = bench.status()
    assert status is not None
    assert status.final_time is not None
    await bench.observe(web())
    await bench.request(gracePeriodSeconds=60)
    status = bench.status()
    assert status is not None
    assert status.final_time is None


async def test_what_did_not_work_is_told_in_figures_until_it_has_worked(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    setback = {"cause": "Budget", "attempts": 3, "nextTryTime": bench.time(20)}
    await bench.report(message="kept", setback=setback)
    eviction = bench.eviction()
    assert eviction is not None
    told = eviction.status.responders[0].setback
    assert told is not None
    assert (told.cause, told.attempts) == ("Budget", 3)
    await bench.after(20)
    await bench.report(message="stopping")
    await bench.after(1)
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.responders[0].setback is None


@pytest.mark.parametrize("setback", [{"cause": "x" * 101}, {"cause": "x", "attempts": -1}])
async def test_figures_that_mean_nothing_are_rejected(
    bench: Bench, setback: dict[str, Any]
) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(message="kept", setback=setback)
    assert bench.reasons()[-1] == "MessageRejected"


async def test_a_wish_is_announced_once_it_is_one(bench: Bench) -> None:
    """A request may begin as withdrawn."""
    await bench.begin()
    await bench.request(intent="Withdrawn")
    assert bench.reasons() == []
    await bench.request()
    await bench.request(gracePeriodSeconds=60)
    assert bench.reasons() == ["EvictionRequested", "ResponderActive"]


async def test_hard_skips_everybody_but_the_default_responder(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request(name="soft", requester="evictd.io/node-pressure")
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}
    await bench.request(name="soft", requester="evictd.io/node-pressure", type="Hard")
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.type == "Hard"
    assert eviction.status.forced is not None
    assert eviction.status.forced.by == "evictd.io/node-pressure"
    assert eviction.status.responders[0].interrupted_reason == "Hard"


async def test_hard_from_the_start_never_starts_a_custom_responder(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request(requester="evictd.io/node-pressure", type="Hard")
    eviction = bench.eviction()
    assert eviction is not None
    drain, default = eviction.status.responders
    assert (drain.start_time, drain.interrupted_reason) == (None, "Hard")
    assert default.start_time is not None
    assert bench.reasons().count("ResponderActive") == 1


async def test_hard_from_somebody_else_is_rejected(bench: Bench) -> None:
    await bench.begin()
    await bench.request(type="Hard")
    assert bench.status() is None
    problem = bench.event("MessageRejected")["data"]
    assert problem["field"] == "spec.type"


async def test_a_type_may_only_be_tightened(bench: Bench) -> None:
    await bench.begin()
    requester = "evictd.io/node-pressure"
    await bench.request(requester=requester, type="Hard")
    await bench.request(requester=requester, type="Soft")
    assert bench.event("MessageRejected")["data"]["field"] == "spec.type"
    await bench.withdraw(requester=requester)
    await bench.request(requester=requester, type="Soft")
    assert bench.names() == ["pod-1-web", "pod-2-web"]


async def test_at_its_deadline_a_request_counts_as_hard(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request(type="SoftWithDeadline", deadlineSeconds=120)
    await bench.after(119)
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}
    await bench.after(2)
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}


async def test_a_deadline_that_was_set_is_never_moved_back(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request(type="SoftWithDeadline", deadlineSeconds=120)
    await bench.after(60)
    await bench.request(type="SoftWithDeadline", deadlineSeconds=600)
    await bench.after(61)
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}


@pytest.mark.parametrize("fields", [{"critical": True}, {"protected": True}])
async def test_a_critical_or_protected_target_is_refused(
    bench: Bench, fields: dict[str, bool]
) -> None:
    await bench.begin()
    await bench.observe(web(**fields))
    await bench.request(requester="evictd.io/node-pressure", type="Hard")
    assert bench.answer("move", "evictd.io/node-pressure") == ("True", "EvictionInvalid")
    assert bench.names() == []
    assert bench.reasons()[-1] == "EvictionFailed"


async def test_a_grace_below_the_pods_own_needs_a_hard_requester(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(web(terminationGracePeriodSeconds=30))
    await bench.request(gracePeriodSeconds=5)
    assert bench.answer() == ("True", "EvictionInvalid")
    await bench.request(name="own", requester="evictd.io/node-pressure", gracePeriodSeconds=5)
    await bench.request(name="long", requester="acme.io/third", gracePeriodSeconds=40)
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.grace_period_seconds == 5
    assert "acme.io/mover" not in [item.name for item in eviction.status.requesters]


async def test_an_unchanged_pod_costs_nothing(bench: Bench) -> None:
    """Statistics change all the time; a target hears only of what decides something."""
    await bench.begin()
    await bench.request()
    before = bench.journal.kept.copy()
    await bench.observe(web(stats={"memory": {"workingSetBytes": 7}}))
    await bench.observe(web(stats={"memory": {"workingSetBytes": 8}}))
    assert bench.journal.kept.keys() == before.keys()
    assert all(bench.journal.kept[key] is before[key] for key in before)


async def test_hundreds_of_targets_are_served(bench: Bench) -> None:
    await bench.begin()
    pods = [
        {"namespace": "shop", "name": f"p{number}", "uid": f"{number:08x}{WEB[8:]}"}
        for number in range(300)
    ]
    await bench.observe(*pods)
    for pod in pods:
        await bench.request(name=pod["name"], pod=pod["name"], uid=pod["uid"])
    assert len(bench.names()) == 300
    await bench.observe(empty=True)
    await bench.after(6)
    assert bench.reasons().count("Evicted") == 300


async def test_pressure_is_answered_before_the_hundreds_of_others_who_asked_earlier(
    bench: Bench,
) -> None:
    """A machine that runs short does not wait until all wishes of others are looked at."""
    await bench.begin()
    for number in range(3 * KEYS_AT_ONCE):
        requester = "acme.io/mover"
        target = {"pod": {"name": f"p{number}", "uid": OTHER}}
        body = {"target": target, "requester": requester, "intent": "Eviction"}
        payload = msgspec.json.encode({"spec": body})
        bench.router.publish(request_topic(f"p{number}", requester), payload, retain=True)
    await bench.request(requester="evictd.io/node-pressure", type="Hard")
    asked = [item["data"]["requester"] for item in bench.ear.events if "requester" in item["data"]]
    assert asked[0] == "evictd.io/node-pressure"
    assert len(asked) == 3 * KEYS_AT_ONCE + 1


async def test_who_is_wanted_by_pressure_no_more_comes_first_no_more(bench: Bench) -> None:
    await bench.begin()
    await bench.request(requester="evictd.io/node-pressure", type="Hard")
    assert len(bench.inbox.pressing) == 1
    await bench.kill()
    await bench.start()
    assert len(bench.inbox.pressing) == 1
    await bench.withdraw(requester="evictd.io/node-pressure")
    assert not bench.inbox.pressing
