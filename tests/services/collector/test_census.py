"""What workloads hold on disk is counted seldom, within a share of one core, sooner when a disk is
being filled."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from evictd.collector.census import Census
from evictd.collector.sources.filesystems import FileSystem
from evictd.runtimes import Whereabouts, Workload
from evictd_schemas import Pod

TIME = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)
DISK = FileSystem(
    device="8:1", available_bytes=5_000, capacity_bytes=10_000, inodes_free=500, inodes=1_000
)


@pytest.fixture
def writer(tmp_path: Path) -> Callable[[str], Workload]:
    def made(name: str) -> Workload:
        (tmp_path / name).mkdir()
        pod = Pod(namespace="shop", name=name, uid=name)
        return Workload(pod=pod, whereabouts=Whereabouts(writable_layer=str(tmp_path / name)))

    return made


def test_a_quiet_machine_is_counted_once_a_minute() -> None:
    census = Census(10)
    assert census.due(0, 0, {"/": DISK})
    assert not census.due(59, 0, {"/": DISK})
    assert census.due(60, 0, {"/": DISK})


@pytest.mark.parametrize(
    "shrunk",
    [structs.replace(DISK, available_bytes=4_989), structs.replace(DISK, inodes_free=498)],
    ids=["bytes", "inodes"],
)
def test_a_disk_that_is_being_filled_is_counted_at_the_next_look(shrunk: FileSystem) -> None:
    """By more than a thousandth of it since the last round; what it gains urges nobody."""
    census = Census(10)
    assert census.due(0, 0, {"/": DISK})
    assert not census.due(4.9, 0, {"/": shrunk})
    assert census.due(10, 0, {"/": shrunk})
    assert not census.due(20, 0, {"/": shrunk})
    assert not census.due(30, 0, {"/": structs.replace(DISK, available_bytes=9_000)})


def test_counting_takes_a_twentieth_of_one_core_at_most() -> None:
    census = Census(10)
    full = structs.replace(DISK, available_bytes=0)
    assert census.due(0, 0, {"/": DISK})
    assert not census.due(39, 2, {"/": full})
    assert census.due(40, 2, {"/": full})
    assert not census.due(100, 4, {"/": full}), "nor where nothing urges"


def test_a_round_ends_in_time_and_goes_on_with_those_that_it_left(
    writer: Callable[[str], Workload],
) -> None:
    """Each count takes a second here, and a round two. Who was not reached keeps its figures."""
    workloads = [writer(name) for name in ("a", "b", "c")]

    def ticking() -> Iterator[float]:
        yield from range(1_000)

    clock = ticking()
    census = Census(10, lambda: next(clock))
    assert census.due(0, 0, {})
    assert set(census.round(workloads, TIME)) == {"a", "b"}
    assert census.due(10, 0, {}), "it is not whole"
    second = census.round(workloads, LATER)
    times = {uid: held.layer.time for uid, held in second.items() if held.layer is not None}
    assert times == {"a": LATER, "b": TIME, "c": LATER}
    third = census.round(workloads[1:], LATER)
    assert {uid: held.layer and held.layer.time for uid, held in third.items()} == {
        "b": LATER,
        "c": LATER,
    }, "and who is gone is forgotten"


def test_a_workload_without_a_place_on_disk_has_no_figures() -> None:
    workload = Workload(pod=Pod(namespace="shop", name="web", uid="web"))
    assert Census(10).round([workload], TIME) == {}
