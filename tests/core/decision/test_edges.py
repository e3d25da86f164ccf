"""Where one more or one less decides, and what stands in the way of whom."""

from typing import Any

import pytest
from msgspec import structs
from tests.core.decision.household import household, names
from tests.core.decision.stage import (
    START,
    Stage,
    amount,
    pod_of,
    rules_of,
    threshold,
    uid_of,
)
from tests.core.decision.test_growth import DISK, host, look, writer
from tests.core.decision.test_reclaiming import limited

from evictd.core import usage
from evictd.core.decision import Seen, Wished
from evictd.core.decision.grace import pressure_grace_seconds
from evictd.core.decision.loops import counted
from evictd.core.decision.past import LATELY_SECONDS, End, Past
from evictd.core.effects import Emit
from evictd.core.moments import Now
from evictd_schemas import (
    Condition,
    Container,
    ContainerStatistics,
    Eviction,
    EvictionSpec,
    EvictionStatus,
    FileSystemStatistics,
    MemoryStatistics,
    PodReference,
    PodStatistics,
    PodTarget,
    Target,
    Wish,
)

HARD = "memory.available<1Gi"
WEB = PodReference(namespace="shop", name="web", uid=uid_of("web"))


def at(seconds: float) -> Now:
    return Now(boot_seconds=seconds, utc=START)


# Usage, growth, grace


def test_a_stop_frees_anonymous_shared_and_swapped_memory_alike() -> None:
    memory = MemoryStatistics(working_set_bytes=900, rss_bytes=100, shmem_bytes=20, swap_bytes=3)
    assert usage.freed_bytes(PodStatistics(memory=memory)) == 123
    alone = MemoryStatistics(working_set_bytes=900, rss_bytes=100)
    assert usage.freed_bytes(PodStatistics(memory=alone)) == 100
    unknown = MemoryStatistics(working_set_bytes=900)
    assert usage.freed_bytes(PodStatistics(memory=unknown)) == 900


@pytest.mark.parametrize(("cap", "grace"), [(-1, 30), (0, 0), (7, 7), (60, 30)])
def test_only_a_negative_cap_leaves_a_soft_victim_its_own_grace(cap: int, grace: int) -> None:
    rules = rules_of(HARD, maximum_pod_grace_seconds=cap)
    pod = pod_of("web", termination_grace_period_seconds=30)
    assert pressure_grace_seconds(rules, pod, hard=False) == grace


@pytest.mark.parametrize(("memory", "hastened"), [("512Mi", False), ("511Mi", True)])
def test_at_half_the_line_the_time_given_is_kept_and_below_it_is_not(
    memory: str, *, hastened: bool
) -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("web", termination_grace_period_seconds=30)
    stage.observe("900Mi")
    graces = [item.spec.grace_period_seconds for item in stage.observe(memory).requests]
    assert graces == ([0] if hastened else [])


# Memory of what was


def test_an_eviction_is_remembered_for_less_than_the_time_of_a_loop() -> None:
    def past(name: str, *times: float) -> dict[str, Past]:
        pod = PodReference(namespace="shop", name=name, uid=uid_of(f"{name} before"))
        ends = tuple(End(boot_seconds=time, time=START) for time in times)
        return {f"shop/{name}": Past(pod=pod, ends=ends)}

    history = past("web", 0.0, 1.0) | past("old", 0.0) | past("db", 1.0)
    kept, _ = counted(rules_of(HARD), history, WEB, START, at(LATELY_SECONDS))
    assert {name: [end.boot_seconds for end in found.ends] for name, found in kept.items()} == {
        "shop/db": [1.0],
        "shop/web": [1.0, LATELY_SECONDS],
    }


def test_a_loop_of_returns_tells_how_long_it_took() -> None:
    stage = household()
    events: list[Any] = []
    for life in range(1, 4):
        stage.pod("web", uid=uid_of(f"web {life}"))
        stage.calm()
        turn = stage.fell("web", life=life)
        events += [item.event.data for item in turn.effects if isinstance(item, Emit)]
        while life < 3 and not names(turn):
            turn = stage.calm()
        if life < 3:
            stage.status(turn.orders[0], "Finished")
    (loop,) = (event for event in events if event["reason"] == "EvictionLoop")
    assert 0 < loop["seconds"] <= stage.seconds


