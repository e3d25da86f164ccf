"""The evaluator's step, told as short stories of one node."""

import pytest
from tests.core.evaluation.node import GI, MEMORY, NODEFS, Node, line, only, statuses

from evictd.core.effects import Retract, Tick, WakeAt
from evictd.core.evaluation import Gone, Recalled, Watch
from evictd.core.rules import HOST
from evictd_schemas import Layout, SignalReading


def test_equal_to_the_line_is_not_met() -> None:
    node = Node(line(MEMORY, 1))
    assert not only(node.observe(memory=1)).met


def test_a_soft_threshold_raises_its_condition_at_once_and_is_due_exactly_at_its_grace() -> None:
    node = Node(line(MEMORY, 2, grace_seconds=60))
    first = node.observe(memory=1.5)
    assert statuses(first)[0] == "True"
    assert not only(first).due
    assert not only(node.observe(59.999, memory=1.5)).due
    due = only(node.observe(0.001, memory=1.5))
    assert (due.due, due.fresh) == (True, True)


def test_a_soft_threshold_that_recovers_starts_over() -> None:
    node = Node(line(MEMORY, 2, grace_seconds=60))
    node.observe(memory=1.5)
    node.observe(50, memory=3)
    assert not only(node.observe(20, memory=1.5)).due


def test_a_condition_is_gone_at_exactly_the_transition_period() -> None:
    node = Node(line(MEMORY, 1), transition=300)
    assert statuses(node.observe(memory=0.5))[0] == "True"
    assert statuses(node.observe(299.999, memory=2))[0] == "True"
    assert statuses(node.observe(0.001, memory=2))[0] == "False"
    assert node.events == ["NodeHasSufficientMemory"]


def test_minimum_reclaim_counts_only_for_what_was_due_in_the_last_pass() -> None:
    node = Node(line(MEMORY, 1, reclaim_gi=1))
    assert not only(node.observe(memory=1.5)).met
    assert only(node.observe(memory=0.5)).met
    held = only(node.observe(memory=1.5))
    assert (held.met, held.due, held.met_with_minimum_reclaim) == (True, True, True)
    assert not only(node.observe(memory=2)).met
    assert not only(node.observe(memory=1.5)).met


def test_all_three_conditions_are_always_there_and_unknown_without_a_reading() -> None:
    node = Node()
    pressure = node.observe(memory=1)
    assert pressure is not None
    assert [condition.type for condition in pressure.conditions] == [
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
    ]
    assert statuses(pressure) == ["False", "Unknown", "Unknown"]
    assert pressure.conditions[2].reason == "NoObservation"


def test_a_condition_says_what_is_below_what() -> None:
    node = Node(line(MEMORY, 1))
    pressure = node.observe(memory=0.375)
    assert pressure is not None
    condition = pressure.conditions[0]
    assert condition.reason == "NodeHasInsufficientMemory"
    assert condition.message == "memory.available is 384Mi, below the hard threshold 1Gi"


def test_the_last_transition_is_kept_while_the_status_stays() -> None:
    node = Node(line(MEMORY, 1))
    first = node.observe(memory=0.5)
    second = node.observe(memory=0.5)
    assert first is not None
    assert second is not None
    assert second.conditions[0].last_transition_time == first.time
    assert second.conditions[0].last_observed != first.conditions[0].last_observed


def test_a_listed_observation_decides_nothing() -> None:
    node = Node(line(MEMORY, 1))
    assert node.observe(listed=True, memory=0.5) is None
    assert node.events == []
    assert node.observe(memory=0.5) is not None


def test_an_older_or_equal_observation_is_ignored() -> None:
    node = Node(line(MEMORY, 1))
    node.observe(memory=0.5)
    watch = node.watch
    assert node.observe(after=0, memory=2) is None
    assert node.observe(after=-5, memory=2) is None
    assert node.watch == watch


def test_a_new_boot_starts_first_observed_times_again() -> None:
    node = Node(line(MEMORY, 2, grace_seconds=60))
    node.observe(memory=1)
    node.boot = "another boot"
    status = only(node.observe(100, memory=1))
    assert not status.due
    assert status.first_observed is not None
    assert status.first_observed.boot_id == "another boot"


def test_after_a_gap_graces_start_again_and_one_pass_only_observes() -> None:
    node = Node(line(MEMORY, 1), line(MEMORY, 2, grace_seconds=60))
    node.observe(memory=0.5, interval=10)
    for _ in range(6):
        pressure = node.observe(memory=0.5, interval=10)
    assert [status.due for status in pressure.thresholds] == [True, True]
    slept = node.observe(31, memory=0.5, interval=10)
    assert slept is not None
    assert [(status.due, status.fresh) for status in slept.thresholds] == [(False, False)] * 2
    assert slept.next_observation_seconds == 0.25
    awake = node.observe(0.25, memory=0.5, interval=10)
    assert awake is not None
    assert [status.due for status in awake.thresholds] == [True, False]


def test_gaps_that_follow_each_other_do_not_keep_a_hard_line_from_being_due() -> None:
    """One pass at most only observes; soft graces start again each time. [contract 3]"""
    stall = line("psi.memory.full.avg10", 40 / GI)
    node = Node(line(MEMORY, 1), line(MEMORY, 2, grace_seconds=40), stall)
    node.observe(memory=0.5, interval=10)
    readings = {stall.signal: SignalReading(available=10, capacity=100)}
    passes = [node.observe(50, memory=0.5, interval=10, readings=readings) for _ in range(4)]
    told = [
        [(status.due, status.fresh) for status in pressure.thresholds]
        for pressure in passes
        if pressure is not None
    ]
    only_observed = [(False, False)] * 3
    acted = [(True, True), (False, False), (True, False)]
    assert told == [only_observed, acted, only_observed, acted]


