"""From a request to its end: what is told on the way, and with which exit code it ends."""

import asyncio
from typing import Any

import pytest
from tests.cli.bus import DRAIN, EVICTED, NODE, NOW, REFERENCE, Stage, condition, failed

from evictd.cli.following import Asked, Follower, progress_text
from evictd.cli.reading import TimedOutError
from evictd.cli.request import CLEARED_SECONDS, clear_former, follow
from evictd.cli.tables import Output
from evictd_schemas import topics

PENDING = (condition("Failed", "False"), condition("TargetEvicted", "False"))


def asked(*, dry_run: bool = False) -> Asked:
    """Web is asked to leave."""
    return Asked(
        node=NODE,
        requester="evictd.io/cli",
        namespace="shop",
        name="move",
        pod="web",
        dry_run=dry_run,
    )


async def ended(*answer: dict[str, Any], dry_run: bool = False) -> tuple[str, int, bool] | None:
    """How it ends with that answer."""
    stage = Stage()
    follower = Follower(stage.mirror, asked(dry_run=dry_run))
    stage.request()
    stage.answer(*answer, eviction=REFERENCE)
    stage.evict(conditions=EVICTED)
    end = follower.end()
    await follower.close()
    return None if end is None else (end.text, end.exit_code, end.final)


@pytest.mark.looptime
@pytest.mark.parametrize(("seconds", "told"), [(1.9, 0), (2.1, 1), (31.0, 1), (33.0, 2)])
async def test_that_nobody_answers_is_told_only_after_a_moment(
    seconds: float, told: int, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = Stage()
    follower = Follower(stage.mirror, asked())
    with pytest.raises(TimedOutError):
        await follow(stage.mirror, asked(), follower, seconds, Output.TABLE)
    await follower.close()
    assert capsys.readouterr().err.count("no controller has answered yet") == told


@pytest.mark.looptime
async def test_an_answer_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    stage = Stage()
    follower = Follower(stage.mirror, asked())
    stage.answer(*PENDING)
    with pytest.raises(TimedOutError):
        await follow(stage.mirror, asked(), follower, 0.1, Output.TABLE)
    await follower.close()
    assert capsys.readouterr().err == "no Eviction yet\n"


async def test_gone_is_success_and_tells_how_long_it_took() -> None:
    assert await ended(*EVICTED) == ("shop/web is gone after 40s", 0, True)


async def test_refused_is_failure() -> None:
    refusal = failed("EvictionInvalid", "shop/db is critical and is never evicted.")
    assert await ended(*refusal) == (
        "refused: shop/db is critical and is never evicted.",
        1,
        True,
    )


@pytest.mark.parametrize(("dry_run", "exit_code"), [(True, 0), (False, 1)])
async def test_a_dry_run_is_success_only_where_one_was_asked_for(
    dry_run: bool, exit_code: int
) -> None:
    told = "would have stopped shop/web; mode is observe"
    end = await ended(*failed("DryRun", told), dry_run=dry_run)
    assert end == (told, exit_code, True)


async def test_a_chain_that_was_used_up_is_followed_by_a_further_round() -> None:
    assert await ended(*failed("NoFurtherResponder", "nobody is left")) is None


async def test_it_goes_on_while_a_responder_is_at_work() -> None:
    assert await ended(*PENDING) is None


async def test_a_message_that_was_rejected_ends_it_with_the_reason() -> None:
    stage = Stage()
    follower = Follower(stage.mirror, asked())
    stage.request()
    for topic in ("evictd/v1/edge-7/pressure", asked().topic):
        data = {
            "reason": "MessageRejected",
            "message": "…",
            "topic": topic,
            "problems": [{"field": "spec.type", "reason": "none of the hardRequesters"}],
        }
        event = {"id": topic, "source": "s", "type": "t", "time": NOW.isoformat(), "data": data}
        assert follower.end() is None
        stage.say(topics.EVENT, event, worker="controller", reason="MessageRejected")
        while await follower.change(0.05):
            pass
    end = follower.end()
    await follower.close()
    assert end is not None
    assert (end.text, end.exit_code) == ("rejected: spec.type: none of the hardRequesters", 1)


async def test_somebody_else_may_withdraw_it() -> None:
    stage = Stage()
    follower = Follower(stage.mirror, asked())
    stage.answer(*PENDING)
    assert follower.end() is None
    levels = {"domain": "evictd.io", "key": "cli", "namespace": "shop", "name": "move"}
    stage.say(topics.REQUEST_STATUS, None, **levels)
    end = follower.end()
    await follower.close()
    assert end is not None
    assert (end.text, end.exit_code, end.final) == ("it was withdrawn", 1, False)


@pytest.mark.looptime
async def test_a_change_that_does_not_come_in_time_is_waited_for_again() -> None:
    stage = Stage()
    follower = Follower(stage.mirror, asked())
    assert not await follower.change(30)
    asyncio.get_running_loop().call_later(10, stage.answer, *PENDING)
    assert await follower.change(30)
    assert follower.answered
    await follower.close()


def test_it_is_told_who_is_at_work_since_when_and_until_when() -> None:
    stage = Stage()
    assert progress_text(None, None, NOW) == "no controller has answered yet"
    stage.answer(*PENDING, eviction=REFERENCE)
    status = asked().status(stage.mirror)
    assert progress_text(status, None, NOW) == "no Eviction yet"
    stage.evict()
    assert progress_text(status, asked().eviction(stage.mirror), NOW) == (
        f"{DRAIN} is at work: copied 3 of 7 volumes; heartbeat 5s ago; its deadline in 115s"
    )
    stage.evict(type="SoftWithDeadline", deadlineTime="2026-11-30T08:10:30Z")
    text = progress_text(status, asked().eviction(stage.mirror), NOW)
    assert text.endswith("stopped at latest in 30s")


@pytest.mark.looptime
async def test_a_former_request_that_had_its_answer_makes_room_for_a_new_one() -> None:
    stage = Stage()
    stage.request()
    stage.answer(*failed("DryRun", "would have stopped shop/web"))
    follower = Follower(stage.mirror, asked())
    levels = asked().levels
    asyncio.get_running_loop().call_later(
        1, lambda: stage.say(topics.REQUEST_STATUS, None, **levels)
    )
    await clear_former(stage.mirror, asked(), follower)
    assert asyncio.get_running_loop().time() == 1
    assert stage.mirror.objects(topics.REQUEST) == []
    await follower.close()


@pytest.mark.looptime
async def test_a_controller_that_is_silent_does_not_hold_a_new_request_up_for_long() -> None:
    stage = Stage()
    stage.answer(*EVICTED)
    follower = Follower(stage.mirror, asked())
    await clear_former(stage.mirror, asked(), follower)
    assert asyncio.get_running_loop().time() == CLEARED_SECONDS
    await follower.close()


async def test_a_request_that_is_still_at_work_stays_to_be_tightened() -> None:
    stage = Stage()
    stage.request()
    stage.answer(*PENDING)
    follower = Follower(stage.mirror, asked())
    await clear_former(stage.mirror, asked(), follower)
    assert len(stage.mirror.objects(topics.REQUEST)) == 1
    await follower.close()
