"""What a person wishes about those that are down, what comes of it, and how it is answered."""

from datetime import timedelta, timezone

import pytest
from tests.core.decision.household import HARD, Household, household, names, ordered
from tests.core.decision.stage import START, Turn, uid_of
from tests.core.decision.test_reclaiming import limited

from evictd.core.decision import Gone
from evictd_schemas import Order, WishAnswer

FORGET = "evictd/v1/edge/orders/forget"


def answer(stage: Household) -> tuple[str, str] | None:
    """State and sentence of the one wish, as the last Decision tells them."""
    decision = stage.plan.decision
    answers: tuple[WishAnswer, ...] = () if decision is None else decision.wishes
    return (answers[0].state, answers[0].message) if answers else None


def forgets(turn: Turn) -> list[str]:
    """Whose records are to go."""
    return [
        order.target.name
        for order in turn.orders
        if order.kind == "Forget" and order.target is not None
    ]


def fallen_again() -> Household:
    """Who waits for a person was brought back because of a wish, which stands, and fell again."""
    stage = household()
    stage.fell("web", restore="never")
    stage.wish("Restore", "shop/web")
    stage.status(ordered(stage.calm()), "Finished")
    stage.pod("web", uid=uid_of("web 2"))
    stage.calm()
    stage.fell("web", life=2, restore="never")
    return stage


@pytest.mark.parametrize(
    "fields",
    [
        {"restore": "manual"},
        {"restore": "never"},
        {"signal": "nodefs.available"},
        {"signal": None},
        {"attempts": 9},
    ],
)
def test_a_person_overrules_who_was_to_decide_and_the_back_off(fields: dict[str, object]) -> None:
    stage = household()
    stage.fell("web", **fields)
    assert not stage.calm().orders
    told = stage.wish("Restore", "shop/web")
    assert told.event_messages[0].endswith(
        "shop/web will be started; the next look at the machine tells when"
    )
    turn = stage.calm()
    assert names(turn) == ["web"]
    assert answer(stage) == ("Waiting", "shop/web is started now")
    end = stage.status(ordered(turn), "Finished")
    assert end.events == ["Restored", "WishAnswered"]
    stage.calm()
    assert answer(stage) == ("Done", "shop/web is not down any more")


def test_a_wish_is_done_once_and_a_later_fall_is_another_matter() -> None:
    stage = fallen_again()
    assert not any(stage.calm(after=4000).orders for _ in range(5))


@pytest.mark.parametrize(
    ("memory", "sentence"),
    [
        ("1100Mi", "there is no room for the 1Gi that it used last"),
        ("512Mi", "memory.available is below its line"),
    ],
)
def test_a_wish_makes_no_room(memory: str, sentence: str) -> None:
    """It waits, and says for what."""
    stage = household()
    stage.fell("web", used="1Gi", restore="never")
    stage.wish("Restore", "shop/web")
    assert not any(names(stage.calm(memory)) for _ in range(5))
    state, message = answer(stage) or ("", "")
    assert state == "Waiting"
    if memory == "1100Mi":
        assert message == f"shop/web will be started, but {sentence}"


def test_a_condition_that_holds_keeps_everybody_down_whatever_it_is_about() -> None:
    """Who is started writes, too."""
    stage = household("memory.available<1Gi", "nodefs.available<1Gi", reclaim_steps=())
    stage.fell("web")
    stage.wish("Restore", "shop/web")
    full = {"nodefs.available": "512Mi"}
    assert not any(names(stage.observe("8Gi", signals=full)) for _ in range(5))
    free = {"nodefs.available": "8Gi"}
    turns = [names(stage.observe("8Gi", signals=free)) for _ in range(40)]
    assert turns.index(["web"]) >= 29  # the transition period of DiskPressure


def test_who_is_wished_for_goes_first_and_one_at_a_time() -> None:
    stage = household()
    for name in ("web", "batch", "late"):
        stage.seconds += 10
        stage.fell(name)
    stage.wish("Restore", "shop/web")
    first = stage.calm()
    assert names(first) == ["web"]
    assert not any(stage.calm().orders for _ in range(3))


def test_everything_may_be_wished_for() -> None:
    stage = household()
    for name in ("web", "batch"):
        stage.seconds += 10
        stage.fell(name, restore="never")
    stage.wish("Restore")
    for name in ("batch", "web"):
        turn = stage.calm(after=40)
        assert names(turn) == [name]
        stage.status(ordered(turn), "Finished")
        stage.lifted(name)
    stage.calm()
    assert answer(stage) == ("Done", "everything is not down any more")


def test_what_it_depends_on_still_comes_first() -> None:
    stage = household()
    stage.fell("db", restore="manual")
    stage.fell("web", restore="manual", depends_on=("shop/db",))
    stage.wish("Restore", "shop/web")
    assert not any(stage.calm().orders for _ in range(5))
    assert answer(stage) == ("Waiting", "shop/web will be started, but shop/db comes first")


