"""Whose turn it is, how long, and what is made of the reports."""

import pytest
from tests.services.controller.bench import DEFAULT, DRAIN, Bench, drained

pytestmark = pytest.mark.looptime


async def test_the_deadlines_of_a_responder_are_its_own(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60, heartbeatDeadlineSeconds=300))
    await bench.request()
    eviction = bench.eviction()
    assert eviction is not None
    start, deadline = (
        eviction.status.responders[0].start_time,
        eviction.status.responders[0].deadline_time,
    )
    assert start is not None
    assert deadline is not None
    assert (deadline - start).total_seconds() == 60
    await bench.after(50)
    await bench.report(DRAIN, heartbeatTime=bench.time())
    await bench.after(299)
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}
    await bench.after(2)
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.responders[0].interrupted_reason == "HeartbeatDeadline"
    assert bench.event("ResponderInterrupted")["data"]["interruptedReason"] == "HeartbeatDeadline"


async def test_without_a_sign_the_start_deadline_counts(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60))
    await bench.request()
    await bench.after(61)
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.responders[0].interrupted_reason == "StartDeadline"


async def test_an_identical_report_is_no_sign_of_life(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60, heartbeatDeadlineSeconds=100))
    await bench.request()
    for _ in range(4):
        await bench.report(DRAIN, message="copying")
        await bench.after(30)
    assert bench.states()[DRAIN] == "Interrupted"


async def test_a_heartbeat_is_clamped_between_start_and_now(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request()
    await bench.after(100)
    await bench.report(DRAIN, heartbeatTime=bench.time(-5000))
    eviction = bench.eviction()
    assert eviction is not None
    entry = eviction.status.responders[0]
    assert entry.heartbeat_time == entry.start_time
    await bench.after(21)
    await bench.report(DRAIN, heartbeatTime=bench.time(20))
    eviction = bench.eviction()
    assert eviction is not None
    entry = eviction.status.responders[0]
    assert entry.start_time is not None
    assert entry.heartbeat_time is not None
    assert (entry.heartbeat_time - entry.start_time).total_seconds() == 121


async def test_no_end_is_expected_before_the_start(bench: Bench) -> None:
    """The past is accepted, and told as the start."""
    await bench.begin()
    await bench.observe(drained())
    await bench.request()
    await bench.after(100)
    await bench.report(DRAIN, expectedCompletionTime=bench.time(-5000))
    eviction = bench.eviction()
    assert eviction is not None
    entry = eviction.status.responders[0]
    assert entry.expected_completion_time == entry.start_time


async def test_a_report_from_the_future_is_rejected(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(heartbeatTime=bench.time(31))
    assert bench.event("MessageRejected")["data"]["field"] == "heartbeatTime"
    assert bench.states() == {DEFAULT: "Active"}


async def test_a_responder_whose_turn_it_never_was_is_rejected(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request()
    await bench.report(DEFAULT, completionTime=bench.time())
    assert bench.event("MessageRejected")["data"]["field"] == "topic"
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}


async def test_a_report_after_the_turn_is_ignored_for_a_minute_then_rejected(
    bench: Bench,
) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60))
    await bench.request()
    await bench.after(61)
    await bench.report(DRAIN, message="still here")
    assert "MessageRejected" not in bench.reasons()
    assert bench.worker.ignored == 1
    await bench.after(61)
    await bench.report(DRAIN, message="and here")
    assert "MessageRejected" in bench.reasons()


async def test_a_report_of_another_life_of_the_eviction_is_ignored(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(evictionUid="3d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11", message="old")
    assert bench.states() == {DEFAULT: "Active"}
    assert bench.worker.ignored == 1
    assert "MessageRejected" not in bench.reasons()


async def test_past_the_point_of_no_return_a_withdrawal_is_only_recorded(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained(startDeadlineSeconds=60, heartbeatDeadlineSeconds=100))
    await bench.request()
    await bench.report(DRAIN, pointOfNoReturn=True, heartbeatTime=bench.time())
    await bench.request(intent="Withdrawn")
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.requesters[0].intent == "Withdrawn"
    assert bench.failed() == ("False", "AwaitingEviction")
    await bench.after(101)
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Inactive"}
    assert bench.failed() == ("True", "CanceledDueToNoRequesters")


async def test_a_withdrawn_target_past_that_point_may_still_be_evicted(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(pointOfNoReturn=True)
    await bench.withdraw()
    assert bench.failed() == ("False", "AwaitingEviction")
    await bench.report(completionTime=bench.time(), targetGone=True)
    assert bench.reasons()[-1] == "Evicted"


async def test_a_lost_responder_hands_over_after_ten_seconds(bench: Bench) -> None:
    await bench.begin()
    await bench.register(DRAIN, status="ready", epoch=1, connection=1)
    await bench.request()
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}
    await bench.register(DRAIN, status="lost", epoch=1, connection=1)
    await bench.after(9)
    assert bench.states()[DRAIN] == "Active"
    await bench.after(2)
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}
    assert bench.event("ResponderInterrupted")["data"]["interruptedReason"] == "ResponderLost"


async def test_a_responder_that_comes_back_in_time_keeps_its_turn(bench: Bench) -> None:
    await bench.begin()
    await bench.register(DRAIN, status="ready", epoch=1, connection=1)
    await bench.request()
    await bench.register(DRAIN, status="lost", epoch=1, connection=1)
    await bench.after(8)
    await bench.register(DRAIN, status="ready", epoch=1, connection=2)
    await bench.register(DRAIN, status="lost", epoch=1, connection=1)
    await bench.after(60)
    assert bench.states() == {DRAIN: "Active", DEFAULT: "Inactive"}


