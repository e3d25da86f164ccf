"""Giving something back before anybody goes, and limits of the pods themselves."""

from msgspec import structs
from tests.core.decision.stage import Stage, Turn, amount, pod_of, rules_of, threshold

from evictd.core.decision import Ordered
from evictd.core.rules import Mode
from evictd.core.signals.thresholds import Share
from evictd_schemas import (
    Container,
    ContainerStatistics,
    FileSystemStatistics,
    Layout,
    OrderStatus,
    Pod,
    PodStatistics,
    StepOutcome,
    Volume,
    VolumeStatistics,
)

DISK = "nodefs.available<2Gi"


def writer(name: str, wrote: str, **fields: object) -> Pod:
    """A pod with so much in its writable layer."""
    layer = FileSystemStatistics(used_bytes=amount(wrote))
    statistics = PodStatistics(containers=(ContainerStatistics(name="c", rootfs=layer),))
    return pod_of(name, stats=statistics, **fields)


def disk(*lines: str, **fields: object) -> Stage:
    """Two writers under the kubelet's rules; `hog` before `web`."""
    stage = Stage(rules_of(*(lines or (DISK,)), **{"kubelet": True, **fields}))
    stage.pods += [writer("web", "1Mi"), writer("hog", "5Gi")]
    return stage


def low(stage: Stage, *, memory: str | None = None, nodefs: str = "1Gi", after: float = 10) -> Turn:
    return stage.observe(memory, signals={"nodefs.available": nodefs}, after=after)


def test_disk_is_reclaimed_before_anybody_goes() -> None:
    stage = disk()
    turn = low(stage)
    assert (turn.action, turn.victims) == ("Reclaim", [])
    (order,) = turn.orders
    assert (order.kind, order.steps) == ("Reclaim", ("containers", "images"))
    assert turn.decision is not None
    assert turn.decision.order == order.uid
    assert turn.wakes == [stage.seconds + 60]


def test_a_look_again_that_finds_enough_ends_the_pass() -> None:
    stage = disk()
    (order,) = low(stage).orders
    assert stage.finish(order).effects != ()
    turn = low(stage, nodefs="5Gi", after=0)
    assert (turn.action, turn.victims, turn.events) == ("Wait", [], ["ReclaimFinished"])
    assert turn.retracted == ["evictd/v1/edge/orders/reclaim"]


def test_a_look_again_that_finds_too_little_goes_on_to_evict() -> None:
    stage = disk()
    (order,) = low(stage).orders
    stage.finish(order)
    turn = low(stage, nodefs="1Gi", after=0)
    assert (turn.action, turn.victims) == ("Evict", ["hog"])
    assert stage.plan.reclaiming is None


def test_the_look_again_asks_for_the_minimum_reclaim_and_for_every_threshold() -> None:
    for lines, memory, nodefs in (
        ((DISK, "memory.available<1Gi/3600"), "512Mi", "9Gi"),
        ((DISK,), None, "2560Mi"),
    ):
        stage = disk(*lines)
        reclaim = threshold(DISK, reclaim="1Gi")
        stage.rules = structs.replace(
            stage.rules, thresholds=(reclaim, *stage.rules.thresholds[1:])
        )
        (order,) = low(stage, memory=memory).orders
        stage.finish(order)
        assert low(stage, memory=memory, nodefs=nodefs, after=0).victims == ["hog"]


def test_an_observation_from_before_the_end_of_the_reclaim_does_not_count() -> None:
    stage = disk()
    (order,) = low(stage).orders
    assert low(stage, nodefs="9Gi").effects == ()
    stage.seconds += 5
    assert stage.finish(order).victims == []
    assert low(stage, nodefs="1Gi", after=1).victims == ["hog"]


def test_a_look_that_overtook_the_status_is_not_lost() -> None:
    """Two writers, two topics: the later observation may come first."""
    stage = disk()
    (order,) = low(stage).orders
    finished_seconds = stage.seconds + 1
    low(stage, nodefs="1Gi", after=2)
    seconds, stage.seconds = stage.seconds, finished_seconds
    turn = stage.finish(order)
    stage.seconds = seconds
    assert turn.victims == ["hog"]


