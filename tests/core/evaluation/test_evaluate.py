"""The evaluator's step, told as short stories of one node."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.effects import Asked, Emit, Publish, Retract, Tick, WakeAt
from evictd.core.evaluation import Gone, Observed, Reclaimed, Restored, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.rules import HOST, KUBELET, Profile, Rules
from evictd.core.signals.thresholds import Amount, Largest, Part, Share, Threshold
from evictd_schemas import (
    Layout,
    Moment,
    Observation,
    OrderStatus,
    Pressure,
    SignalReading,
    StepOutcome,
    ThresholdStatus,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
GI = 2**30
MEMORY = "memory.available"
NODEFS = "nodefs.available"


def line(
    signal: str, gi: float, grace_seconds: float = 0, reclaim_gi: float | None = None
) -> Threshold:
    return Threshold(
        signal=signal,
        value=Amount(quantity=int(gi * GI), text=f"{gi}Gi"),
        grace_seconds=grace_seconds,
        minimum_reclaim=None if reclaim_gi is None else Amount(quantity=int(reclaim_gi * GI)),
    )


class Node:
    """One node, its rules, and what was published last."""

    def __init__(
        self,
        *thresholds: Threshold,
        profile: Profile = KUBELET,
        transition: float = 300,
        **rules: Any,
    ) -> None:
        self.rules = Rules(
            node="edge",
            profile=profile,
            thresholds=thresholds,
            transition_seconds=transition,
            **rules,
        )
        self.watch = Watch()
        self.asked: Asked = ()
        self.seconds = 0.0
        self.boot = "boot"

    def observe(
        self,
        after: float = 10,
        *,
        listed: bool = False,
        layout: Layout | None = None,
        interval: float | None = None,
        readings: dict[str, SignalReading] | None = None,
        **gi: float,
    ) -> Pressure | None:
        self.seconds += after
        signals = {
            f"{name}.available": SignalReading(available=int(amount * GI), capacity=8 * GI)
            for name, amount in gi.items()
        }
        observation = Observation(
            node="edge",
            time=START + timedelta(seconds=self.seconds),
            boot_id=self.boot,
            uptime_seconds=self.seconds,
            interval_seconds=interval,
            layout=layout,
            signals=signals | (readings or {}),
        )
        return self.feed(Observed(observation=observation, listed=listed))

    def feed(self, given: Any) -> Pressure | None:
        self.watch, self.asked = evaluate(self.rules, self.watch, given, self.now)
        published = [effect.message for effect in self.asked if isinstance(effect, Publish)]
        return published[0] if published and isinstance(published[0], Pressure) else None

    def reclaimed(self, state: str = "Finished") -> None:
        moment = Moment(
            time=START + timedelta(seconds=self.seconds),
            boot_id=self.boot,
            uptime_seconds=self.seconds,
        )
        self.feed(
            Reclaimed(
                status=OrderStatus(
                    order_uid="u", state=state, steps=(StepOutcome(step="images"),), finished=moment
                )
            )
        )

    @property
    def now(self) -> Now:
        return Now(boot_seconds=self.seconds, utc=START + timedelta(seconds=self.seconds))

    @property
    def events(self) -> list[str]:
        return [effect.event.data["reason"] for effect in self.asked if isinstance(effect, Emit)]


def statuses(pressure: Pressure | None) -> list[str]:
    assert pressure is not None
    return [condition.status for condition in pressure.conditions]


def only(pressure: Pressure | None, index: int = 0) -> ThresholdStatus:
    assert pressure is not None
    return pressure.thresholds[index]


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


def test_the_host_profile_reads_its_view_of_memory() -> None:
    reading = SignalReading(available=GI // 2, capacity=8 * GI, views={"mem_available": 2 * GI})
    for profile, met in ((KUBELET, True), (HOST, False)):
        node = Node(line(MEMORY, 1), profile=profile)
        assert only(node.observe(readings={MEMORY: reading})).met is met


def stall(available: float) -> dict[str, SignalReading]:
    return {"psi.memory.full.avg10": SignalReading(available=available, capacity=100)}


COMPOSITE = Threshold(
    signal=MEMORY,
    value=Largest(of=(Share(fraction=0.05), Amount(quantity=GI))),
    any_of=(
        Part(signal="swap.available", value=Amount(quantity=GI), met_when_absent=True),
        Part(signal="psi.memory.full.avg10", value=Amount(quantity=80)),
    ),
)


def test_a_composite_threshold_needs_one_of_its_further_signals() -> None:
    node = Node(COMPOSITE, profile=HOST)
    assert only(node.observe(memory=0.5)).met
    assert not only(node.observe(memory=0.5, swap=2)).met
    half = only(node.observe(memory=0.5, swap=2, readings=stall(70.5)))
    assert half.met
    assert half.any_of is not None
    assert [(term.available, term.met) for term in half.any_of] == [(2 * GI, False), (70.5, True)]
    assert not only(node.observe(memory=2, readings=stall(10))).met


def test_a_hard_threshold_may_have_to_be_sustained() -> None:
    sustained = Threshold(
        signal="psi.memory.full.avg10", value=Amount(quantity=60), sustained_seconds=10
    )
    node = Node(sustained, profile=HOST)
    first = node.observe(readings=stall(50))
    assert (only(first).due, only(first).grace_period_seconds) == (False, 0)
    assert statuses(first)[0] == "True"
    assert only(node.observe(10, readings=stall(50))).due


def test_psi_io_raises_no_condition() -> None:
    node = Node(Threshold(signal="psi.io.full.avg10", value=Amount(quantity=60)), profile=HOST)
    reading = SignalReading(available=10, capacity=100)
    pressure = node.observe(readings={"psi.io.full.avg10": reading})
    assert only(pressure).met
    assert statuses(pressure) == ["Unknown", "Unknown", "Unknown"]


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
    node.feed(Restored(pressure=pressure))
    assert node.watch.first_observed == {}
    assert node.watch.conditions


LOOKS = st.lists(
    st.tuples(st.sampled_from([0.5, 1, 1.5, 2, 2.5, 5]), st.sampled_from([0.25, 10, 30, 61, 400])),
    min_size=1,
    max_size=12,
)
LINES: Sequence[Threshold] = (line(MEMORY, 1, reclaim_gi=0.7), line(MEMORY, 2, grace_seconds=60))


def _shown(pressure: Pressure | None) -> Any:
    assert pressure is not None
    return msgspec.structs.replace(pressure, time=START)


@given(LOOKS, st.data())
def test_a_restart_between_any_two_passes_changes_nothing(
    looks: list[tuple[float, float]], data: st.DataObject
) -> None:
    """The Pressure carries all that is needed to go on, gaps and minimum reclaim included."""
    interval = data.draw(st.sampled_from([None, 10.0]))
    at = data.draw(st.integers(0, len(looks) - 1))
    steady, restarted = Node(*LINES), Node(*LINES)
    for index, (gi, after) in enumerate(looks):
        one = steady.observe(after, memory=gi, interval=interval)
        other = restarted.observe(after, memory=gi, interval=interval)
        assert _shown(one) == _shown(other)
        assert steady.events == restarted.events
        if index == at and other is not None:
            travelled = msgspec.json.decode(msgspec.json.encode(other), type=Pressure)
            restarted.watch = Watch()
            restarted.feed(Restored(pressure=travelled))


@given(LOOKS)
def test_due_is_met_and_fresh_is_due(looks: list[tuple[float, float]]) -> None:
    node = Node(*LINES)
    for gi, after in looks:
        pressure = node.observe(after, memory=gi)
        assert pressure is not None
        for status in pressure.thresholds:
            assert status.met or not status.due
            assert status.due or not status.fresh
            assert (status.first_observed is not None) is status.met
        raised = any(status.met for status in pressure.thresholds)
        assert not raised or statuses(pressure)[0] == "True"


@given(LOOKS)
def test_events_alternate(looks: list[tuple[float, float]]) -> None:
    """Insufficient, sufficient, insufficient, and never the same twice."""
    node = Node(*LINES)
    told: list[str] = []
    for gi, after in looks:
        node.observe(after, memory=gi)
        told += node.events
    names = ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"]
    assert told == [names[index % 2] for index in range(len(told))]