async def test_two_missed_heartbeats_make_a_responder_stale_once(bench: Bench) -> None:
    await bench.begin()
    await bench.register(DRAIN, status="ready", heartbeatSeconds=30)
    await bench.request()
    await bench.after(59)
    assert "ResponderStale" not in bench.reasons()
    await bench.after(100)
    assert bench.reasons().count("ResponderStale") == 1
    assert bench.states()[DRAIN] == "Active", "stale has no consequence"


async def test_registered_responders_work_for_the_pods_that_they_select(bench: Bench) -> None:
    await bench.begin()
    await bench.register(DRAIN, status="ready", selector={"matchLabels": {"app": "db"}})
    await bench.register("acme.io/all", status="ready", namespaces=["shop"])
    await bench.register("acme.io/none", status="ready", namespaces=["bank"])
    await bench.request()
    assert bench.states() == {"acme.io/all": "Active", DEFAULT: "Inactive"}


async def test_after_the_last_completion_an_observation_is_waited_for(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(completionTime=bench.time())
    assert bench.states() == {DEFAULT: "Completed"}
    assert bench.failed() == ("False", "AwaitingEviction")
    await bench.observe()
    assert bench.failed() == ("True", "NoFurtherResponder")


async def test_without_an_observation_that_wait_ends_after_thirty_seconds(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(completionTime=bench.time())
    await bench.after(29)
    assert bench.failed() == ("False", "AwaitingEviction")
    await bench.after(2)
    assert bench.failed() == ("True", "NoFurtherResponder")


async def test_an_observation_in_that_wait_may_show_the_success(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(completionTime=bench.time())
    await bench.observe(empty=True)
    assert bench.answer() == ("False", "Succeeded")
    assert bench.states() == {DEFAULT: "Completed"}


async def test_the_pause_between_rounds_doubles(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    for number, pause in ((1, 30), (2, 60), (3, 120)):
        await bench.report(name=f"pod-{number}-web", completionTime=bench.time())
        await bench.observe()
        assert bench.failed(f"pod-{number}-web") == ("True", "NoFurtherResponder")
        assert bench.answer() == ("True", "NoFurtherResponder")
        await bench.after(pause - 1.5)
        assert f"pod-{number + 1}-web" not in bench.names()
        await bench.after(2)
        assert bench.states(f"pod-{number + 1}-web") == {DEFAULT: "Active"}
        assert bench.answer() == ("False", "AwaitingEviction")
    eviction = bench.eviction("pod-4-web")
    assert eviction is not None
    assert eviction.status.round == 3


async def test_a_newer_wish_does_not_wait_for_that_pause(bench: Bench) -> None:
    await bench.begin()
    await bench.request()
    await bench.report(completionTime=bench.time())
    await bench.observe()
    await bench.after(2)
    await bench.request(name="hard", requester="evictd.io/node-pressure", type="Hard")
    assert bench.states("pod-2-web") == {DEFAULT: "Active"}


async def test_hasty_signs_of_life_are_published_at_most_every_twenty_seconds(
    bench: Bench,
) -> None:
    await bench.begin()
    await bench.observe(drained(heartbeatDeadlineSeconds=30))
    await bench.request()
    revisions = []
    for number in range(100):
        await bench.report(DRAIN, message=f"{number} %")
        eviction = bench.eviction()
        assert eviction is not None
        revisions.append(eviction.rev)
        await bench.after(0.5)
    assert len(set(revisions)) == 3
    await bench.after(28)
    assert bench.states()[DRAIN] == "Active", "signs that are held back count all the same"
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.responders[0].message == "99 %"
    await bench.after(2)
    assert bench.states()[DRAIN] == "Interrupted"


async def test_a_completion_is_never_held_back(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request()
    await bench.report(DRAIN, message="begun")
    await bench.report(DRAIN, pointOfNoReturn=True, message="deleting")
    eviction = bench.eviction()
    assert eviction is not None
    assert eviction.status.responders[0].point_of_no_return
    await bench.report(DRAIN, completionTime=bench.time(), message="done")
    assert bench.states() == {DRAIN: "Completed", DEFAULT: "Active"}


async def test_only_the_default_responder_knows_that_the_target_is_gone(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.request()
    await bench.report(DRAIN, targetGone=True, completionTime=bench.time())
    assert bench.states() == {DRAIN: "Completed", DEFAULT: "Active"}
    assert bench.answer() == ("False", "AwaitingEviction")


async def test_who_has_long_been_lost_has_no_turn_and_who_is_there_again_has(bench: Bench) -> None:
    await bench.begin()
    await bench.observe(drained())
    await bench.register(DRAIN, status="ready", epoch=1, connection=1)
    await bench.register(DRAIN, status="lost", epoch=1, connection=1)
    await bench.after(11)
    await bench.register(DRAIN, status="lost", epoch=1, connection=1)
    await bench.request()
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}
    assert bench.reasons().count("ResponderActive") == 1
    await bench.register(DRAIN, status="ready", epoch=1, connection=2)
    await bench.withdraw()
    await bench.request(name="again")
    assert bench.states("pod-2-web") == {DRAIN: "Active", DEFAULT: "Inactive"}


@pytest.mark.parametrize("between", ["init", "disconnected"])
async def test_one_that_never_became_ready_again_has_been_lost_since_the_first_time(
    bench: Bench, between: str
) -> None:
    """For chains that begin later too. [contract 3, Registration]"""
    await bench.begin()
    await bench.observe(drained())
    await bench.register(DRAIN, status="lost", epoch=1, connection=1)
    await bench.after(8)
    await bench.register(DRAIN, status=between, epoch=1, connection=2)
    await bench.register(DRAIN, status="lost", epoch=1, connection=2)
    await bench.after(3)
    await bench.request()
    assert bench.states() == {DRAIN: "Interrupted", DEFAULT: "Active"}