def test_no_word_by_the_deadline_means_not_cleared() -> None:
    stage = disk()
    low(stage)
    assert stage.tick(after=59).effects != ()
    turn = stage.tick(after=1)
    assert turn.victims == ["hog"]
    assert turn.retracted == ["evictd/v1/edge/orders/reclaim"]


def test_a_refused_order_goes_on_to_evict_at_once() -> None:
    stage = disk()
    (order,) = low(stage).orders
    assert stage.finish(order, state="Refused").victims == ["hog"]


def test_no_look_after_the_end_means_not_cleared() -> None:
    stage = disk()
    (order,) = low(stage).orders
    assert stage.finish(order).wakes == [stage.seconds + 30]
    assert stage.tick(after=30).victims == ["hog"]


def test_memory_does_not_wait_for_a_reclaim_of_disk() -> None:
    stage = disk(DISK, "memory.available<1Gi")
    stage.pods.append(pod_of("leak", uses="9Gi"))
    (order,) = low(stage, memory="4Gi").orders
    turn = low(stage, memory="512Mi", after=1)
    assert turn.victims == ["leak"]
    stage.seconds += 1
    stage.finish(order)
    assert low(stage, memory="4Gi", nodefs="1Gi", after=1).victims == ["hog"]


def test_a_pod_that_went_meanwhile_is_not_asked_to_go() -> None:
    stage = disk()
    (order,) = low(stage).orders
    stage.finish(order)
    stage.gone("hog")
    assert low(stage, after=0).victims == ["web"]


def test_reclaiming_is_not_repeated_at_once_when_nobody_could_go() -> None:
    stage = disk(kubelet=False, reclaim_steps=("danglingImages",))
    stage.pods = [writer("db", "9Gi", critical=True)]
    (order,) = low(stage).orders
    stage.finish(order, freed_bytes=1)
    assert "NothingLeftToEvict" in low(stage, after=0).events
    assert low(stage, after=1).orders == []
    assert low(stage, after=10).orders != []


def test_observing_only_asks_what_would_be_given_back_and_goes_on() -> None:
    stage = disk(mode=Mode.OBSERVE)
    turn = low(stage)
    (order,) = turn.orders
    assert (turn.action, order.dry_run) == ("Reclaim", True)
    assert turn.verdicts() == {"hog": "Victim", "web": "Candidate"}
    assert stage.finish(order, state="Refused").action == "Evict"
    assert (low(stage).action, low(stage).requests) == ("Evict", [])


def test_a_rehearsal_orders_a_rehearsal() -> None:
    stage = disk(mode=Mode.DRY_RUN)
    (order,) = low(stage).orders
    assert order.dry_run


def test_a_split_layout_without_its_gate_acts_on_nothing() -> None:
    stage = disk(separate_disk_gc=False)
    stage.layout = Layout(dedicated_image_fs=True, dedicated_container_fs=True)
    assert low(stage).effects == ()
    turn = low(stage)
    assert (turn.orders, turn.victims, turn.events) == ([], [], ["EvictionThresholdMet"])


def test_a_restart_amid_a_reclaim_goes_on_waiting_for_it() -> None:
    stage = disk()
    (order,) = low(stage).orders
    assert stage.restart().wakes == [stage.seconds + 60]
    stage.finish(order)
    assert low(stage, after=1).victims == ["hog"]


def limited(name: str, used: str, limit: str, **fields: object) -> Pod:
    """A pod with an emptyDir of that limit, so far filled."""
    volume = Volume(name="scratch", kind="emptyDir", size_limit=amount(limit))
    entry = VolumeStatistics(name="scratch", used_bytes=amount(used))
    return pod_of(
        name,
        stats=PodStatistics(volume=(entry,)),
        volumes=(volume,),
        containers=(Container(name="c"),),
        **fields,
    )


