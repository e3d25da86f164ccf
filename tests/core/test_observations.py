"""Rules about an Observation, and the view that successive ones add up to."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.moments import later_in_boot, moment
from evictd.core.observations import (
    PROBLEMS_MAX,
    duplicate,
    gap,
    merge,
    problems,
    sequence_of,
)
from evictd_schemas import (
    ContainerStatistics,
    Layout,
    MemoryStatistics,
    Moment,
    Observation,
    Pod,
    PodStatistics,
    SignalReading,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
READING = SignalReading(available=1, capacity=2)


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def pod(name: str, number: int = 1, **fields: Any) -> Pod:
    return Pod(**{"namespace": "shop", "name": name, "uid": uid(number)} | fields)


def observation(sequence: int | None = 1, **fields: Any) -> Observation:
    given_fields: dict[str, Any] = {
        "node": "edge",
        "time": START,
        "sequence": sequence,
        "signals": {"memory.available": READING},
    }
    return Observation(**given_fields | fields)


def fields_of(wrong: Observation, held: Observation | None = None) -> list[str]:
    return [problem.field for problem in problems("edge", wrong, held)]


def test_a_plain_observation_has_no_problem() -> None:
    assert problems("edge", observation(pods=(pod("web"),)), None) == ()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"node": "other"}, "node"),
        ({"boot_id": ""}, "bootId"),
        ({"interval_seconds": 0}, "intervalSeconds"),
        ({"interval_seconds": float("nan")}, "intervalSeconds"),
        ({"uptime_seconds": -1}, "uptimeSeconds"),
        ({"sequence": -1}, "sequence"),
        ({"sequence": 2**64}, "sequence"),
        ({"signals": {"": READING}}, "signals"),
        ({"signals": {"a/b": READING}}, "signals"),
        ({"signals": {f"s{number}": READING for number in range(101)}}, "signals"),
        (
            {"signals": {"m": SignalReading(available=float("inf"), capacity=2)}},
            "signals[m].available",
        ),
        ({"signals": {"m": SignalReading(available=1, capacity=-2)}}, "signals[m].capacity"),
        (
            {"signals": {"m": SignalReading(available=1, capacity=2, views={"v": 2**80})}},
            "signals[m].views[v]",
        ),
        ({"layout": Layout(error="\0")}, "layout.error"),
        ({"pods": (pod("a", uid="NOT"),)}, "pods[0].uid"),
        ({"pods": (pod("a", uid=uid(1).replace("8000", "A000")),)}, "pods[0].uid"),
        ({"pods": (pod("a b"),)}, "pods[0].name"),
        ({"pods": (pod("a", namespace=""),)}, "pods[0].namespace"),
        ({"pods": (pod("a"), pod("a", 2))}, "pods[1].name"),
        ({"pods": (pod("a", priority=2**31),)}, "pods[0].priority"),
        ({"pods": (pod("a", termination_grace_period_seconds=-1),)},
         "pods[0].terminationGracePeriodSeconds"),
        ({"pods": (pod("a", labels={"k": "\0"}),)}, "pods[0].labels[k]"),
        ({"pods": (pod("a", labels={"\0": "v"}),)}, "pods[0].labels"),
        ({"pods": (pod("a", labels={str(key): "" for key in range(1001)}),)}, "pods[0].labels"),
        ({"pods": (pod("a", requests={"cpu": -0.5}),)}, "pods[0].requests[cpu]"),
        (
            {"pods": (pod("a", stats=PodStatistics(containers=(ContainerStatistics(
                memory=MemoryStatistics(working_set_bytes=-1)),))),)},
            "pods[0].stats.containers[0].memory.workingSetBytes",
        ),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_with_its_field(fields: dict[str, Any], field: str) -> None:
    assert fields_of(observation(**fields)) == [field]


def test_negative_amounts_are_fine_where_they_can_be() -> None:
    reading = SignalReading(available=-5, capacity=10, views={"mem_available": -1})
    assert (
        fields_of(observation(signals={"pid.available": reading}, pods=(pod("a", priority=-7),)))
        == []
    )


def test_all_problems_are_told_up_to_a_bound() -> None:
    many = observation(node="other", pods=tuple(pod("same") for _ in range(50)))
    told = fields_of(many)
    assert told[:2] == ["node", "pods[1].name"]
    assert len(told) == PROBLEMS_MAX


def test_an_older_sequence_is_a_problem_and_the_same_message_is_not() -> None:
    held = merge(None, observation(5, pods=(pod("web"),)))
    again = observation(5, pods=(pod("web"),))
    assert fields_of(again, held) == []
    assert duplicate(held, again)
    assert fields_of(observation(5, pods=()), held) == ["sequence"]
    assert fields_of(observation(4), held) == ["sequence"]
    assert fields_of(observation(6), held) == []


def test_without_a_sequence_the_time_in_milliseconds_counts() -> None:
    at = START + timedelta(milliseconds=7)
    assert sequence_of(observation(None, time=at)) == int(START.timestamp()) * 1000 + 7


def test_a_complete_list_replaces_and_an_incomplete_one_updates() -> None:
    held = merge(None, observation(1, pods=(pod("a", 1), pod("b", 2))))
    partial = merge(held, observation(2, pods=(pod("b", 3), pod("c", 4)), pods_complete=False))
    assert [(item.name, item.uid) for item in partial.pods or ()] == [
        ("a", uid(1)),
        ("b", uid(3)),
        ("c", uid(4)),
    ]
    assert not partial.pods_complete
    whole = merge(partial, observation(3, pods=(pod("c", 4),)))
    assert [item.name for item in whole.pods or ()] == ["c"]
    assert whole.pods_complete


def test_without_pods_only_the_signals_change_and_nobody_is_gone() -> None:
    layout = Layout(dedicated_image_fs=True)
    held = merge(None, observation(1, pods=(pod("a"),), layout=layout))
    newest = SignalReading(available=9, capacity=9)
    seen = merge(held, observation(2, signals={"nodefs.available": newest}))
    assert seen.pods == held.pods
    assert seen.layout == layout
    assert seen.signals == {"nodefs.available": newest}
    assert not seen.pods_complete


SEQUENCES = st.lists(
    st.tuples(
        st.none() | st.lists(st.integers(0, 4), max_size=4, unique=True),
        st.booleans(),
    ),
    max_size=8,
)


@given(SEQUENCES)
def test_merging_again_changes_nothing(lists: list[tuple[list[int] | None, bool]]) -> None:
    """At least once: each message may arrive twice."""
    held: Observation | None = None
    for sequence, (numbers, complete) in enumerate(lists, start=1):
        pods = None if numbers is None else tuple(pod(f"p{number}", number) for number in numbers)
        seen = observation(sequence, pods=pods, pods_complete=complete)
        held = merge(held, seen)
        assert merge(held, seen) == held
        assert duplicate(held, seen)
        assert problems("edge", seen, held) == ()
        names = [item.name for item in held.pods or ()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("earlier", "later", "is_gap"),
    [
        ({"boot_id": "b", "uptime_seconds": 0, "interval_seconds": 10}, {}, True),
        ({"boot_id": None, "uptime_seconds": 0, "interval_seconds": 10}, {}, False),
        ({"boot_id": "c", "uptime_seconds": 0, "interval_seconds": 10}, {}, False),
        ({"boot_id": "b", "uptime_seconds": 0, "interval_seconds": None}, {}, False),
        (
            {"boot_id": "b", "uptime_seconds": 0, "interval_seconds": 1},
            {"interval_seconds": 40},
            False,
        ),
        ({"boot_id": "b", "uptime_seconds": 75, "interval_seconds": 10}, {}, False),
    ],
)
def test_a_gap_needs_one_boot_and_intervals(
    earlier: dict[str, Any], later: dict[str, Any], is_gap: bool
) -> None:
    one = observation(1, **earlier)
    two = observation(2, **{"boot_id": "b", "uptime_seconds": 100, "interval_seconds": 10} | later)
    assert gap(one, two) is is_gap


def test_what_came_later_is_told_by_boot_time_alone() -> None:
    seen = moment(observation(1, boot_id="b", uptime_seconds=10))
    assert later_in_boot(Moment(time=START, boot_id="b", uptime_seconds=9.5), seen) is True
    assert later_in_boot(Moment(time=START, boot_id="b", uptime_seconds=10), seen) is False
    assert later_in_boot(Moment(time=START, boot_id="c", uptime_seconds=1), seen) is None
    unknown = moment(observation(1))
    assert later_in_boot(Moment(time=START, boot_id="b", uptime_seconds=1), unknown) is None


def test_a_thousand_pods_may_be_listed() -> None:
    pods = tuple(pod(f"p{number}", number) for number in range(1000))
    payload = msgspec.json.encode(observation(1, pods=pods))
    assert problems("edge", msgspec.json.decode(payload, type=Observation), None) == ()
