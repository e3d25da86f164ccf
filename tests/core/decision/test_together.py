"""Groups go together, and what needs a workload goes before it. [design, profile host]"""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.decision.stage import NODE, START, Stage, pod_of, rules_of, uid_of

from evictd.core.decision import Answered, Recalled, Retained, Wished
from evictd.core.decision.candidates import MAY_GO, Verdict
from evictd.core.decision.together import bonds, bound, chosen
from evictd.core.pods import reference
from evictd.core.rules import Candidates, Mode
from evictd.core.wording import name_text
from evictd_schemas import (
    Condition,
    EvictionRequest,
    EvictionRequestSpec,
    Pod,
    PodTarget,
    RankedPod,
    Reason,
    RequestStatus,
    Target,
    Wish,
    topics,
)

HARD = "memory.available<1Gi"
LIMIT = topics.REQUEST.at(
    NODE, domain="evictd.io", key="local-storage", namespace="shop", name="web-1"
)
GONE = RequestStatus(
    uid="limit",
    generation=1,
    creation_timestamp=START,
    conditions=(Condition(type="TargetEvicted", status="True", reason="PodDeleted"),),
)


def stack(stage: Stage) -> Stage:
    """A web server that needs a database, which uses more, and somebody else."""
    stage.pod("db", uses="3Gi", priority=-10)
    stage.pod("web", uses="1Gi", depends_on=("shop/db",))
    stage.pod("batch", uses="512Mi", priority=-5)
    return stage


def evicted(stage: Stage, memory: str = "900Mi") -> list[str]:
    """Everybody who is asked to go, one after the other, until nobody is."""
    told: list[str] = []
    while victims := stage.observe(memory).victims:
        assert len(victims) == 1
        told += victims
        stage.gone(victims[0])
        stage.answer(victims[0])
    return told


def test_what_needs_the_first_goes_before_it_when_its_own_turn_has_come() -> None:
    """The database is the first by priority; it waits for the web server's turn, and the one
    between them goes first."""
    assert evicted(stack(Stage(rules_of(HARD)))) == ["batch", "web", "db"]


def test_the_order_says_why() -> None:
    stage = stack(Stage(rules_of(HARD)))
    decision = stage.observe("900Mi").decision
    assert decision is not None
    told = {
        row.pod.name: (row.verdict, row.why.partition("priority ")[2]) for row in decision.ranking
    }
    assert told == {
        "db": ("Candidate", "-10; after shop/web, needing it"),
        "batch": ("Victim", "-5"),
        "web": ("Candidate", "0"),
    }


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [({"protected": True}, "Protected"), ({"critical": True}, "Critical")],
)
def test_what_is_needed_by_somebody_who_never_goes_stays(
    fields: dict[str, bool], verdict: str
) -> None:
    """Its end would be the end of the protected one."""
    stage = Stage(rules_of(HARD))
    stage.pod("db", uses="3Gi")
    stage.pod("web", uses="1Gi", depends_on=("shop/db",), **fields)
    turn = stage.observe("900Mi")
    assert turn.verdicts() == {"db": verdict, "web": verdict}
    assert turn.decision is not None
    assert turn.decision.ranking[0].why == (
        f"shop/web needs it and stays ({verdict}); uses 3Gi and asked for none; priority 0"
    )


def test_under_labels_what_an_unlabelled_one_needs_stays() -> None:
    """Nobody has let the web server go."""
    stage = Stage(rules_of(HARD, candidates=Candidates.LABELLED))
    stage.pod("db", uses="3Gi", labelled=True)
    stage.pod("web", uses="1Gi", depends_on=("shop/db",))
    stage.pod("batch", uses="512Mi", labelled=True)
    assert evicted(stage) == ["batch"]


def test_a_group_goes_together_though_the_first_was_enough() -> None:
    """One after the other, those that need others first; each by a request of its own."""
    stage = Stage(rules_of(HARD))
    stage.pod("db", uses="3Gi", group="app")
    stage.pod("web", uses="1Gi", group="app", depends_on=("shop/db",))
    stage.pod("cache", uses="512Mi", group="app")
    stage.pod("other", uses="256Mi")
    turn = stage.observe("900Mi")
    assert turn.victims == ["web"]
    assert turn.decision is not None
    victim = next(row for row in turn.decision.ranking if row.verdict == "Victim")
    assert victim.why.endswith("together with shop/db, shop/cache (group app)")
    stage.gone("web")
    stage.answer("web")
    following = stage.observe("8Gi", after=0.1)
    assert following.victims == ["db"]
    reason = following.requests[0].spec.reason
    assert reason is not None
    assert reason.message == "It goes only together with shop/web, group app. "
    stage.gone("db")
    stage.answer("db")
    assert stage.observe("8Gi", after=0.1).victims == ["cache"]
    stage.gone("cache")
    stage.answer("cache")
    assert stage.observe("8Gi", after=0.1).victims == []