def test_a_failed_eviction_is_still_passed_over_after_a_restart() -> None:
    stage = Stage(rules_of(HARD))
    stage.pods = [pod_of("a", uses="2Gi"), pod_of("b", uses="1Gi")]
    stage.observe("900Mi")
    stage.answer("a", "Failed", "NoFurtherResponder")
    assert stage.observe("900Mi").verdicts() == {"a": "Failed", "b": "Victim"}
    stage.restart()
    turn = stage.observe("8Gi")
    assert stage.plan.failed["shop/a"].until_boot_seconds > stage.seconds
    assert turn.victims == []


# Who is on the way already


@pytest.mark.parametrize(
    ("kind", "status", "running"),
    [
        ("TargetEvicted", "True", False),
        ("Failed", "True", False),
        ("Failed", "False", True),
        ("Progressing", "True", True),
    ],
)
def test_an_eviction_runs_until_one_of_its_ends_is_true(
    kind: str, status: str, *, running: bool
) -> None:
    stage = Stage(rules_of(HARD))
    eviction = Eviction(
        spec=EvictionSpec(target=Target(pod=PodTarget(name="web", uid=uid_of("web")))),
        status=EvictionStatus(node="edge", conditions=(Condition(type=kind, status=status),)),
    )
    stage.tell(Seen(namespace="shop", name="web", eviction=eviction))
    assert (uid_of("web") in stage.plan.leaving.values()) is running


def test_a_request_that_is_taken_back_holds_up_nobody_who_comes_back() -> None:
    stage = household()
    stage.fell("db", used="1Gi")
    stage.pod("web", uses="2Gi")
    stage.observe("512Mi")
    turn = stage.calm(looks=1)
    while not turn.withdrawn:
        turn = stage.calm()
    orders = names(turn)
    while not orders:
        assert stage.seconds < 1000
        orders = names(stage.calm())
    assert orders == ["db"]
    assert stage.standing, "the request that was taken back still stands"


def test_one_that_runs_again_hides_no_other_that_may_come_back() -> None:
    stage = household()
    stage.fell("db")
    stage.seconds += 10
    stage.fell("web")
    stage.pod("web", uid=uid_of("web 2"))
    stage.seconds += 300
    back = [name for _ in range(5) for name in names(stage.calm())]
    assert back[0] == "db"


def test_exactly_a_tenth_more_is_no_room_yet() -> None:
    """1 GiB used, a line at 1000 MiB: more than 2124 MiB."""
    stage = household("memory.available<1000Mi")
    stage.fell("web", used="1Gi")
    assert not stage.calm("2124Mi").orders
    assert names(stage.calm("2125Mi")) == ["web"]


def test_one_of_two_lines_met_is_no_calm() -> None:
    stage = household("memory.available<2Gi/600", "memory.available<1Gi")
    stage.fell("web", used="1Mi")
    assert not stage.observe("1536Mi").orders


def test_what_needs_itself_is_no_knot() -> None:
    stage = household()
    stage.fell("web", depends_on=("shop/web",))
    assert names(stage.calm()) == ["web"]


# Limits of their own


def test_who_is_asked_to_go_for_memory_is_also_asked_for_a_limit_of_its_own() -> None:
    stage = Stage(rules_of(HARD, local_storage_capacity_isolation=True))
    stage.pod("web")
    assert stage.observe("900Mi").victims == ["web"]
    stage.pods = [limited("web", "2Gi", "1Gi")]
    requests = stage.observe("900Mi").requests
    assert [item.spec.requester for item in requests] == ["evictd.io/local-storage"]


# Disks of a plain host


def test_where_nobody_may_go_a_disk_is_not_told_to_be_unexplained() -> None:
    stage = host()
    stage.pods = [structs.replace(pod, protected=True) for pod in stage.pods]
    stage.observe(signals={"nodefs.available": "4Gi"}, after=30)
    turn = stage.observe(signals={"nodefs.available": "1Gi"}, after=30)
    assert turn.decision is not None
    assert turn.decision.reason.endswith("nobody may be evicted")


def test_a_writer_whose_eviction_failed_does_not_stand_for_the_crossing() -> None:
    stage = host()
    look(stage, "4Gi", "1Mi")
    assert look(stage, "1Gi", "3Gi").victims == ["small"]
    stage.answer("small", "Failed", "NoFurtherResponder")
    assert stage.plan.relieved == {}


