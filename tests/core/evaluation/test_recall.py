"""What a restart takes up from the evaluator's own Pressure, and what it leaves. [design, law 5]"""

from datetime import timedelta

import msgspec
import pytest
from tests.core.evaluation.node import GI, MEMORY, NODEFS, START, Node, line, only, statuses

from evictd.core.effects import Tick, WakeAt
from evictd.core.evaluation import Observed, Recalled, Watch
from evictd.core.observations import SILENT_SECONDS
from evictd.core.rules import HOST
from evictd.core.signals.thresholds import Amount, Part, Threshold
from evictd_schemas import Layout, NodeCondition, Observation, Pressure, SignalReading

SWAP, PSI = "swap.available", "psi.memory.full.avg10"


def restarted(node: Node, pressure: Pressure | None) -> None:
    """As after a new start of the process: nothing but the retained Pressure is left."""
    assert pressure is not None
    node.watch = Watch()
    travelled = msgspec.json.decode(msgspec.json.encode(pressure), type=Pressure)
    node.feed(Recalled(pressure=travelled))


def with_part(signal: str, gi: float = 1) -> Threshold:
    """A soft line of memory, crossed where another signal is low as well."""
    part = Part(signal=signal, value=Amount(quantity=int(gi * GI), text=f"{gi}Gi"))
    return Threshold(
        signal=MEMORY, value=Amount(quantity=GI, text="1Gi"), grace_seconds=60, all_of=(part,)
    )


def test_lines_that_differ_in_a_further_signal_keep_their_own_grace_over_a_restart() -> None:
    """They are two thresholds: the second is met for the first time. [kubelet-eviction 5]"""
    node = Node(with_part(SWAP), with_part(NODEFS), profile=HOST)
    node.observe(memory=0.5, swap=0.5, nodefs=5)
    restarted(node, node.observe(50, memory=0.5, swap=0.5, nodefs=5))
    pressure = node.observe(10, memory=0.5, swap=0.5, nodefs=0.5)
    assert [only(pressure, index).met for index in (0, 1)] == [True, True]
    assert [only(pressure, index).due for index in (0, 1)] == [True, False]


@pytest.mark.parametrize("other", [with_part(SWAP, 2), with_part(NODEFS), line(MEMORY, 1, 60)])
def test_a_line_whose_further_signals_are_configured_anew_starts_over(other: Threshold) -> None:
    """A threshold that is no longer configured is forgotten, and another is not it."""
    former = Node(with_part(SWAP), profile=HOST)
    pressure = former.observe(memory=0.5, swap=0.5, nodefs=0.5)
    node = Node(other, profile=HOST)
    restarted(node, pressure)
    assert node.watch.first_observed == {}


def test_a_composite_line_goes_on_with_its_grace_over_a_restart() -> None:
    any_of = (
        Part(signal=SWAP, value=Amount(quantity=GI), met_when_absent=True),
        Part(signal=PSI, value=Amount(quantity=80)),
    )
    threshold = Threshold(signal=MEMORY, value=Amount(quantity=GI), grace_seconds=60, any_of=any_of)
    node = Node(threshold, profile=HOST)
    restarted(node, node.observe(memory=0.5))
    assert only(node.observe(60, memory=0.5)).due


