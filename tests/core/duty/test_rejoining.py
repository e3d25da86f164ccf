"""Restarting one that has lost its network: whoever is stopped for it is started again."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given as examples
from hypothesis import strategies as st
from msgspec import structs

from evictd.core.duty import (
    Assigned,
    Duty,
    Effect,
    Given,
    Listed,
    Phase,
    Rejoin,
    Start,
    StartEnded,
    StartOutcome,
    StartResult,
    StopEnded,
    StopOutcome,
    StopResult,
    respond,
)
from evictd.core.duty.rejoining import TRIES_MAX
from evictd.core.effects import Stop, Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.rules import Mode, Rules
from evictd_schemas import Pod, PodReference

ACT = Rules(node="edge-7", mode=Mode.ACT)
TORRENT = Pod(
    namespace="home",
    name="torrent",
    uid="life-1",
    runtime_id="3fa9",
    termination_grace_period_seconds=30,
)
LIFE = PodReference(namespace="home", name="torrent", uid="life-1")
STOP = Stop(pod=LIFE, grace_seconds=30)
START = Start(pod=LIFE, runtime_id="3fa9")


class Restart:
    """One duty of that kind, fed step by step."""

    def __init__(self) -> None:
        self.duty = Duty()
        self.seconds = 1000.0

    def __call__(self, given: Given | Tick, after: float = 0.0) -> tuple[Effect, ...]:
        self.seconds += after
        utc = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)
        now = Now(boot_seconds=self.seconds, utc=utc)
        self.duty, effects = respond(ACT, self.duty, given, now)
        return effects


def stopped(result: StopResult = StopResult.GONE) -> StopEnded:
    return StopEnded(uid="life-1", outcome=StopOutcome(result=result, why="x"))


def started(result: StartResult = StartResult.STARTED) -> StartEnded:
    return StartEnded(uid="life-1", outcome=StartOutcome(result=result, why="x"))


def test_it_is_stopped_with_its_own_grace_and_started_again() -> None:
    restart = Restart()
    assert restart(Rejoin(pod=TORRENT)) == (STOP,)
    assert restart(stopped()) == (START,)
    assert restart(started()) == ()
    assert restart.duty == Duty()


@pytest.mark.parametrize(
    "result", [result for result in StopResult if StopOutcome(result=result).ended]
)
def test_what_has_gone_meanwhile_is_started_whoever_ended_it(result: StopResult) -> None:
    """After a crash in the middle of the stop nothing else is left to see."""
    restart = Restart()
    restart(Rejoin(pod=TORRENT))
    assert restart(stopped(result)) == (START,)


@pytest.mark.parametrize("result", [StopResult.FAILED, StopResult.REFUSED])
def test_a_stop_that_failed_may_still_come_true(result: StopResult) -> None:
    """So it is started after a pause, which does nothing where it still runs."""
    restart = Restart()
    restart(Rejoin(pod=TORRENT))
    assert restart(stopped(result)) == (WakeAt(boot_seconds=1060.0),)
    assert restart(Tick(), 59) == (WakeAt(boot_seconds=1060.0),)
    assert restart(Tick(), 1) == (START,)
    assert restart(started(StartResult.RUNNING)) == ()
    assert restart.duty == Duty()


def test_a_start_that_fails_is_tried_again_after_a_pause_that_doubles_for_a_day() -> None:
    restart = Restart()
    restart(Rejoin(pod=TORRENT))
    restart(stopped())
    began, pauses = restart.seconds, []
    for _ in range(TRIES_MAX):
        (wake,) = restart(started(StartResult.FAILED))
        assert isinstance(wake, WakeAt)
        pauses.append(wake.boot_seconds - restart.seconds)
        assert restart(Tick(), pauses[-1]) == (START,)
    assert pauses[:4] == [60, 120, 240, 480]
    assert 20 * 3600 < restart.seconds - began < 28 * 3600
    assert restart(started(StartResult.FAILED)) == ()
    assert restart.duty == Duty(), "it is left to its owner"


def test_what_was_removed_is_left_alone() -> None:
    restart = Restart()
    restart(Rejoin(pod=TORRENT))
    restart(stopped())
    assert restart(started(StartResult.NOT_FOUND)) == ()
    assert restart.duty == Duty()


@pytest.mark.parametrize("booted_seconds", [3700.0, 50 * 86_400.0])
def test_a_pause_of_another_boot_is_over(booted_seconds: float) -> None:
    """The boot clock has begun anew, so that its end lies further ahead than any pause is long."""
    restart = Restart()
    restart.seconds = booted_seconds
    restart(Rejoin(pod=TORRENT))
    restart(stopped(StopResult.FAILED))
    restart.seconds = 60.0
    assert restart(Tick()) == (START,)


def test_the_rest_of_the_grace_is_asked_for_and_another_life_begins_anew() -> None:
    restart = Restart()
    restart(Rejoin(pod=TORRENT))
    assert restart(Tick(), 10) == (structs.replace(STOP, grace_seconds=20),)
    other = structs.replace(TORRENT, uid="life-2")
    (stop,) = restart(Rejoin(pod=other))
    assert isinstance(stop, Stop)
    assert (stop.pod.uid, stop.grace_seconds) == ("life-2", 30)


givens = st.one_of(
    st.sampled_from([Tick(), Assigned(eviction=None), Rejoin(pod=TORRENT)]),
    st.sampled_from([Listed(uid="life-1", pod=None), Listed(uid="life-1", pod=TORRENT)]),
    st.sampled_from(list(StopResult)).map(stopped),
    st.sampled_from(list(StartResult)).map(started),
)


@examples(st.lists(st.tuples(givens, st.sampled_from([0, 1, 60, 4000]))))
def test_whatever_comes_it_is_not_forgotten_before_it_runs_or_is_no_more(
    story: list[tuple[Given | Tick, float]],
) -> None:
    """The list of the bus does not know it; and the journal brings back what it was."""
    restart = Restart()
    restart(Rejoin(pod=TORRENT))
    for given, after in story:
        before = restart.duty
        effects = restart(given, after)
        if before != Duty() and restart.duty == Duty():
            assert isinstance(given, StartEnded)
            assert given.outcome.runs or given.outcome.result is StartResult.NOT_FOUND
        if restart.duty != Duty():
            assert len(effects) == 1
            phase = {Stop: Phase.STOPPING, Start: Phase.STARTING, WakeAt: Phase.PAUSING}
            assert restart.duty.phase is phase[type(effects[0])]
        text = msgspec.json.encode(restart.duty)
        assert msgspec.json.decode(text, type=Duty) == restart.duty