def over_limits(**fields: object) -> Stage:
    stage = Stage(rules_of("memory.available<1Gi", local_storage_capacity_isolation=True, **fields))
    stage.pods += [
        limited("one", "2Gi", "1Gi"),
        limited("two", "3Gi", "1Gi"),
        limited("fine", "1Gi", "1Gi"),
        limited("db", "3Gi", "1Gi", critical=True),
    ]
    return stage


def test_everybody_over_a_limit_goes_without_any_pressure() -> None:
    turn = over_limits().observe("8Gi")
    assert turn.victims == ["one", "two"]
    assert {request.spec.requester for request in turn.requests} == {"evictd.io/local-storage"}
    assert turn.decision is not None
    assert turn.decision.signal == "emptydirfs.limit"
    assert turn.verdicts() == {"one": "Victim", "two": "Victim"}


def test_limits_suppress_pressure_in_that_pass_only() -> None:
    stage = over_limits()
    assert stage.observe("512Mi").victims == ["one", "two"]
    turn = stage.observe("512Mi")
    assert len(turn.victims) == 1
    assert turn.requests[0].spec.requester == "evictd.io/node-pressure"


def test_whoever_is_asked_to_go_for_a_limit_is_not_asked_again() -> None:
    stage = over_limits()
    stage.observe("8Gi")
    assert stage.observe("8Gi").requests == []
    stage.answer("one")
    assert stage.observe("8Gi").victims == ["one"], "it is still there, and still over"


def test_a_rehearsed_limit_is_let_off_when_the_pod_keeps_it_again() -> None:
    stage = over_limits(mode=Mode.DRY_RUN)
    stage.observe("8Gi")
    topic = stage.topic_of("one")
    stage.answer("one", "Failed", "DryRun")
    assert stage.observe("8Gi").retracted == []
    stage.pods[0] = limited("one", "1Mi", "1Gi")
    assert stage.observe("8Gi").retracted == [topic]


def test_a_plain_host_says_how_much_is_enough() -> None:
    """The line and the minimum reclaim of all met thresholds of the signal; the kubelet's steps
    have no target. [contract 3, Order]"""
    stage = disk(kubelet=False, reclaim_steps=("danglingImages", "buildCache"))
    stage.rules = structs.replace(
        stage.rules, thresholds=(threshold(DISK, reclaim="1Gi"), threshold("nodefs.available<1Gi"))
    )
    (order,) = low(stage, nodefs="1536Mi").orders
    assert order.steps == ("danglingImages", "buildCache")
    assert order.until_available == amount("3Gi")
    assert low(disk()).orders[0].until_available is None


def test_a_minimum_reclaim_may_be_a_share_of_the_capacity() -> None:
    stage = disk(kubelet=False, reclaim_steps=("danglingImages",))
    share = Share(fraction=0.5, text="50%", percent=50)
    line = structs.replace(threshold(DISK), minimum_reclaim=share)
    stage.rules = structs.replace(stage.rules, thresholds=(line,))
    (order,) = low(stage).orders
    assert order.until_available == amount("10Gi"), "2Gi and half of 16Gi"


def test_an_end_without_a_moment_counts_with_the_next_observation() -> None:
    stage = disk()
    (order,) = low(stage).orders
    status = OrderStatus(order_uid=order.uid, state="Finished")
    stage.tell(Ordered(name="reclaim", status=status))
    assert low(stage, nodefs="1Gi").victims == ["hog"]


def test_statuses_of_other_orders_and_repeated_ones_change_nothing() -> None:
    stage = disk()
    (order,) = low(stage).orders
    other = OrderStatus(order_uid="another", state="Finished")
    running = OrderStatus(order_uid=order.uid, state="Running")
    for status in (other, running, None):
        assert stage.tell(Ordered(name="reclaim", status=status)).effects == ()
    stage.finish(order)
    assert stage.finish(order).effects == ()


def host_disk(**fields: object) -> Stage:
    """A plain host with two steps and nobody who may go."""
    steps = ("danglingImages", "buildCache")
    stage = disk(DISK, kubelet=False, reclaim_steps=steps, **fields)
    stage.pods = [writer("db", "9Gi", critical=True)]
    return stage


