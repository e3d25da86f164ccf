"""Foreign nodes, odd messages, and a wall clock that jumps."""

from datetime import timedelta

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

from evictd.controller import desk
from evictd.controller.desk import REQUESTS_OF_TARGET_MAX
from evictd.core.moments import Now
from evictd.shell.clock import LoopClock
from evictd_schemas import topics

pytestmark = pytest.mark.looptime


async def test_a_foreign_node_that_is_silent_for_a_day_is_forgotten(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    topic = request_topic("move", "acme.io/mover")
    foreign = topic.replace("/edge/", "/far/")
    await bench.say(
        topics.OBSERVATION.at("far"),
        {"node": "far", "time": bench.time(), "signals": {}, "pods": [web()]},
    )
    bench.router.publish(foreign, bench.router.retained[topic], retain=True)
    await bench.settle()
    await bench.after(23 * 3600)
    assert [name for name in bench.router.retained if "/far/evictions/" in name]
    await bench.after(3 * 3600)
    assert [name for name in bench.router.retained if "/far/evictions/" in name] == []
    assert f"{foreign}/status" not in bench.router.retained
    assert {key.split("/")[0] for key in bench.worker.cases} == {"edge"}


async def test_a_contradiction_with_the_topic_is_rejected(bench: Bench) -> None:
    await bench.begin()
    body = {"target": {"pod": {"name": "web", "uid": WEB}}, "intent": "Eviction"}
    await bench.say(
        request_topic("move", "acme.io/mover"),
        {"metadata": {"name": "other"}, "spec": {**body, "requester": "acme.io/else"}},
    )
    problems = bench.event("MessageRejected")["data"]["problems"]
    assert {item["field"] for item in problems} == {"metadata.name", "spec.requester"}
    assert bench.status() is None


async def test_the_same_wrong_payload_is_answered_once(bench: Bench) -> None:
    await bench.begin()
    for _ in range(3):
        await bench.request(uid="no uid")
    assert bench.reasons().count("MessageRejected") == 1
    assert bench.worker.reception.rejected == 3


async def test_a_request_for_another_target_needs_an_empty_payload_first(bench: Bench) -> None:
    await bench.begin()
    db = {"namespace": "shop", "name": "db", "uid": WEB.replace("0d9f", "4d9f")}
    await bench.observe(web(), db)
    await bench.request()
    await bench.request(pod="db", uid=db["uid"])
    assert bench.event("MessageRejected")["data"]["field"] == "spec.target"
    before = bench.status()
    await bench.after(1)
    await bench.withdraw()
    await bench.request(pod="db", uid=db["uid"])
    after = bench.status()
    assert before is not None
    assert after is not None
    assert before.uid != after.uid
    assert bench.states("pod-1-db") == {DEFAULT: "Active"}


async def test_a_wrong_name_with_a_right_uid_never_meets_the_right_target(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.request(name="wrong", requester="acme.io/second", pod="other")
    await bench.observe()
    assert bench.answer("wrong", "acme.io/second") == ("True", "EvictionInvalid")
    eviction = bench.eviction()
    assert eviction is not None
    assert [item.name for item in eviction.status.requesters] == ["acme.io/mover"]


async def test_a_changed_spec_raises_the_generation(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.request()
    status = bench.status()
    assert status is not None
    assert (status.generation, status.observed_generation) == (1, 1)
    await bench.request(reason={"signal": "pid.available"})
    status = bench.status()
    assert status is not None
    assert (status.generation, status.observed_generation) == (2, 2)
    eviction = bench.eviction()
    assert eviction is not None
    assert status.eviction is not None
    assert status.eviction.uid == eviction.metadata.uid


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(days=-400)])
async def test_a_jump_of_the_wall_clock_moves_no_deadline(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60, heartbeatDeadlineSeconds=100))
    await bench.request()
    honest = LoopClock.now

    def jumped(clock: LoopClock) -> Now:
        now = honest(clock)
        return msgspec.structs.replace(now, utc=now.utc + jump)

    await bench.after(30)
    monkeypatch.setattr(LoopClock, "now", jumped)
    await bench.report(DRAIN, heartbeatTime=bench.time(jump.total_seconds()))
    await bench.after(99)
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}
    await bench.after(2)
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}


