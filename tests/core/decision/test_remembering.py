"""What an evictor still knows after a restart of who went how often, and of who is passed over.

Its own last Decision is all that it has. [design, law 5]
"""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.core.decision.household import HARD, Household, household
from tests.core.decision.stage import START, Stage, Turn, rules_of, sent, uid_of

from evictd.core.decision import Plan, Recalled, failures, past
from evictd.core.decision.failures import FAILED_SECONDS
from evictd.core.decision.past import LATELY_SECONDS, TIMES_TOLD_MAX, End, Past
from evictd.core.moments import Now
from evictd.core.ways import ACTION
from evictd_schemas import PodReference

WEB = PodReference(namespace="shop", name="web", uid=uid_of("web"))


def healed(stage: Stage, life: int, *, after: float = 5, **fields: object) -> None:
    """Something starts it again, in another life."""
    stage.pod("web", uses="2Gi", uid=uid_of(f"web {life}"), **fields)
    stage.observe("8Gi", after=after)


def goes(stage: Stage) -> Turn:
    """A shortage; it is asked, and goes."""
    assert stage.observe("900Mi").victims == ["web"]
    stage.gone("web")
    return stage.answer("web")


def alone(**fields: object) -> Stage:
    """One that may go, and one that is too small to count."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="2Gi", uid=uid_of("web 0"), **fields)
    return stage


@pytest.mark.parametrize("restarts", [(), (1,), (2,), (1, 2)])
def test_a_loop_is_noticed_over_restarts(restarts: tuple[int, ...]) -> None:
    """What something else starts again is evicted for the third time, whoever counted the first."""
    stage, told = alone(), []
    for life in range(1, 4):
        told += goes(stage).events
        healed(stage, life)
        if life in restarts:
            stage.restart()
        stage.observe("8Gi", after=FAILED_SECONDS + 1)
    assert told == ["EvictionLoop"]


def test_the_pause_before_the_last_resort_goes_on_doubling_after_a_restart() -> None:
    """After the second return two minutes, not one. [field case I1]"""
    stage = alone()
    for life in (1, 2):
        goes(stage)
        healed(stage, life)
        if life == 1:
            stage.restart()
            stage.observe("8Gi", after=FAILED_SECONDS + 1)
    stage.restart()
    assert stage.observe("900Mi", after=110).victims == []
    assert stage.observe("900Mi", after=11).victims == ["web"]


def test_who_is_passed_over_is_so_though_nothing_was_short_when_it_was_written() -> None:
    """In each of its lives, for the rest of its time and no longer."""
    stage = alone()
    stage.pod("other", uses="1Gi")
    goes(stage)
    healed(stage, 1)
    stage.observe("8Gi", after=300)
    stage.restart()
    stage.gone("web")
    healed(stage, 2)
    turn = stage.observe("900Mi", after=5)
    assert turn.verdicts() == {"web": "Failed", "other": "Victim"}
    assert turn.decision is not None
    assert turn.decision.ranking[0].why.startswith(
        "something started it again within 5 s of its eviction, passed over for 290 s"
    )
    stage.restart()
    assert stage.observe("900Mi", after=291).verdicts()["web"] == "Victim"


def test_a_soft_failure_stays_one_after_a_restart() -> None:
    """What a webhook did not take off a hard shortage stops, whoever remembers it."""
    stage = Stage(rules_of(HARD, "memory.available<2Gi/10"))
    stage.pod("web", uses="3Gi", action="webhook")
    stage.pod("other", uses="2Gi")
    stage.observe("1536Mi")
    assert stage.observe("1536Mi").victims == ["web"]
    stage.answer("web", kind="Failed", reason="NoFurtherResponder")
    stage.observe("8Gi", after=1)
    stage.restart()
    assert stage.observe("1536Mi", after=5).verdicts()["web"] == "Failed"
    assert stage.observe("900Mi", after=1).verdicts() == {"web": "Victim", "other": "Candidate"}


def test_the_third_time_is_a_stop_for_one_that_is_restarted_whoever_counted() -> None:
    stage = alone(action="restart")
    for life in (1, 2):
        goes(stage)
        healed(stage, life, action="restart")
        stage.restart()
    (request,) = stage.observe("900Mi").requests
    assert request.spec.reason is not None
    assert request.spec.reason.annotations[ACTION] == "stop"


def test_an_end_that_is_answered_to_both_lives_of_the_evictor_counts_once() -> None:
    """The crash came before the request was cleared."""
    stage = alone()
    stage.observe("900Mi")
    stage.crash_before_clearing("web")
    assert len(stage.plan.history["shop/web"].ends) == 1


def test_an_eviction_counts_from_when_it_ended_however_late_that_was_heard() -> None:
    """The time is that of the controller's word, so that a replay tells the same."""
    stage = alone()
    stage.observe("900Mi")
    ended = stage.now.utc + timedelta(seconds=2)
    stage.gone("web")
    stage.observe("8Gi", after=60)
    stage.answer("web", final_time=ended)
    turn = stage.observe("8Gi", after=1)
    assert turn.decision is not None
    (told,) = turn.decision.evictions
    assert told.times == (ended,)


