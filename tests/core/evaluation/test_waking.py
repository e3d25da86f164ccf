"""When the evaluator looks up without a message, and which word of a reclaim it heeds."""

from datetime import timedelta

import pytest
from tests.core.evaluation.node import GI, MEMORY, NODEFS, START, Node, line, only, statuses

from evictd.core.effects import Publish, Tick, WakeAt
from evictd.core.evaluation import Observed, Reclaimed
from evictd.core.evaluation.step import silent
from evictd.core.evaluation.timing import last_observed, updated
from evictd.core.observations import SILENT_SECONDS
from evictd.core.rules import HOST
from evictd_schemas import Moment, Observation, OrderStatus, SignalReading, StepOutcome

HOURS = 3600.0


def woken(node: Node, after: float) -> float:
    """When it wants to look up next, after a look so much later."""
    node.seconds += after
    node.feed(Tick())
    (wake,) = (effect for effect in node.asked if isinstance(effect, WakeAt))
    return wake.boot_seconds


def handed(seconds: float, *, memory: float = 0.5, uptime: bool = True) -> Observed:
    """An observation at a second of the clock, with the boot's own time or without."""
    return Observed(
        observation=Observation(
            node="edge",
            time=START + timedelta(seconds=seconds),
            sequence=int(10 * seconds),
            boot_id="boot" if uptime else None,
            uptime_seconds=seconds if uptime else None,
            signals={MEMORY: SignalReading(available=int(memory * GI), capacity=8 * GI)},
        )
    )


def ended(finished: Moment | None, *, steps: bool = True) -> Reclaimed:
    return Reclaimed(
        status=OrderStatus(
            order_uid="u",
            state="Finished",
            steps=(StepOutcome(step="images"),) if steps else (),
            finished=finished,
        )
    )


def test_an_observation_without_an_interval_never_ages_and_its_silence_is_noticed() -> None:
    """[contract 3, Observation; contract 2]"""
    node = Node(line(MEMORY, 1))
    node.observe(10, memory=4)
    assert woken(node, 10 * HOURS) == 10 + SILENT_SECONDS
    assert not any(isinstance(effect, Publish) for effect in node.asked)


def test_silence_that_was_noticed_is_looked_at_again_a_day_later() -> None:
    """The own node is not forgotten, and nobody looks up without end."""
    node = Node(line(MEMORY, 1))
    node.observe(10, memory=4)
    assert woken(node, SILENT_SECONDS) == node.seconds + SILENT_SECONDS


def test_after_staleness_only_silence_is_left_to_be_noticed() -> None:
    node = Node(line(MEMORY, 1))
    node.observe(10, memory=4, interval=10)
    assert woken(node, 30) == 10 + SILENT_SECONDS
    assert statuses(node.watch.pressure) == ["Unknown"] * 3
    assert woken(node, 30) == 10 + SILENT_SECONDS
    assert not any(isinstance(effect, Publish) for effect in node.asked)


def test_silence_counts_from_the_first_second_of_a_boot_as_from_any() -> None:
    node = Node(line(MEMORY, 1))
    node.observe(0, memory=4)
    assert woken(node, 5) == SILENT_SECONDS


def test_a_reclaim_that_does_not_tell_its_end_asks_for_no_recheck() -> None:
    """What was taken after it cannot be told. [contract 3, Order]"""
    node = Node(line(NODEFS, 1))
    node.observe(nodefs=0.5)
    node.feed(ended(None))
    assert node.watch.reclaimed is None


def test_a_reclaim_without_steps_asks_for_no_recheck() -> None:
    """Nothing was done. [kubelet-eviction 7]"""
    node = Node(line(NODEFS, 1))
    pressure = node.observe(nodefs=0.5)
    assert pressure is not None
    node.feed(ended(pressure.observed, steps=False))
    assert node.watch.reclaimed is None


def test_before_the_first_pass_there_is_none_to_check_again() -> None:
    node = Node(line(NODEFS, 1))
    node.observe(nodefs=0.5, listed=True)
    node.reclaimed()
    assert node.watch.reclaimed is None