def test_what_is_needed_has_to_run_for_a_moment_where_no_check_tells() -> None:
    """A start in the future is a clock that was set."""
    stage = household()
    stage.fell("web", depends_on=("shop/db",))
    stage.pod("db", start_time=stage.now.utc + timedelta(seconds=8))
    assert not stage.calm(after=10).orders
    assert names(stage.calm(after=3)) == ["web"]
    other = household()
    other.fell("web", depends_on=("shop/db",))
    other.pod("db", start_time=START + timedelta(days=1))
    assert names(other.calm()) == ["web"]


@pytest.mark.parametrize("target", [None, "shop/web"])
def test_while_it_is_held_nobody_starts_it(target: str | None) -> None:
    """Not even on a wish; a start that was ordered already is taken back at once."""
    stage = household()
    stage.fell("web")
    ordered(stage.calm())
    end = stage.now.utc + timedelta(seconds=100)
    turn = stage.wish("Hold", target, until=end)
    assert "evictd/v1/edge/orders/restore" in turn.retracted
    assert turn.events == ["WishAnswered"]
    while stage.now.utc < end - timedelta(seconds=10):
        assert not stage.calm().orders
        assert stage.plan.decision is not None
        assert stage.plan.decision.absent[0].why.startswith("held until ")
    assert names(stage.calm()) == ["web"]


def test_a_hold_of_another_one_holds_only_that() -> None:
    stage = household()
    stage.fell("web")
    stage.wish("Hold", "shop/other")
    assert names(stage.calm()) == ["web"]


def test_a_request_for_what_is_held_is_withdrawn() -> None:
    """A hard one only where the hold says so."""
    for include_hard in (False, True):
        stage = household()
        stage.pod("hog", uses="8Gi")
        assert stage.observe("512Mi").victims == ["hog"]
        stage.wish("Hold", "shop/hog", include_hard=include_hard)
        assert stage.observe("512Mi").withdrawn == (["hog"] if include_hard else [])


def test_the_end_of_a_hold_is_told_in_utc() -> None:
    stage = household()
    stage.wish("Hold", until=START.astimezone(timezone(timedelta(hours=2))) + timedelta(hours=1))
    stage.calm()
    assert stage.plan.decision is not None
    (told,) = stage.plan.decision.wishes
    assert told.until is not None
    assert told.until.isoformat() == "2026-01-01T01:00:00+00:00"


def test_a_hold_is_answered_and_expires() -> None:
    stage = household()
    turn = stage.wish("Hold", until=START + timedelta(seconds=60))
    (told,) = turn.event_messages
    assert told == (
        "Hold of acme.io/ann/mine: everything is left alone until 2026-01-01T00:01:00Z, "
        "but for hard evictions"
    )
    assert stage.wish("Hold", until=START + timedelta(seconds=60)).events == []
    stage.calm()
    state = answer(stage)
    assert state is not None
    assert state[0] == "InForce"
    assert stage.calm(after=60).events == ["WishAnswered"]
    assert answer(stage) == ("Expired", "its time is over")
    stage.wish(None)
    stage.calm()
    assert answer(stage) is None


@pytest.mark.parametrize("verb", ["Restore", "Forget"])
def test_a_wish_whose_time_is_over_does_nothing(verb: str) -> None:
    stage = household()
    stage.fell("web", restore="never")
    stage.wish(verb, "shop/web", until=START)
    turns = [stage.calm() for _ in range(5)]
    assert not any(turn.orders for turn in turns)
    assert answer(stage) == ("Expired", "its time is over")


@pytest.mark.parametrize("verb", ["Restore", "Forget"])
def test_who_is_not_down_is_told_so_once_somebody_has_looked(verb: str) -> None:
    """Records may come after the wish."""
    stage = household()
    assert stage.wish(verb, "shop/web").events == []
    assert stage.calm().events == ["WishAnswered"]
    assert answer(stage) == ("Refused", "shop/web is not down because of evictd")


def test_what_is_forgotten_is_let_go_of_and_never_started() -> None:
    stage = household()
    stage.fell("web")
    turn = stage.wish("Forget", "shop/web")
    assert forgets(turn) == ["web"]
    assert not any(stage.calm().orders for _ in range(5))
    gone = stage.lifted("web")
    assert gone.retracted == [FORGET]
    assert gone.events == ["WishAnswered"]
    assert stage.calm().event_messages == ["shop/web will not be started again: a person wished so"]
    assert answer(stage) == ("Done", "shop/web is forgotten, and is not started again")


def test_a_start_under_way_is_taken_back_when_it_is_forgotten() -> None:
    stage = household()
    stage.fell("web")
    ordered(stage.calm())
    turn = stage.wish("Forget", "shop/web")
    assert "evictd/v1/edge/orders/restore" in turn.retracted
    assert forgets(turn) == ["web"]


def test_a_forgotten_record_that_is_said_again_is_let_go_of_again() -> None:
    """After a restart of the responder, of the evictor, of both, and without the wish."""
    stage = household()
    stage.fell("web")
    stage.wish("Forget", "shop/web")
    stage.lifted("web")
    stage.wish(None)
    stage.calm()
    stage.began_anew()
    stage.calm()
    assert forgets(stage.fell("web")) == ["web"]
    assert not any(names(stage.calm()) for _ in range(20))


