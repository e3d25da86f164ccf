"""What holds for every node, whatever is observed and however messages arrive."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.decision.stage import Stage, pod_of, rules_of

from evictd.core.decision import Judged
from evictd.core.decision.ranking import Key, Place, comparators, rank
from evictd.core.rules import HOST, KUBELET, Mode, Profile
from evictd.core.signals.names import resource_of
from evictd_schemas import Layout, Pod

SIGNALS = (
    "memory.available",
    "allocatableMemory.available",
    "pid.available",
    "nodefs.available",
    "imagefs.inodesFree",
)
LINES = ("memory.available<1Gi", "memory.available<2Gi/60")
MEMORY = st.sampled_from(["512Mi", "1Gi", "1536Mi", "2Gi", "4Gi"])
STEPS = st.sampled_from([0.1, 1.0, 10.0, 29.0, 31.0, 60.0, 300.0])


@st.composite
def pods(draw: st.DrawFn) -> list[Pod]:
    """Some pods; a few critical, protected, or without statistics."""
    return [
        pod_of(
            f"pod-{number}",
            uses=draw(st.sampled_from([None, "0", "64Mi", "256Mi", "1Gi"])),
            asks=draw(st.sampled_from([None, "64Mi", "256Mi"])),
            priority=draw(st.sampled_from([None, -5, 0, 7, 2_000_000_000])),
            critical=draw(st.booleans()) and draw(st.booleans()),
            protected=draw(st.booleans()) and draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, 6)))
    ]


PROFILES = st.sampled_from([KUBELET, HOST])


def keys_of(profile: Profile, signal: str, order: Sequence[Place]) -> list[list[Key]]:
    """What was compared, place by place."""
    resource = resource_of(signal)
    assert resource is not None
    return [[by(place) for by in comparators(profile, resource)] for place in order]


@given(pods(), PROFILES, st.sampled_from(SIGNALS), st.randoms(use_true_random=False))
def test_the_order_is_total_and_independent_of_the_list(
    listed: list[Pod], profile: Profile, signal: str, random: Any
) -> None:
    """Everybody has one place; a shuffled list gives the same keys in the same order."""
    order = rank(profile, signal, Layout(), listed)
    assert sorted(place.pod.name for place in order) == sorted(pod.name for pod in listed)
    shuffled = list(listed)
    random.shuffle(shuffled)
    again = rank(profile, signal, Layout(), shuffled)
    assert keys_of(profile, signal, again) == keys_of(profile, signal, order)


@given(pods(), PROFILES, st.sampled_from(SIGNALS))
def test_the_order_is_stable(listed: list[Pod], profile: Profile, signal: str) -> None:
    """Ranking what is ranked changes nothing, so that ties keep the order given."""
    once = [place.pod for place in rank(profile, signal, Layout(), listed)]
    assert [place.pod for place in rank(profile, signal, Layout(), once)] == once


@settings(deadline=None)
@given(
    pods(),
    st.lists(st.tuples(MEMORY, STEPS, st.sampled_from(["", "ends", "fails", "goes"])), max_size=12),
    st.booleans(),
    st.sampled_from(list(Mode)),
)
def test_at_most_one_pressure_victim_a_pass_and_never_an_exempt_one(
    listed: list[Pod], looks: list[tuple[str, float, str]], kubelet: bool, mode: Mode
) -> None:
    """Whatever is observed, in whatever rhythm, and however evictions end."""
    stage = Stage(rules_of(*LINES, kubelet=kubelet, mode=mode))
    stage.pods = listed
    exempt = {
        pod.name
        for pod in listed
        if pod.critical or pod.protected or (pod.priority or 0) >= 2_000_000_000
    }
    for memory, seconds, end in looks:
        turn = stage.observe(memory, after=seconds)
        assert len(turn.victims) <= 1
        assert exempt.isdisjoint(turn.victims)
        assert list(turn.verdicts().values()).count("Victim") <= 1
        assert mode is not Mode.OBSERVE or not turn.requests
        for request in list(stage.standing.values()):
            assert request.spec.target.pod is not None
            name = request.spec.target.pod.name
            if end == "goes":
                stage.gone(name)
            if end in ("ends", "goes"):
                stage.answer(name)
            elif end == "fails":
                stage.answer(name, "Failed", "NoFurtherResponder")


@settings(deadline=None)
@given(
    st.lists(st.tuples(MEMORY, STEPS), min_size=1, max_size=10),
    st.lists(st.integers(0, 9), max_size=12),
    st.booleans(),
)
def test_repeats_and_late_ones_neither_lose_nor_double_an_eviction(
    looks: list[tuple[str, float]], repeats: list[int], kubelet: bool
) -> None:
    """The same Pressures once, and with some of them again at any later time."""
    plain, noisy = (Stage(rules_of(*LINES, kubelet=kubelet)) for _ in range(2))
    for stage in (plain, noisy):
        stage.pods = [pod_of(f"pod-{number}", uses="1Gi") for number in range(5)]
    heard: list[Judged] = []
    asked: list[str] = []
    expected: list[str] = []
    for index, (memory, seconds) in enumerate(looks):
        expected += plain.observe(memory, after=seconds).victims
        found = noisy.judge(memory, after=seconds)
        assert found is not None
        heard.append(found)
        asked += noisy.tell(found).victims
        for repeat in repeats:
            if repeat <= index:
                asked += noisy.tell(heard[repeat]).victims
    assert asked == expected
    assert noisy.standing == plain.standing


@settings(deadline=None)
@given(st.lists(st.tuples(MEMORY, STEPS, st.booleans()), max_size=10))
def test_what_piled_up_may_be_coalesced(looks: list[tuple[str, float, bool]]) -> None:
    """However many Pressures were dropped before it, the newest decides: while memory is below the
    hard line somebody is asked to go."""
    stage = Stage(rules_of("memory.available<1Gi", kubelet=True))
    stage.pods = [pod_of("only", uses="1Gi")]
    for memory, seconds, dropped in looks:
        found = stage.judge(memory, after=seconds)
        assert found is not None
        if not dropped:
            stage.tell(found)
    stage.observe("512Mi")
    assert [request.spec.intent for request in stage.standing.values()] == ["Eviction"]


@settings(deadline=None)
@given(st.lists(st.tuples(MEMORY, STEPS, st.booleans()), max_size=12), st.booleans())
def test_a_restart_at_any_moment_doubles_nothing(
    looks: list[tuple[str, float, bool]], kubelet: bool
) -> None:
    """At most one running request for memory, however often the evictor begins anew."""
    stage = Stage(rules_of("memory.available<1Gi", kubelet=kubelet))
    stage.pods = [pod_of(f"pod-{number}", uses="1Gi") for number in range(5)]
    for memory, seconds, restarted in looks:
        stage.observe(memory, after=min(seconds, 1.0))
        if restarted:
            stage.restart()
        assert len(stage.standing) <= 1
