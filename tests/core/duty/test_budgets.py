"""What a disruption budget allows, with figures worked out by hand, and that it is never broken."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.core.duty.stage import ACT, POD, UID, Responder, eviction, only, report

from evictd.core.duty import Assigned, Listed, Look, Neighbours, Phase
from evictd.core.duty.budgets import refusal
from evictd.core.effects import Stop, Tick
from evictd.core.rules import Budget, Portion
from evictd_schemas import Pod, RequesterStatus

TWO = Portion(amount=2)
WEB = {"app": "web"}


def pod(number: int, *, ready: bool = True, phase: str = "Running") -> Pod:
    """shop/web-N."""
    return Pod(
        namespace="shop",
        name=f"web-{number}",
        uid=str(UUID(int=number)),
        labels=WEB,
        ready=ready,
        phase=phase,
    )


def at_least(amount: int, *, percent: bool = False) -> Budget:
    """A budget of app=web that keeps so many."""
    portion = Portion(amount=amount, is_percent=percent)
    return Budget(name="web", match_labels=WEB, minimum_available=portion)


def at_most(amount: int, *, percent: bool = False) -> Budget:
    """A budget of app=web of which so many may be away."""
    portion = Portion(amount=amount, is_percent=percent)
    return Budget(name="web", match_labels=WEB, maximum_unavailable=portion)


@pytest.mark.parametrize(
    ("budget", "count", "free"),
    [
        (at_least(2), 3, 1),
        (at_least(2), 2, 0),
        (at_least(0), 1, 1),
        (at_least(5), 3, 0),
        (at_least(50, percent=True), 3, 1),  # 1.5 of 3 have to stay: 2
        (at_least(34, percent=True), 3, 1),  # 1.02: 2
        (at_least(0, percent=True), 3, 3),
        (at_least(100, percent=True), 3, 0),
        (at_most(1), 3, 1),
        (at_most(0), 3, 0),
        (at_most(5), 3, 3),
        (at_most(50, percent=True), 3, 2),  # 1.5 of 3 may go: 2
        (at_most(1, percent=True), 3, 1),  # 0.03: 1
        (at_most(100, percent=True), 3, 3),
    ],
)
def test_so_many_may_go_one_after_the_other(budget: Budget, count: int, free: int) -> None:
    """Percentages are of all expected ones and round up, for both kinds, as in Kubernetes."""
    pods = [pod(number) for number in range(count)]
    away: list[Pod] = []
    for one in pods:
        neighbours = Neighbours(pods=tuple(pods), away=tuple(away))
        if refusal([budget], one, neighbours) is None:
            away.append(one)
    assert len(away) == free


def test_a_refusal_tells_the_budget_and_its_figures() -> None:
    """Who reads the report knows what to wait for."""
    neighbours = Neighbours(pods=(pod(1), pod(2), pod(3, ready=False)))
    assert refusal([at_least(2)], pod(1), neighbours) == (
        "budget web (minAvailable 2) needs 2 healthy of 3, and 1 would be left"
    )
    assert refusal([at_most(25, percent=True)], pod(1), neighbours) == (
        "budget web (maxUnavailable 25%) needs 2 healthy of 3, and 1 would be left"
    )


def test_what_is_not_healthy_goes_only_while_the_others_are_enough() -> None:
    """Its end takes nothing away, but it may be about to become healthy."""
    sick = pod(3, ready=False)
    assert refusal([at_least(2)], sick, Neighbours(pods=(pod(1), pod(2), sick))) is None
    assert refusal([at_least(2)], sick, Neighbours(pods=(pod(1), sick))) is not None


@pytest.mark.parametrize(
    "going",
    [
        pod(1, phase="Pending"),
        pod(1, phase="Succeeded"),
        pod(1, phase="Failed"),
        structs.replace(pod(1), deletion_time=datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_what_does_not_run_or_is_leaving_may_always_go(going: Pod) -> None:
    """As in Kubernetes."""
    assert refusal([at_least(2)], going, Neighbours(pods=(going,))) is None


def test_what_evictd_has_stopped_is_still_expected() -> None:
    """Otherwise all of them could be stopped one by one, each under a budget of those left."""
    down = pod(1)
    neighbours = Neighbours(pods=(pod(2), pod(3)), away=(down,))
    assert refusal([at_most(1)], pod(2), neighbours) is not None
    again = structs.replace(down, uid=str(UUID(int=99)))
    back = structs.replace(neighbours, pods=(again, pod(2), pod(3)))
    assert refusal([at_most(1)], pod(2), back) is None


def test_a_budget_is_about_its_namespace_and_labels_only() -> None:
    """Others neither count nor are kept."""
    other = structs.replace(pod(2), labels={"app": "db"})
    abroad = structs.replace(pod(3), namespace="blog")
    home = structs.replace(at_least(1), namespace="shop")
    neighbours = Neighbours(pods=(pod(1), other, abroad))
    assert refusal([home], other, neighbours) is None
    assert refusal([home], abroad, neighbours) is None
    assert refusal([home], pod(1), neighbours) is not None
    assert refusal([at_least(1)], pod(1), neighbours) is None


def test_where_not_all_is_known_nothing_goes() -> None:
    """A workload that is not listed may be the one that is down."""
    neighbours = Neighbours(pods=(pod(1), pod(2), pod(3)), problem="docker does not answer")
    assert refusal([at_least(1)], pod(1), neighbours) == (
        "budget web (minAvailable 1) cannot be judged: docker does not answer"
    )


@given(
    st.one_of(
        st.builds(at_least, st.integers(0, 8)),
        st.builds(at_most, st.integers(0, 8)),
        st.builds(at_least, st.integers(0, 100), percent=st.just(value=True)),
        st.builds(at_most, st.integers(0, 100), percent=st.just(value=True)),
    ),
    st.lists(st.booleans(), min_size=1, max_size=8),
    st.lists(st.tuples(st.sampled_from(["evict", "gone", "sick", "well"]), st.integers(0, 7))),
)
def test_no_order_of_evictions_goes_below_a_budget(
    budget: Budget, healthy: list[bool], story: list[tuple[str, int]]
) -> None:
    """Whatever becomes sick or well in between, and whether or not what was stopped is listed
    still: the stop itself never leaves fewer healthy ones than the budget asks for."""
    listed = {number: pod(number, ready=ready) for number, ready in enumerate(healthy)}
    away: dict[int, Pod] = {}
    needed = budget.healthy_needed(len(healthy))
    for what, number in story:
        if number not in listed:
            continue
        if what in ("sick", "well"):
            listed[number] = structs.replace(listed[number], ready=what == "well")
        elif what == "gone" and number in away:
            del listed[number]
        elif what == "evict" and number not in away:
            neighbours = Neighbours(pods=tuple(listed.values()), away=tuple(away.values()))
            if refusal([budget], listed[number], neighbours) is None:
                away[number] = listed[number]
                left = [one for key, one in listed.items() if one.ready and key not in away]
                assert len(left) >= needed


LABELLED = structs.replace(POD, labels=WEB)
KEPT = structs.replace(ACT, budgets=(at_least(1),))
ALONE = Listed(uid=UID, pod=LABELLED, neighbours=Neighbours(pods=(LABELLED,)))


def wanted_by(*requesters: str, kind: str = "Soft", dry_run: bool = False) -> Assigned:
    """The Eviction, with those who want it."""
    found = eviction(kind=kind, dry_run=dry_run)
    names = tuple(RequesterStatus(name=name, intent="Eviction") for name in requesters)
    return Assigned(
        eviction=structs.replace(found, status=structs.replace(found.status, requesters=names))
    )


def test_a_refusal_is_reported_with_attempts_and_cause_and_is_tried_again() -> None:
    """Upstream's 429: 5 s doubling to ten minutes, a sign of life each three minutes; nothing is
    stopped and the wish may still be taken back."""
    responder = Responder(KEPT)
    assert responder(wanted_by("acme.io/mover")) == (
        Look(pod=responder.duty.target, everyone=True),
    )
    pauses = []
    for attempt in range(1, 10):
        effects = responder(ALONE)
        assert only(effects, Stop) == []
        assert report(effects).message == (
            f"stop refused (attempts={attempt}) cause=budget: shop/web: budget web "
            "(minAvailable 1) needs 1 healthy of 1, and 0 would be left"
        )
        assert not report(effects).point_of_no_return
        assert report(effects).completion_time is None
        setback = report(effects).setback
        assert setback is not None
        assert (setback.cause, setback.attempts) == ("Budget", attempt)
        pauses.append(responder.duty.next_boot_seconds - responder.seconds)
        beats = []
        while responder.duty.phase is Phase.PAUSING:
            rest = responder.duty.next_boot_seconds - responder.seconds
            beats.append(report(responder(Tick(), after=min(rest, 180))).heartbeat_time)
        assert len(beats) == -(-pauses[-1] // 180)
    assert pauses == [5, 10, 20, 40, 80, 160, 320, 600, 600]


def test_it_goes_as_soon_as_a_look_finds_enough_others() -> None:
    """The next attempt is not a refusal any more."""
    responder = Responder(KEPT)
    responder(wanted_by("acme.io/mover"))
    responder(ALONE)
    responder(Tick(), after=5)
    both = Neighbours(pods=(LABELLED, pod(2)))
    effects = responder(Listed(uid=UID, pod=LABELLED, neighbours=both))
    assert len(only(effects, Stop)) == 1


def test_node_pressure_ignores_budgets_and_says_so() -> None:
    """It does not even wait until everyone has been looked at."""
    responder = Responder(KEPT)
    look = responder(wanted_by("acme.io/mover", "evictd.io/node-pressure"))
    assert look == (Look(pod=responder.duty.target, everyone=False),)
    effects = responder(Listed(uid=UID, pod=LABELLED))
    assert len(only(effects, Stop)) == 1
    assert report(effects).message == (
        "stopping shop/web with a grace of 30 s; node pressure ignores budget web (minAvailable 1)"
    )


def test_node_pressure_ends_the_pause_of_a_refusal_at_once() -> None:
    """A workload that a budget has kept is taken when the machine needs it."""
    responder = Responder(KEPT)
    responder(wanted_by("acme.io/mover"))
    responder(ALONE)
    effects = responder(wanted_by("acme.io/mover", "evictd.io/node-pressure"), after=1)
    assert Look(pod=responder.duty.target) in effects
    assert len(only(responder(Listed(uid=UID, pod=LABELLED)), Stop)) == 1


def test_a_look_taken_for_node_pressure_does_not_serve_anybody_else() -> None:
    """It withdrew in between: everyone is looked at before the budget is judged."""
    responder = Responder(KEPT)
    responder(wanted_by("acme.io/mover", "evictd.io/node-pressure"))
    responder(wanted_by("acme.io/mover"))
    effects = responder(Listed(uid=UID, pod=LABELLED))
    assert only(effects, Stop) == []
    assert "not everyone was looked at" in report(effects).message


@pytest.mark.parametrize("kind", ["Soft", "SoftWithDeadline", "Hard"])
def test_a_budget_holds_for_every_type_of_request(kind: str) -> None:
    """Only the requester counts."""
    responder = Responder(KEPT)
    responder(wanted_by("evictd.io/local-storage", kind=kind))
    assert only(responder(ALONE), Stop) == []


def test_a_dry_run_tells_what_the_budget_would_do() -> None:
    """And completes."""
    responder = Responder(KEPT)
    responder(wanted_by("acme.io/mover", dry_run=True))
    last = report(responder(ALONE))
    assert last.message.startswith("would not stop shop/web: budget web (minAvailable 1)")
    assert last.completion_time is not None


def test_what_has_gone_by_itself_needs_no_leave() -> None:
    """It was listed before, and every runtime says that it is not there any more."""
    responder = Responder(KEPT)
    responder(wanted_by("acme.io/mover"))
    responder(ALONE)
    responder(Tick(), after=5)
    effects = responder(Listed(uid=UID, pod=None, neighbours=Neighbours()))
    assert len(only(effects, Stop)) == 1


def test_what_is_not_listed_while_something_is_missing_stays() -> None:
    """Its runtime may only be out of reach."""
    responder = Responder(KEPT)
    responder(wanted_by("acme.io/mover"))
    responder(ALONE)
    responder(Tick(), after=5)
    missing = Neighbours(problem="docker does not list everything")
    assert only(responder(Listed(uid=UID, pod=None, neighbours=missing)), Stop) == []
