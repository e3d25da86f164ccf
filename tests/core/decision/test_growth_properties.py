"""Whatever is written, lost and given back: a crossing of a disk's line costs at most one workload,
and only one that grew."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.decision.stage import Stage, pod_of, rules_of

from evictd_schemas import ContainerStatistics, FileSystemStatistics, PodStatistics

NAMES = ("one", "two", "three")
GIB = 1 << 30

Step = tuple[int, tuple[int, int, int], int]
steps = st.lists(
    st.tuples(
        st.integers(0, 9),  # GiB available
        st.tuples(*(st.integers(0, 3) for _ in NAMES)),  # GiB that each writes
        st.sampled_from([5, 30, 90, 400]),  # seconds
    ),
    min_size=2,
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_a_crossing_costs_at_most_one_and_only_one_that_grew(story: list[Step]) -> None:
    stage = Stage(rules_of("nodefs.available<4Gi", "imagefs.available<4Gi", reclaim_steps=()))
    held = dict.fromkeys(NAMES, 0)
    grew: dict[str, int] = dict.fromkeys(NAMES, 0)
    stopped: list[str] = []
    for available, written, seconds in story:
        for name, amount in zip(NAMES, written, strict=True):
            held[name] += amount * GIB
            grew[name] += amount
        present = [name for name in NAMES if name not in stopped]
        stage.pods = [
            pod_of(
                name,
                stats=PodStatistics(
                    containers=(
                        ContainerStatistics(
                            name="c", rootfs=FileSystemStatistics(used_bytes=held[name])
                        ),
                    )
                ),
            )
            for name in present
        ]
        left = f"{available}Gi"
        signals = {"nodefs.available": left, "imagefs.available": left}
        turn = stage.observe(signals=signals, after=seconds)
        assert stage.pressure is not None
        status = {item.type: item.status for item in stage.pressure.conditions}
        if status["DiskPressure"] == "False":
            stopped.clear()
            assert turn.victims == []
        for name in turn.victims:
            assert grew[name] > 0
            stopped.append(name)
            stage.gone(name)
            stage.answer(name)
        assert len(stopped) <= 1