def test_a_recheck_needs_an_observation_from_the_end_of_the_reclaim_on() -> None:
    """Taken after it, or at the same moment. [kubelet-eviction 7]"""
    node = Node(line(MEMORY, 1, reclaim_gi=1))
    node.feed(handed(10))
    node.feed(ended(Moment(time=START, boot_id="boot", uptime_seconds=20)))
    node.feed(handed(19))
    assert node.watch.reclaimed is not None
    node.feed(handed(20))
    assert node.watch.reclaimed is None


def test_without_the_boots_own_time_the_clock_tells_what_was_taken_after_a_reclaim() -> None:
    """[contract 3, Observation: time between two observations]"""
    node = Node(line(MEMORY, 1, reclaim_gi=1))
    node.feed(handed(10, uptime=False))
    node.feed(ended(Moment(time=START + timedelta(seconds=20))))
    node.feed(handed(19, uptime=False))
    assert node.watch.reclaimed is not None
    node.feed(handed(20, memory=1.5, uptime=False))
    assert node.watch.reclaimed is None
    assert not only(node.watch.pressure).met


def test_the_host_profile_heeds_no_reclaim() -> None:
    """Each pass of it is one of its own. [design, two profiles]"""
    node = Node(line(NODEFS, 1), profile=HOST)
    node.observe(nodefs=0.5)
    node.reclaimed()
    assert node.watch.reclaimed is None


@pytest.mark.parametrize(
    ("last_boot", "last_seconds", "kept"),
    [
        ("one", 90, True),
        ("one", 100, True),
        ("one", 110, False),
        ("two", 110, True),
        (None, 110, True),
    ],
)
def test_only_a_time_to_come_of_an_earlier_boot_is_taken_for_now(
    last_boot: str | None, last_seconds: float, *, kept: bool
) -> None:
    """A clock set back within one boot counts as no time at all. [contract 3, Observation]"""
    last = Moment(time=START + timedelta(seconds=last_seconds), boot_id=last_boot)
    now = Moment(time=START + timedelta(seconds=100), boot_id="two")
    assert last_observed((), {"MemoryPressure": last}, now) == {
        "MemoryPressure": last if kept else now
    }


def test_after_a_gap_a_soft_line_is_not_held_by_its_minimum_reclaim_and_a_hard_one_is() -> None:
    """Soft graces start again, so that nothing of them is unresolved. [contract 3, Observation]"""
    node = Node(line(MEMORY, 1, 0, reclaim_gi=2), line(MEMORY, 2, 5, reclaim_gi=2))
    node.observe(memory=0.5, interval=10)
    before = node.observe(10, memory=0.5, interval=10)
    assert [only(before, index).due for index in (0, 1)] == [True, True]
    after = node.observe(31, memory=2.5, interval=10)
    assert [only(after, index).met for index in (0, 1)] == [True, False]


def test_a_signal_that_is_not_observed_is_not_updated() -> None:
    """Fresh are thresholds that have an observation now. [kubelet-eviction 4: 12]"""
    last = SignalReading(available=1, capacity=2, time=START)
    assert not updated(None, None)
    assert not updated(None, last)
    assert updated(last, None)


@pytest.mark.parametrize("grace", [0.5, 1])
def test_after_a_gap_even_the_shortest_grace_starts_again(grace: float) -> None:
    """[contract 3, Observation]"""
    node = Node(line(MEMORY, 1, grace))
    node.observe(memory=0.5, interval=10)
    assert only(node.observe(10, memory=0.5, interval=10)).due
    after = node.observe(31, memory=0.5, interval=10)
    assert after is not None
    assert only(after).first_observed == after.observed


def test_a_node_is_silent_a_day_after_it_was_heard_and_not_before() -> None:
    """One that was never heard has not fallen silent. [contract 2]"""
    node = Node(line(MEMORY, 1))
    assert not silent(node.watch, node.now)
    node.observe(100, memory=4)
    node.seconds += SILENT_SECONDS - 1
    assert not silent(node.watch, node.now)
    node.seconds += 1
    assert silent(node.watch, node.now)