def test_a_group_goes_when_the_most_important_of_it_has_its_turn() -> None:
    """So that nobody important goes for something that is not."""
    stage = Stage(rules_of(HARD))
    stage.pod("cache", uses="3Gi", group="app", priority=-100)
    stage.pod("db", uses="1Gi", group="app", priority=100)
    stage.pod("batch", uses="512Mi")
    assert evicted(stage) == ["batch", "cache", "db"]


def test_the_same_word_in_another_project_is_another_group() -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="3Gi", group="app")
    stage.pod("web", uses="1Gi", group="app", namespace="blog", uid=reference(pod_of("b")).uid)
    assert stage.observe("900Mi").victims == ["web"]
    stage.pods = stage.pods[1:]
    stage.answer("web")
    assert stage.observe("8Gi").victims == []


def test_a_group_with_one_who_is_held_stays() -> None:
    """Until the hold is over."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="3Gi", group="app")
    stage.pod("db", uses="1Gi", group="app")
    wish = Wish(verb="Hold", target="shop/db", include_hard=True)
    stage.tell(Wished(topic="wishes/one", wish=wish))
    assert stage.observe("900Mi").verdicts() == {"web": "Held", "db": "Held"}
    stage.tell(Wished(topic="wishes/one", wish=None))
    assert stage.observe("900Mi").victims == ["web"]


def test_who_could_not_be_evicted_is_followed_by_nobody() -> None:
    """The rest of the group stays, since it would not be all of it."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="3Gi", group="app")
    stage.pod("db", uses="1Gi", group="app")
    stage.pod("batch", uses="512Mi")
    assert stage.observe("900Mi").victims == ["web"]
    stage.answer("web", kind="Failed", reason="NoFurtherResponder")
    assert stage.observe("900Mi").verdicts() == {"web": "Failed", "db": "Failed", "batch": "Victim"}


@pytest.mark.parametrize("how", ["protected", "held", "gone"])
def test_a_companion_that_may_not_go_any_more_is_passed_over(how: str) -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="3Gi", group="app")
    stage.pod("db", uses="1Gi", group="app")
    stage.pod("cache", uses="512Mi", group="app")
    stage.observe("900Mi")
    stage.gone("web")
    stage.answer("web")
    stage.gone("db")
    if how == "protected":
        stage.pod("db", uses="1Gi", group="app", protected=True)
    if how == "held":
        stage.pod("db", uses="1Gi", group="app")
        wish = Wish(verb="Hold", target="shop/db", include_hard=True)
        stage.tell(Wished(topic="wishes/one", wish=wish))
    assert stage.observe("8Gi", after=0.1).victims == ["cache"]


def test_after_a_restart_the_rest_of_the_group_follows() -> None:
    """The request on the bus says who comes after it."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="3Gi", group="app")
    stage.pod("db", uses="1Gi", group="app")
    stage.observe("900Mi")
    stage.restart()
    stage.gone("web")
    stage.answer("web")
    assert stage.observe("8Gi").victims == ["db"]


def three() -> Stage:
    """A group of which the first is asked to go."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="3Gi", group="app")
    stage.pod("db", uses="1Gi", group="app")
    stage.pod("cache", uses="512Mi", group="app")
    assert stage.observe("900Mi").victims == ["web"]
    return stage


def test_a_restart_between_an_end_and_the_next_request_loses_nobody() -> None:
    """The request of who has gone stays on the bus until the next one is there."""
    stage = three()
    stage.gone("web")
    stage.answer("web", uid="one")
    stage.restart()
    stage.answer("web", uid="one")
    turn = stage.observe("8Gi", after=0.1)
    assert (turn.victims, len(stage.standing)) == (["db"], 1)


def test_a_restart_after_the_next_request_asks_nobody_twice_or_too_soon() -> None:
    """Both requests are found, and the next but one still waits for the next."""
    stage = three()
    stage.crash_before_clearing("web")
    assert stage.observe("8Gi", after=0.1).victims == []
    stage.gone("db")
    stage.answer("db")
    assert stage.observe("8Gi", after=0.1).victims == ["cache"]
    stage.gone("cache")
    stage.answer("cache")
    stage.observe("8Gi", after=0.1)
    assert stage.standing == {}


def over_its_limit() -> EvictionRequest:
    """The web server is asked to go for a reason of its own."""
    return EvictionRequest(
        spec=EvictionRequestSpec(
            target=Target(pod=PodTarget(name="web", uid=uid_of("web"))),
            requester="evictd.io/local-storage",
            intent="Eviction",
            type="Hard",
            reason=Reason(signal="emptydirfs.limit"),
        )
    )