def test_the_largest_consumers_are_named_the_largest_first() -> None:
    stage = Stage(rules_of(DISK, reclaim_steps=()))
    stage.pods = [writer("small", "1Gi"), writer("large", "9Gi"), writer("middle", "5Gi")]
    stage.observe(signals={"nodefs.available": "4Gi"}, after=30)
    turn = stage.observe(signals={"nodefs.available": "1Gi"}, after=30)
    (told,) = (
        item.event.data
        for item in turn.effects
        if isinstance(item, Emit) and item.event.data["reason"] == "NothingLeftToEvict"
    )
    named = [entry["pod"] for entry in told["consumers"]]
    assert named == ["shop/large", "shop/middle", "shop/small"]


def test_how_much_is_enough_is_asked_by_the_lines_of_that_signal_that_are_met() -> None:
    stage = Stage(rules_of(reclaim_steps=("danglingImages",)))
    lines = (
        threshold("nodefs.available<4Gi"),
        threshold("nodefs.available<3Gi"),
        threshold("nodefs.available<1Gi"),
        threshold("imagefs.available<9Gi"),
    )
    stage.rules = structs.replace(stage.rules, thresholds=lines)
    free = {"nodefs.available": "2Gi", "imagefs.available": "10Gi"}
    stage.observe(signals={"nodefs.available": "8Gi", "imagefs.available": "10Gi"})
    (order,) = stage.observe(signals=free).orders
    assert order.until_available == amount("4Gi")


def test_one_that_has_to_wait_longer_holds_up_nobody() -> None:
    stage = household()
    stage.pod("web", uid=uid_of("web 1"))
    stage.calm()
    stage.fell("web", life=1)
    stage.status(stage.calm().orders[0], "Finished")
    stage.pod("web", uid=uid_of("web 2"))
    stage.calm(after=30)
    stage.fell("db")
    stage.seconds += 1
    stage.fell("web", life=2)
    assert names(stage.calm()) == ["db"], "web fell last, and waits a minute for falling again"


def test_a_ring_that_is_not_its_own_is_a_reason_to_wait_and_no_endless_search() -> None:
    stage = household()
    for name, needed in (("b", "c"), ("c", "b"), ("a", "b")):
        stage.seconds += 1
        stage.fell(name, depends_on=(f"shop/{needed}",))
    assert names(stage.calm()) in (["b"], ["c"])


def test_room_is_asked_of_the_allocatable_memory_as_well() -> None:
    stage = household("memory.available<1Gi", "allocatableMemory.available<1Gi")
    stage.fell("web", used="1Gi")
    tight = {"allocatableMemory.available": "2Gi"}
    assert not stage.observe("8Gi", signals=tight).orders
    roomy = {"allocatableMemory.available": "3Gi"}
    assert names(stage.observe("8Gi", signals=roomy)) == ["web"]


def test_a_wish_that_is_taken_back_leaves_the_others_standing() -> None:
    stage = Stage(rules_of(HARD))
    stage.pods = [pod_of("a", uses="3Gi"), pod_of("b", uses="2Gi"), pod_of("c", uses="1Gi")]
    for name in ("a", "b"):
        wish = Wish(verb="Hold", target=f"shop/{name}", include_hard=True)
        stage.tell(Wished(topic=f"wishes/{name}", wish=wish))
    stage.tell(Wished(topic="wishes/a", wish=None))
    assert stage.observe("900Mi").verdicts() == {"a": "Victim", "b": "Held", "c": "Candidate"}


@pytest.mark.parametrize(("used", "victims"), [("1Gi", []), ("1025Mi", ["web"])])
def test_a_container_may_use_all_of_its_own_limit(used: str, victims: list[str]) -> None:
    stage = Stage(rules_of(HARD, local_storage_capacity_isolation=True))
    entry = ContainerStatistics(
        name="c",
        rootfs=FileSystemStatistics(used_bytes=amount(used)),
        logs=FileSystemStatistics(used_bytes=0),
    )
    limits = {"ephemeral-storage": amount("1Gi")}
    stage.pod(
        "web",
        stats=PodStatistics(containers=(entry,)),
        containers=(Container(name="c", limits=limits), Container(name="d")),
    )
    assert stage.observe("8Gi").victims == victims