@pytest.mark.parametrize(
    ("interval", "step", "is_gap"),
    [(10, 30, False), (10, 30.5, True), (1, 15, False), (1, 15.5, True)],
)
def test_a_gap_is_a_step_above_three_intervals_and_above_15_seconds(
    interval: float, step: float, is_gap: bool
) -> None:
    node = Node(line(MEMORY, 1))
    node.observe(memory=0.5, interval=interval)
    assert only(node.observe(step, memory=0.5, interval=interval)).due is not is_gap


def test_without_an_interval_there_is_no_gap() -> None:
    node = Node(line(MEMORY, 2, grace_seconds=60))
    node.observe(memory=0.5)
    assert only(node.observe(1000, memory=0.5)).due


def test_derived_thresholds_count_from_the_second_pass() -> None:
    node = Node(line(NODEFS, 1))
    single = Layout()
    first = node.observe(nodefs=2, containerfs=0.5, layout=single)
    assert first is not None
    assert [status.signal for status in first.thresholds] == [NODEFS, "containerfs.available"]
    assert not only(first, 1).met
    assert only(node.observe(nodefs=2, containerfs=0.5, layout=single), 1).met


def test_a_layout_that_cannot_be_told_ends_the_pass_without_any_change() -> None:
    node = Node(line(NODEFS, 1))
    broken = Layout(error="no such device")
    assert node.observe(nodefs=0.5, layout=broken) is None
    assert node.watch.pressure is None
    assert node.observe(nodefs=0.5, layout=Layout()) is not None
    assert node.observe(nodefs=0.5, layout=broken) is not None


def test_a_split_layout_without_its_gate_ends_one_pass_and_derives_nothing() -> None:
    split = Layout(dedicated_image_fs=True, dedicated_container_fs=True)
    node = Node(line(NODEFS, 1), separate_disk_gc=False)
    assert node.observe(nodefs=0.5, layout=split) is None
    second = node.observe(nodefs=0.5, layout=split)
    assert second is not None
    assert [status.signal for status in second.thresholds] == [NODEFS]
    assert statuses(second)[1] == "True"


def test_the_recheck_after_a_reclaim_changes_no_state_in_the_kubelet_profile() -> None:
    node = Node(line(NODEFS, 1, reclaim_gi=1))
    before = node.observe(nodefs=0.5)
    node.reclaimed()
    checked = node.observe(2, nodefs=1.5)
    assert before is not None
    assert checked is not None
    assert (only(checked).met, only(checked).met_with_minimum_reclaim) == (False, True)
    assert checked.conditions[1].last_observed == before.conditions[1].last_observed
    assert node.watch.unresolved
    assert only(node.observe(2, nodefs=1.5)).met


def test_the_recheck_of_the_host_profile_is_a_pass_of_its_own() -> None:
    node = Node(line(NODEFS, 1, reclaim_gi=1), profile=HOST)
    before = node.observe(nodefs=0.5)
    node.reclaimed()
    after = node.observe(2, nodefs=1.5)
    assert before is not None
    assert after is not None
    assert only(after).met
    assert after.conditions[1].last_observed != before.conditions[1].last_observed


@pytest.mark.parametrize("state", ["Running", "Failed", "Refused"])
def test_only_a_finished_reclaim_asks_for_a_recheck(state: str) -> None:
    node = Node(line(NODEFS, 1))
    node.observe(nodefs=0.5)
    node.reclaimed(state)
    assert node.watch.reclaimed is None


def test_a_reclaim_that_ended_before_the_last_pass_asks_for_no_recheck() -> None:
    node = Node(line(NODEFS, 1))
    node.observe(nodefs=0.5)
    node.seconds -= 5
    node.reclaimed()
    assert node.watch.reclaimed is None


def test_the_nearer_a_line_the_sooner_the_next_look() -> None:
    node = Node(line(MEMORY, 1))
    looks = [
        pressure.next_observation_seconds
        for gi in (4, 4, 3, 2, 1.05, 0.5)
        if (pressure := node.observe(memory=gi, interval=10)) is not None
    ]
    assert looks == [10, 10, 10, 5, pytest.approx(0.263, abs=0.001), 0.25]


def test_without_an_interval_nothing_is_wished_unless_a_line_is_near() -> None:
    node = Node(line(MEMORY, 1))
    quiet = node.observe(memory=4)
    assert quiet is not None
    assert quiet.next_observation_seconds is None


def test_a_tick_before_its_time_only_waits_on() -> None:
    node = Node(line(MEMORY, 1))
    node.observe(memory=0.5, interval=10)
    node.seconds += 29.9
    assert node.feed(Tick()) is None
    assert node.asked == (WakeAt(boot_seconds=40.0),)
    node.seconds += 0.1
    assert node.feed(Tick()) is not None


def test_a_cleared_observation_takes_the_pressure_with_it() -> None:
    node = Node(line(MEMORY, 1))
    node.observe(memory=0.5)
    node.feed(Gone())
    assert node.watch == Watch()
    assert [type(effect) for effect in node.asked] == [Retract]


def test_a_restored_pressure_of_other_thresholds_is_forgotten() -> None:
    former = Node(line(MEMORY, 2, grace_seconds=60))
    pressure = former.observe(memory=1)
    node = Node(line(MEMORY, 3, grace_seconds=60))
    assert pressure is not None
    node.feed(Recalled(pressure=pressure))
    assert node.watch.first_observed == {}
    assert node.watch.conditions