def test_a_step_that_gave_nothing_is_not_repeated_for_ten_minutes() -> None:
    stage = host_disk()
    (order,) = low(stage).orders
    stage.finish(order, freed_bytes=1)
    low(stage, after=0)
    (again,) = low(stage).orders
    assert again.steps == ("danglingImages",), "the first one gave something back"
    stage.finish(again)
    low(stage, after=0)
    assert low(stage).orders == []
    assert low(stage, after=569).orders == []
    (later,) = low(stage, after=11).orders
    assert later.steps == ("buildCache",), "it failed first"


def test_a_crossing_that_is_over_forgets_what_gave_nothing() -> None:
    stage = host_disk(transition_seconds=60)
    (order,) = low(stage).orders
    stage.finish(order)
    low(stage, after=0)
    for _ in range(3):
        low(stage, nodefs="9Gi", after=50)
    assert low(stage).orders[0].steps == ("danglingImages", "buildCache")


def test_a_disk_that_is_empty_again_costs_nobody_though_memory_is_short() -> None:
    """The kubelet asks for every threshold; a plain host for those of the disk."""
    stage = disk(DISK, "memory.available<1Gi/3600", kubelet=False, reclaim_steps=("buildCache",))
    (order,) = low(stage, memory="512Mi").orders
    stage.finish(order, freed_bytes=1)
    turn = low(stage, memory="512Mi", nodefs="9Gi", after=1)
    assert (turn.action, turn.victims) == ("Wait", [])
    assert turn.decision is not None
    assert turn.decision.reason.startswith("reclaiming was enough for nodefs.available")


def test_a_rehearsal_tells_what_each_step_would_take_and_goes_on() -> None:
    stage = disk(DISK, kubelet=False, mode=Mode.DRY_RUN, reclaim_steps=("images", "logs"))
    (order,) = low(stage).orders
    steps = (
        StepOutcome(step="images", listed_bytes=amount("3Mi"), taken=("a:1", "b:1"), taken_total=2),
        StepOutcome(step="logs", error="not supported by docker"),
    )
    status = OrderStatus(order_uid=order.uid, state="Refused", steps=steps)
    turn = stage.tell(Ordered(name="reclaim", status=status))
    assert turn.event_messages[0] == (
        "nodefs.available: a reclaim would take images 2 (3Mi) (logs: not supported by docker);"
        " nothing was taken, mode is dry-run"
    )
    assert turn.event_data[0]["steps"][0]["taken"] == ("a:1", "b:1")
    assert low(stage).orders == [], "it is told once a crossing"


def test_it_is_told_which_step_gave_what_and_which_nothing() -> None:
    stage = disk(DISK, kubelet=False, reclaim_steps=("images", "cache", "logs"))
    (order,) = low(stage).orders
    steps = (
        StepOutcome(step="images", freed_bytes=amount("1Gi")),
        StepOutcome(step="cache"),
        StepOutcome(step="logs", freed_bytes=amount("2Gi")),
    )
    status = OrderStatus(order_uid=order.uid, state="Finished", steps=steps)
    stage.tell(Ordered(name="reclaim", status=status))
    assert low(stage, nodefs="4Gi").event_messages[0] == (
        "nodefs.available: 3Gi came back (images 1Gi, logs 2Gi; nothing from cache),"
        " which is enough"
    )


def test_inodes_that_came_back_are_told_as_inodes() -> None:
    stage = disk("nodefs.inodesFree<1k", kubelet=False, reclaim_steps=("buildCache",))
    (order,) = stage.observe(signals={"nodefs.inodesFree": "100"}).orders
    outcome = StepOutcome(step="buildCache", freed_bytes=7, freed_inodes=4000)
    status = OrderStatus(order_uid=order.uid, state="Finished", steps=(outcome,))
    stage.tell(Ordered(name="reclaim", status=status))
    turn = stage.observe(signals={"nodefs.inodesFree": "4k"})
    assert turn.event_messages == ["nodefs.inodesFree: 4,000 came back, which is enough"]