def test_who_is_on_the_way_already_is_waited_for_before_the_next_has_its_turn() -> None:
    """Whoever is needed by it must not go before it."""
    stage = Stage(rules_of(HARD, local_storage_capacity_isolation=True))
    stage.pod("db", uses="3Gi", group="app")
    stage.pod("web", uses="1Gi", group="app", depends_on=("shop/db",))
    stage.pod("proxy", uses="1Gi", group="app", depends_on=("shop/web",))
    assert stage.observe("900Mi").victims == ["proxy"]
    stage.tell(Recalled(decision=None, requests=(Retained(topic=LIMIT, request=over_its_limit()),)))
    stage.gone("proxy")
    stage.answer("proxy")
    assert stage.observe("8Gi", after=0.1).victims == []
    stage.gone("web")
    stage.tell(Answered(topic=LIMIT, status=GONE))
    assert stage.observe("8Gi", after=0.1).victims == ["db"]


def test_nobody_follows_who_was_let_off_but_went_all_the_same() -> None:
    """It was past the point of no return. The rest need not go: who has gone comes back."""
    stage = three()
    stage.observe("8Gi")
    assert stage.observe("8Gi", after=301).withdrawn == ["web"]
    stage.gone("web")
    stage.answer("web")
    assert stage.observe("8Gi", after=0.1).victims == []
    assert stage.standing == {}


def test_who_did_not_go_ends_its_group_after_a_restart_too() -> None:
    """The request of the one before it is found again, and asks nobody a second time."""
    stage = three()
    stage.crash_before_clearing("web")
    stage.observe("8Gi", after=0.1)
    stage.answer("db", kind="Failed", reason="NoFurtherResponder")
    assert stage.observe("8Gi", after=0.1).victims == []
    assert stage.standing == {}


def test_nobody_follows_where_the_node_is_only_observed_now() -> None:
    """The mode of now counts. [design, law 8]"""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="3Gi", group="app")
    stage.pod("db", uses="1Gi", group="app")
    stage.observe("900Mi")
    stage.gone("web")
    stage.answer("web")
    stage.rules = rules_of(HARD, mode=Mode.OBSERVE)
    assert stage.observe("8Gi").victims == []
    assert stage.standing == {}
    stage.rules = rules_of(HARD)
    assert stage.observe("8Gi").victims == []


def test_a_kubelet_knows_neither_groups_nor_needs() -> None:
    """There each pod is on its own."""
    stage = Stage(rules_of(HARD, kubelet=True))
    stage.pod("db", uses="3Gi", group="app")
    stage.pod("web", uses="1Gi", group="app", depends_on=("shop/db",), protected=True)
    turn = stage.observe("900Mi")
    assert turn.victims == ["db"]
    stage.gone("db")
    stage.answer("db")
    assert stage.observe("8Gi").victims == []


@st.composite
def neighbours(draw: st.DrawFn) -> list[Pod]:
    """Some pods in order, with groups and needs of every kind, rings too."""
    count = draw(st.integers(1, 6))
    names = [f"pod-{number}" for number in range(count)]
    return [
        pod_of(
            name,
            group=draw(st.sampled_from([None, "a", "b"])),
            depends_on=tuple(
                f"shop/{other}" for other in draw(st.lists(st.sampled_from(names), max_size=2))
            ),
        )
        for name in names
    ]


VERDICTS = st.sampled_from([Verdict.CANDIDATE, Verdict.CANDIDATE, Verdict.PROTECTED, Verdict.HELD])


@given(neighbours(), st.data())
def test_a_unit_is_closed_and_free_and_in_order(pods: list[Pod], data: st.DataObject) -> None:
    """Whatever needs or accompanies one of them is one of them; none of them has to stay; and
    nobody goes before what needs it, unless they need each other in a ring."""
    order = [RankedPod(pod=reference(pod), verdict=data.draw(VERDICTS), why="") for pod in pods]
    known, by_uid = bonds(pods), {pod.uid: pod for pod in pods}
    rows = bound(known, by_uid, order)
    unit = chosen(known, by_uid, rows)
    verdicts = {row.pod.uid: row.verdict for row in order}
    names = [name_text(pod) for pod in unit]
    for pod in pods:
        near = pod.group and any(pod.group == one.group for one in unit)
        if near or any(name in pod.depends_on for name in names):
            assert pod in unit
    assert all(verdicts[pod.uid] in MAY_GO for pod in unit)
    assert bool(unit) == any(row.verdict in MAY_GO for row in rows)
    for index, pod in enumerate(unit):
        later = unit[index + 1 :]
        if any(name_text(pod) in other.depends_on for other in later):
            assert _ring(pod, later)


def _ring(pod: Pod, later: Sequence[Pod]) -> bool:
    """Whether those that go later need each other, so that somebody has to begin."""
    named = {name_text(other) for other in (pod, *later)}
    return all(
        any(name_text(one) in other.depends_on for other in (pod, *later) if other is not one)
        for one in (pod, *later)
        if name_text(one) in named
    ) or any(name_text(other) in pod.depends_on for other in later)