def test_who_is_down_for_good_is_a_failure_when_something_else_starts_it() -> None:
    """Its record tells that it was not only to be restarted."""
    stage = Household(rules_of(HARD))
    stage.pod("web", uses="2Gi", action="restart")
    stage.pod("other", uses="1Gi")
    goes(stage)
    stage.fell("web", uid=uid_of("web"))
    stage.observe("8Gi", after=1)
    stage.began_anew()
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"), action="restart")
    assert stage.observe("900Mi").verdicts() == {"web": "Failed", "other": "Victim"}


def test_the_third_fall_is_told_though_nobody_decided_when_it_came() -> None:
    """The evictor was down; the record and its own last Decision say it together."""
    stage = household()
    for life in (1, 2):
        stage.fell("web", life=life)
        stage.pod("web", uid=uid_of(f"web {life + 1}"))
        stage.calm(after=4000)
    decision = stage.plan.decision
    stage.plan = Plan()
    assert stage.fell("web", life=3).events == []
    assert stage.tell(Recalled(decision=decision)).events == ["EvictionLoop"]
    assert stage.fell("web", life=3).events == []


BOOTED = Now(boot_seconds=7.0, utc=START)
"""Of a machine that has just booted."""


def went(*ages: float, pod: PodReference = WEB, now: Now = BOOTED) -> past.History:
    """Evictions so many seconds ago."""
    ends = tuple(
        End(boot_seconds=now.boot_seconds - age, time=now.utc - timedelta(seconds=age))
        for age in ages
    )
    return {"shop/web": Past(pod=pod, ends=ends)}


def ages(history: past.History, now: Now = BOOTED) -> list[float]:
    """The same of what is remembered."""
    return [now.boot_seconds - end.boot_seconds for end in past.lately(history, "shop/web", now)]


@given(st.lists(st.integers(1, 7200), unique=True, max_size=2 * TIMES_TOLD_MAX))
@example(list(range(1, 2 * TIMES_TOLD_MAX)))
def test_of_the_last_hour_the_newest_twenty_are_kept_over_a_reboot(told: list[int]) -> None:
    """By their age: the boot's own clock begins anew."""
    before = Now(boot_seconds=90_000.0, utc=START)
    history = went(*sorted(told, reverse=True), now=before) if told else {}
    found = past.recalled({}, [sent(one) for one in past.written(history, before)], BOOTED)
    kept = [age for age in sorted(told)[:TIMES_TOLD_MAX] if age < LATELY_SECONDS]
    assert ages(found) == kept[::-1]


def test_what_was_counted_since_the_start_comes_after_what_was_counted_before() -> None:
    """The same life once; another one is one more."""
    told = past.written(went(6, 5), BOOTED)
    again = PodReference(namespace="shop", name="web", uid=uid_of("web again"))
    assert ages(past.recalled(went(1), told, BOOTED)) == [6, 5]
    found = past.recalled(went(1, pod=again), told, BOOTED)
    assert (ages(found), found["shop/web"].pod) == ([6, 5, 1], again)


@given(st.floats(-90_000, 90_000))
def test_a_clock_that_jumped_while_nobody_decided_makes_no_pause_longer(jump: float) -> None:
    """Back or forth, hours or seconds: ten minutes and an hour at most, and nothing in the
    future."""
    before = Now(boot_seconds=1_000.0, utc=START)
    after = Now(boot_seconds=1_005.0, utc=START + timedelta(seconds=jump))
    failed = failures.not_gone(WEB, before, rest_seconds=60)
    (found,) = failures.recalled(map(sent, failures.written(failed, before)), after).values()
    assert found.until_boot_seconds <= after.boot_seconds + FAILED_SECONDS
    assert found.open_boot_seconds <= after.boot_seconds + 3_600
    told = past.written(went(100, now=before), before)
    remembered = past.recalled({}, told, after)
    assert all(age >= 0 for age in ages(remembered, after))
    assert all(end.time <= after.utc for one in remembered.values() for end in one.ends)


def test_what_a_decision_tells_again_after_a_restart_is_what_it_told_before() -> None:
    """To the instant, so that a replay decides the same."""
    stage = alone()
    goes(stage)
    healed(stage, 1)
    stage.observe("8Gi", after=0.123)
    before = stage.plan.decision
    stage.restart()
    stage.observe("8Gi", after=0.456)
    now = stage.plan.decision
    assert before is not None
    assert now is not None
    assert before.evictions
    assert before.passed_over
    assert (now.evictions, now.passed_over) == (before.evictions, before.passed_over)