def test_readings_that_were_judged_before_a_restart_are_not_fresh_after_it() -> None:
    """The message carries all that is needed to go on, capacities too. [contract 3, Pressure]"""
    node = Node(line(MEMORY, 1))
    reading = SignalReading(available=GI // 2, capacity=8 * GI, time=START)
    before = node.observe(readings={MEMORY: reading})
    assert only(before).fresh
    restarted(node, before)
    assert node.watch.judged is not None
    assert node.watch.judged.signals == {MEMORY: reading}
    again = only(node.observe(readings={MEMORY: reading}))
    assert (again.due, again.fresh) == (True, False)


def test_a_line_without_a_reading_leaves_none_behind() -> None:
    """When its signal returns it is fresh, however old its time. [kubelet-eviction 4: 12]"""
    node = Node(line(MEMORY, 1), line(NODEFS, 1))
    restarted(node, node.observe(memory=4))
    assert node.watch.judged is not None
    assert set(node.watch.judged.signals) == {MEMORY}
    old = SignalReading(available=GI // 2, capacity=8 * GI, time=START - timedelta(days=1))
    assert only(node.observe(memory=4, readings={NODEFS: old}), 1).fresh


def test_the_slope_counts_from_what_was_judged_before_a_restart() -> None:
    """The nearer a line, the sooner the next look: 1 Gi in 10 s, 2 Gi away. [contract 3]"""
    node = Node(line(MEMORY, 1))
    restarted(node, node.observe(memory=4, interval=30))
    pressure = node.observe(10, memory=3, interval=30)
    assert pressure is not None
    assert pressure.next_observation_seconds == 10


def test_a_gap_is_told_across_a_restart() -> None:
    """The step counts from the observation judged last. [contract 3, Observation]"""
    node = Node(line(MEMORY, 1))
    restarted(node, node.observe(memory=0.5, interval=10))
    assert not only(node.observe(31, memory=0.5, interval=10)).due


def test_a_gap_is_measured_from_the_newest_observation_whichever_word_comes_first() -> None:
    """The broker hands out the retained observation and the Pressure in any order."""
    for listed_first in (True, False):
        node = Node(line(MEMORY, 1))
        before = node.observe(memory=0.5, interval=10)
        assert before is not None
        node.watch = Watch()
        if not listed_first:
            node.feed(Recalled(pressure=before))
        node.observe(20, listed=True, memory=0.5, interval=10)
        if listed_first:
            node.feed(Recalled(pressure=before))
        assert only(node.observe(20, memory=0.5, interval=10)).due


def test_an_observation_listed_before_the_judged_one_is_not_the_newest() -> None:
    """A broker may hand out an older one than was judged."""
    node = Node(line(MEMORY, 1))
    before = node.observe(40, memory=0.5, interval=10)
    assert before is not None
    node.watch = Watch()
    node.observe(-20, listed=True, memory=0.5, interval=10)
    node.feed(Recalled(pressure=before))
    assert node.watch.last is not None
    assert node.watch.last.uptime_seconds == 40


def test_a_pressure_that_does_not_tell_its_observation_leaves_the_listed_one() -> None:
    """Written by hand, or by an earlier edition."""
    node = Node(line(MEMORY, 1))
    before = node.observe(memory=0.5)
    assert before is not None
    node.watch = Watch()
    node.observe(listed=True, memory=0.5)
    node.feed(Recalled(pressure=msgspec.structs.replace(before, observed=None)))
    assert node.watch.judged is None
    assert node.watch.last is not None
    assert statuses(node.observe(memory=4))[0] == "True"


def test_minimum_reclaim_goes_on_over_a_restart() -> None:
    """It applies to what was due in the last pass. [kubelet-eviction 5]"""
    node = Node(line(MEMORY, 1, reclaim_gi=1), line(MEMORY, 1.2, 60, reclaim_gi=2))
    restarted(node, node.observe(memory=0.5))
    pressure = node.observe(memory=1.5)
    assert [only(pressure, index).met for index in (0, 1)] == [True, False]


@pytest.mark.parametrize("dedicated", [False, True])
def test_derived_lines_go_on_over_a_restart_in_either_layout(*, dedicated: bool) -> None:
    """[kubelet-eviction 3.4]"""
    layout = Layout(dedicated_image_fs=dedicated)
    node = Node(line(NODEFS, 1, 60), line("imagefs.available", 2, 60))
    amounts = {"nodefs": 0.5, "imagefs": 0.5, "containerfs": 0.5}
    node.observe(layout=layout, **amounts)
    before = node.observe(layout=layout, **amounts)
    assert only(before, 2).first_observed is not None
    restarted(node, before)
    assert only(node.observe(60, layout=layout, **amounts), 2).due


@pytest.mark.parametrize(("seconds", "told"), [(299, ["NodeHasSufficientMemory"]), (300, [])])
def test_a_condition_that_was_unknown_at_the_restart_is_over_once(
    seconds: float, told: list[str]
) -> None:
    """It was True to the end of its transition period, and its end is told by one of the two.

    [kubelet-eviction 4: 10]
    """
    node = Node(line(MEMORY, 1))
    node.observe(memory=0.5)
    node.observe(seconds, memory=4, interval=5)
    node.seconds += 30
    stale = node.feed(Tick())
    assert statuses(stale)[0] == "Unknown"
    restarted(node, stale)
    assert statuses(node.observe(memory=4))[0] == "False"
    assert node.events == told


def test_a_condition_of_another_kind_is_passed_over() -> None:
    """Somebody else has written it; ours that follow it are taken up."""
    node = Node(line(MEMORY, 1))
    before = node.observe(memory=0.5)
    assert before is not None
    foreign = NodeCondition(
        type="Mood",
        status="True",
        reason="Rain",
        message="",
        last_transition_time=START,
        last_observed=before.observed,
    )
    restarted(node, msgspec.structs.replace(before, conditions=(foreign, *before.conditions)))
    assert len(node.watch.conditions) == len(before.conditions)
    assert statuses(node.observe(memory=4))[0] == "True"
    assert node.events == []


def test_silence_counts_from_what_was_heard_and_not_from_a_later_word() -> None:
    """A listed observation came first: the Pressure after it makes the node no younger."""
    node = Node(line(MEMORY, 1))
    before = node.observe(memory=0.5)
    node.watch = Watch()
    heard = Observation(
        node="edge",
        time=START,
        boot_id=node.boot,
        uptime_seconds=node.seconds,
        signals={},
    )
    node.feed(Observed(observation=heard, listed=True))
    heard_seconds = node.seconds
    node.seconds += 5
    assert before is not None
    node.feed(Recalled(pressure=before))
    assert node.asked == (WakeAt(boot_seconds=heard_seconds + SILENT_SECONDS),)


def test_a_grace_that_is_over_stays_over_when_a_restart_follows_a_recheck() -> None:
    """The re-check changes no first-observed time, and the message carries it on.

    [kubelet-eviction 4: 17, 7] [contract 3, Pressure]
    """
    outcomes = []
    for restarts in (False, True):
        node = Node(line(NODEFS, 1, 60, reclaim_gi=1))
        node.observe(nodefs=0.5)
        node.observe(60, nodefs=0.5)
        node.reclaimed()
        checked = node.observe(2, nodefs=1.5)
        assert not only(checked).met
        if restarts:
            restarted(node, checked)
        status = only(node.observe(2, nodefs=1.5))
        outcomes.append((status.met, status.due))
    assert outcomes == [(True, True)] * 2