def test_the_next_life_of_a_forgotten_name_is_not_forgotten() -> None:
    stage = household()
    stage.fell("web")
    stage.wish("Forget", "shop/web")
    stage.lifted("web")
    stage.pod("web", uid=uid_of("web 2"))
    stage.calm(after=60)
    stage.fell("web", life=2)
    assert any(names(stage.calm(after=60)) for _ in range(5))


def test_several_are_forgotten_one_after_the_other() -> None:
    """One order stands at a time."""
    stage = household()
    for name in ("web", "batch"):
        stage.fell(name)
    for number, name in enumerate(("web", "batch")):
        stage.wish("Forget", f"shop/{name}")
        assert stage.plan.returns.forgetting == "shop/web"
        assert number in (0, 1)
    assert forgets(stage.lifted("web")) == ["batch"]
    assert stage.lifted("batch").retracted == [FORGET]


def test_an_order_to_forget_of_an_earlier_life_is_taken_off_the_bus() -> None:
    stage = household()
    assert stage.status(Order(uid="old", kind="Forget"), "Finished", "forget").retracted == [FORGET]
    stage.fell("web")
    (order,) = stage.wish("Forget", "shop/web").orders
    assert stage.status(order, "Finished", "forget").effects == ()


def test_a_node_that_is_forgotten_leaves_no_order_to_forget() -> None:
    stage = household()
    stage.fell("web")
    stage.wish("Forget", "shop/web")
    assert FORGET in stage.tell(Gone()).retracted


def test_after_a_restart_a_wish_that_was_done_stays_done() -> None:
    """The last Decision tells."""
    stage = fallen_again()
    stage.began_anew()
    assert not any(stage.calm(after=400).orders for _ in range(5))
    assert answer(stage) == ("Done", "shop/web is not down any more")


def test_falls_and_their_back_off_outlive_a_restart() -> None:
    """Counted on by name; the pause goes on from the record's own time."""
    stage = household()
    stage.fell("web")
    stage.status(ordered(stage.calm(after=0.1)), "Finished")
    stage.pod("web", uid=uid_of("web 2"))
    stage.calm(after=100)
    stage.fell("web", life=2)
    stage.calm(after=20)
    decision = stage.plan.decision
    assert decision is not None
    (absent,) = decision.absent
    assert absent.falls == 2
    assert absent.why == "it fell or failed too often to be tried again yet"
    assert absent.next_try_time is not None
    stage.began_anew()
    assert not stage.calm(after=39).orders
    again = stage.calm(after=1)
    assert names(again) == ["web"]
    assert stage.now.utc - absent.next_try_time < timedelta(seconds=1)
    stage.status(ordered(again), "Finished")
    stage.pod("web", uid=uid_of("web 3"))
    stage.calm(after=100)
    assert "EvictionLoop" in stage.fell("web", life=3).events


def test_a_fall_while_nobody_decided_is_counted_when_somebody_does() -> None:
    stage = household()
    stage.fell("web")
    stage.status(ordered(stage.calm(after=0.1)), "Finished")
    stage.pod("web", uid=uid_of("web 2"))
    stage.calm(after=100)
    before = stage.plan
    stage.fell("web", life=2)
    fallen = stage.plan.returns
    stage.plan = before
    stage.plan = type(before)(returns=type(fallen)(absent=fallen.absent), decision=before.decision)
    stage.began_anew()
    stage.calm()
    decision = stage.plan.decision
    assert decision is not None
    assert decision.absent[0].falls == 2


def test_the_responders_word_on_when_to_try_again_counts() -> None:
    """And never for longer than an hour."""
    stage = household()
    stage.fell("web", next_try_time=stage.now.utc + timedelta(seconds=95))
    assert not stage.calm(after=94).orders
    assert names(stage.calm(after=1)) == ["web"]
    other = household()
    other.fell("web", next_try_time=other.now.utc + timedelta(days=9))
    assert not other.calm(after=3599).orders
    assert names(other.calm(after=1)) == ["web"]


def test_a_start_that_was_refused_is_no_failure() -> None:
    """Nothing was tried: a hold file, or the mode."""
    stage = household()
    stage.fell("web")
    stage.status(ordered(stage.calm()), "Refused")
    assert names(stage.calm(after=30)) == ["web"]


def test_a_stale_order_is_swept_before_anybody_late_carries_it_out() -> None:
    stage = Household(household().rules)
    assert "evictd/v1/edge/orders/restore" in stage.observe("8Gi").retracted
    assert "evictd/v1/edge/orders/restore" not in stage.observe("8Gi").retracted


def test_a_pod_over_a_limit_of_its_own_is_left_where_a_hold_includes_hard_evictions() -> None:
    """Such an eviction is a hard one."""
    for include_hard in (False, True):
        stage = household(HARD, local_storage_capacity_isolation=True)
        stage.wish("Hold", "shop/web", include_hard=include_hard)
        stage.pods = [limited("web", "2Gi", "1Gi")]
        assert stage.observe("8Gi").victims == ([] if include_hard else ["web"])
