"""When to look again, who was killed, what fits a message: the collector's pure functions."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.collector import composition, faults, kernel_kills, rhythm
from evictd.collector.kernel_kills import Kill, Tally
from evictd.collector.rhythm import Rhythm
from evictd.collector.sources.workloads import Measured
from evictd.core.moments import Now
from evictd_schemas import (
    MemoryStatistics,
    Observation,
    Pod,
    PodStatistics,
    Pressure,
    SignalReading,
)

TIME = datetime(2026, 1, 1, tzinfo=UTC)
TEN = Rhythm(interval_seconds=10, minimum_seconds=0.1)


def pressure(wish: float | None) -> Pressure:
    return Pressure(
        node="edge",
        time=TIME,
        sequence=1,
        conditions=(),
        thresholds=(),
        next_observation_seconds=wish,
    )


def pod(name: str, uses: int = 0, uid: str | None = None, runtime: str = "said") -> Pod:
    return Pod(
        namespace="shop",
        name=name,
        uid=uid or f"uid-of-{name}",
        runtime=runtime,
        stats=PodStatistics(memory=MemoryStatistics(working_set_bytes=uses)),
    )


def test_looks_come_at_the_interval() -> None:
    assert rhythm.after_look_seconds(None, TEN) == 10
    assert rhythm.after_look_seconds(10.2, TEN) == 10


@pytest.mark.parametrize(
    ("interval", "elapsed", "gap"), [(10, 30, False), (10, 30.1, True), (1, 15, False)]
)
def test_a_gap_is_a_step_above_fifteen_seconds_and_three_intervals(
    interval: float, elapsed: float, gap: bool
) -> None:
    assert rhythm.is_gap(elapsed, Rhythm(interval_seconds=interval)) is gap


def test_after_a_gap_the_next_look_comes_within_a_quarter_of_a_second() -> None:
    assert rhythm.after_look_seconds(3600, TEN) == 0.25


def test_the_evaluator_s_wish_is_obeyed_down_to_the_shortest_period() -> None:
    assert rhythm.after_pressure_seconds(pressure(0.5), TEN) == 0.5
    assert rhythm.after_pressure_seconds(pressure(0.001), TEN) == 0.1
    assert rhythm.after_pressure_seconds(pressure(60), TEN) == 10
    assert rhythm.after_pressure_seconds(pressure(None), TEN) == 10


@given(st.none() | st.floats(min_value=0, max_value=1e6))
def test_no_wish_leaves_the_bounds(wish: float | None) -> None:
    """Whatever is asked, between the shortest period and the interval."""
    assert 0.1 <= rhythm.after_pressure_seconds(pressure(wish), TEN) <= 10


def memory(available_mib: int, **views: int) -> SignalReading:
    """Of 1 GiB."""
    shown = views or {"working_set": available_mib}
    return SignalReading(
        available=available_mib << 20,
        capacity=1 << 30,
        views={name: view << 20 for name, view in shown.items()},
    )


@pytest.mark.parametrize(("mebibytes", "expected"), [(500, 0.1), (10 << 10, 0.5), (1 << 20, 1)])
def test_the_less_memory_the_more_often_it_is_glanced_at(mebibytes: int, expected: float) -> None:
    assert rhythm.glance_seconds(memory(mebibytes)) == expected
    assert rhythm.glance_seconds(None) == 1


def test_a_tenth_less_memory_is_worth_a_look() -> None:
    assert rhythm.has_fallen(memory(500), memory(450))
    assert not rhythm.has_fallen(memory(500), memory(451))
    assert not rhythm.has_fallen(memory(500), memory(900))


def test_noise_of_a_full_machine_is_not_worth_a_look() -> None:
    """4 MiB of 1 GiB at least."""
    assert not rhythm.has_fallen(memory(10), memory(7))
    assert rhythm.has_fallen(memory(10), memory(6))


def test_a_fall_in_either_view_counts() -> None:
    looked = memory(500, working_set=500, mem_available=800)
    assert rhythm.has_fallen(looked, memory(500, working_set=500, mem_available=700))
    assert not rhythm.has_fallen(looked, memory(100, another=1))


def measured(name: str, count: int | None) -> Measured:
    return Measured(pod=pod(name), kill_count=count)


def test_the_first_look_only_takes_the_counts() -> None:
    tally, kill = kernel_kills.compare(Tally(), 5, [measured("web", 2)])
    assert (tally.machine, kill) == (5, None)


def test_the_victim_is_the_workload_whose_own_count_rose() -> None:
    looks = [measured("web", 2), measured("db", 0)]
    tally, _ = kernel_kills.compare(Tally(), 5, looks)
    tally, kill = kernel_kills.compare(tally, 6, [measured("web", 3), measured("db", 0)])
    assert kill is not None
    assert (kill.count, [victim.name for victim in kill.victims]) == (1, ["web"])
    assert kernel_kills.compare(tally, 6, [measured("web", 3)])[1] is None


def test_a_group_that_counts_before_the_machine_does_is_still_the_victim() -> None:
    """The two files are read one after the other, and the kill may fall between."""
    tally, _ = kernel_kills.compare(Tally(), 5, [measured("web", 2)])
    tally, early = kernel_kills.compare(tally, 5, [measured("web", 3)])
    _, kill = kernel_kills.compare(tally, 6, [measured("web", 3)])
    assert early is None
    assert kill is not None
    assert [victim.name for victim in kill.victims] == ["web"]


def test_a_group_that_counts_after_the_machine_does_is_still_the_victim() -> None:
    """Its figures were late in the look that saw the machine's count; the next one has them."""
    tally, _ = kernel_kills.compare(Tally(), 5, [measured("web", 2)])
    tally, early = kernel_kills.compare(tally, 6, [measured("web", 2)])
    tally, kill = kernel_kills.compare(tally, 6, [measured("web", 3)])
    assert early is None
    assert kill is not None
    assert (kill.count, [victim.name for victim in kill.victims]) == (1, ["web"])
    assert kernel_kills.compare(tally, 6, [measured("web", 3)])[1] is None