async def test_an_older_value_of_a_topic_never_replaces_a_newer_one(bench: Bench) -> None:
    await bench.begin()
    topic = request_topic("move", "acme.io/mover")
    await bench.request()
    wish = msgspec.json.decode(bench.router.retained[topic])
    gone = {"spec": {**wish["spec"], "intent": "Withdrawn"}}
    await bench.say(topic, {**wish, "epoch": 7, "rev": 2})
    await bench.say(topic, {**gone, "epoch": 7, "rev": 1})
    await bench.say(topic, {**gone, "epoch": 6, "rev": 9})
    assert bench.failed() == ("False", "AwaitingEviction")
    assert bench.worker.succession.ignored == 2
    await bench.say(topic, {**gone, "epoch": 7, "rev": 3})
    assert bench.failed() == ("True", "CanceledDueToNoRequesters")


async def test_no_more_requests_for_one_target_than_its_eviction_can_name(bench: Bench) -> None:
    await bench.begin()
    for number in range(REQUESTS_OF_TARGET_MAX):
        await bench.request(name=f"move-{number}")
    assert "MessageRejected" not in bench.reasons()
    await bench.request(name="one-too-many")
    assert bench.event("MessageRejected")["data"]["field"] == "spec.target"
    assert bench.status("one-too-many") is None
    await bench.withdraw(name="move-7")
    await bench.request(name="another")
    assert bench.answer("another") == ("False", "AwaitingEviction")
    eviction = bench.eviction()
    assert eviction is not None
    assert len(eviction.metadata.owner_references) == REQUESTS_OF_TARGET_MAX


async def test_a_machine_that_is_short_is_not_held_up_by_what_others_left_behind(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Final requests that nobody clears count like others; those of pressure always find room."""
    monkeypatch.setattr(desk, "REQUESTS_MAX", 2)
    await bench.begin()
    await bench.request(name="first")
    await bench.report(completionTime=bench.time(), targetGone=True)
    await bench.request(name="second")
    await bench.request(name="third")
    assert bench.event("MessageRejected")["data"]["field"] == "topic"
    await bench.observe(web(OTHER))
    await bench.request(requester="evictd.io/node-pressure", uid=OTHER, type="Hard")
    assert bench.answer(requester="evictd.io/node-pressure") == ("False", "AwaitingEviction")


async def test_an_observation_of_the_own_boot_counts_by_when_it_was_taken(bench: Bench) -> None:
    """It came after the request and was taken before it: it proves nothing about the target."""
    bench.boot_id = "b00t"
    await bench.start()
    await bench.after(100)
    await bench.observe(empty=True, bootId="b00t", uptimeSeconds=90)
    await bench.request()
    await bench.observe(empty=True, bootId="b00t", uptimeSeconds=99)
    assert bench.answer() == ("False", "AwaitingEviction")
    await bench.observe(empty=True, bootId="b00t", uptimeSeconds=101)
    assert bench.answer() == ("True", "EvictionInvalid")


async def test_a_pod_of_a_scheduling_group_is_not_evicted_on_its_own(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(web(schedulingGroup="g"))
    await bench.request()
    assert bench.answer() == ("True", "EvictionInvalid")
    assert bench.names() == []


async def test_a_pod_that_is_protected_meanwhile_is_let_alone(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.observe(web(protected=True))
    assert bench.states() == {DEFAULT: "Canceled"}
    assert bench.failed() == ("True", "CanceledDueToNoRequesters")
    assert bench.answer() == ("True", "EvictionInvalid")


async def test_a_pod_that_joins_a_group_meanwhile_cancels_its_responder(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.observe(web(schedulingGroup="g"))
    assert bench.states() == {DEFAULT: "Canceled"}
    assert bench.failed() == ("True", "EvictionInvalid")


async def test_a_cleared_observation_proves_nothing(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.say(topics.OBSERVATION.at("edge"), None)
    await bench.after(10)
    assert bench.answer() == ("False", "AwaitingEviction")
    assert bench.states() == {DEFAULT: "Active"}


@pytest.mark.parametrize("name", ["web-", "web.", "web-.-"])
async def test_workloads_whose_names_differ_in_their_end_have_evictions_of_their_own(
    bench: Bench, name: str
) -> None:
    """Names of Evictions never end in a dash or a dot, so that both could have had one name."""
    await bench.begin()
    await bench.observe(web(), web(uid=OTHER, name=name))
    await bench.request()
    await bench.request(name="other", pod=name, uid=OTHER)
    assert bench.names() == ["pod-1-web", "pod-2-web"]
    await bench.observe(web(uid=OTHER, name=name))
    await bench.after(6)
    assert bench.answer() == ("False", "Succeeded")
    assert bench.answer("other") == ("False", "AwaitingEviction")