def test_a_kill_that_no_group_counts_is_told_by_the_next_look_as_one_of_nobody() -> None:
    tally, _ = kernel_kills.compare(Tally(), 5, [measured("web", 2)])
    tally, early = kernel_kills.compare(tally, 6, [measured("web", 2)])
    tally, kill = kernel_kills.compare(tally, 7, [measured("web", 2)])
    assert early is None
    assert kill == Kill(count=2, total=7)
    assert kernel_kills.compare(tally, 7, [measured("web", 2)])[1] is None


def test_a_victim_that_is_gone_is_only_suspected() -> None:
    tally, _ = kernel_kills.compare(Tally(), 5, [measured("web", 0), measured("db", 0)])
    _, kill = kernel_kills.compare(tally, 7, [measured("db", 0)])
    assert kill is not None
    assert ([p.name for p in kill.victims], [p.name for p in kill.gone]) == ([], ["web"])


@pytest.mark.parametrize(
    ("kill", "sentence"),
    [
        (Kill(count=1, total=6, victims=(pod("web"),)), "a process for want of memory in shop/web"),
        (Kill(count=2, total=6, gone=(pod("web"),)), "perhaps in shop/web, gone since"),
        (Kill(count=2, total=6), "2 processes for want of memory, in no workload that is known"),
    ],
)
def test_the_event_says_whom_as_far_as_it_can_be_known(kill: Kill, sentence: str) -> None:
    event = faults.system_oom(kill, "edge", "boot", TIME).event
    assert sentence in event.data["message"]
    assert event.id == faults.system_oom(kill, "edge", "boot", TIME).event.id


def observation(pods: tuple[Pod, ...]) -> Observation:
    look = composition.Look(
        now=Now(boot_seconds=5.5, utc=TIME),
        signals={"pid.available": SignalReading(available=1, capacity=2)},
        layout=None,
        pods=pods,
        pods_complete=True,
    )
    return composition.observation(look, node="edge", sequence=7, boot_id="b", interval_seconds=10)


def test_what_fits_is_whole() -> None:
    whole = observation((pod("web", 5),))
    assert composition.bounded(whole) == composition.Bounded(observation=whole)


def test_too_many_pods_are_cut_to_the_greatest_and_the_list_says_so() -> None:
    pods = tuple(pod(f"pod-{number}", uses=number) for number in range(100))
    bounded = composition.bounded(observation(pods), bytes_max=5000)
    kept = bounded.observation.pods or ()
    assert len(msgspec.json.encode(bounded.observation)) <= 5000
    assert not bounded.observation.pods_complete
    assert bounded.cut == 100 - len(kept) > 0
    assert [item.name for item in kept] == [f"pod-{n}" for n in range(100 - len(kept), 100)]


@given(st.integers(0, 300), st.integers(1500, 60_000))
def test_no_observation_is_larger_than_allowed(count: int, bytes_max: int) -> None:
    pods = tuple(pod(f"pod-{number}", uses=number * 7919 % 1000) for number in range(count))
    bounded = composition.bounded(observation(pods), bytes_max)
    assert len(msgspec.json.encode(bounded.observation)) <= bytes_max
    assert bounded.cut + len(bounded.observation.pods or ()) == count


def test_a_name_is_observed_once() -> None:
    pods, problems = composition.unique([pod("web", runtime="docker"), pod("web", uid="other")])
    assert [item.runtime for item in pods] == ["docker"]
    assert problems == (
        "shop/web is a name of docker and of said; the one of said is not observed",
    )


def test_a_state_is_told_once_and_again_only_after_it_was_over() -> None:
    tell: Callable[..., tuple[Any, ...]] = faults.newly_failed
    first = tell({}, {"memory": "odd"}, "edge", TIME)
    assert [effect.event.data["message"] for effect in first] == ["memory cannot be read: odd"]
    assert tell({"memory": "odd"}, {"memory": "odder"}, "edge", TIME) == ()
    assert len(tell({}, {"memory": "odd"}, "edge", TIME)) == 1
