"""Who comes back by itself soon after its eviction is a failed victim, and no new candidate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.decision.household import HARD, Household
from tests.core.decision.stage import Stage, rules_of, uid_of

from evictd.core.decision.failures import FAILED_SECONDS, RETURN_SECONDS
from evictd.core.decision.restore import RESTORE_SECONDS


def evicted(stage: Stage, name: str = "web", *, seen_gone: bool = False) -> None:
    """It is asked to go, and goes."""
    assert stage.observe("900Mi").victims == [name]
    stage.gone(name)
    if seen_gone:
        stage.observe("8Gi", after=1)
    stage.answer(name)


def two(**fields: object) -> Stage:
    """One that uses more than the other."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="2Gi", **fields)
    stage.pod("other", uses="1Gi")
    return stage


@pytest.mark.parametrize("seen_gone", [False, True])
def test_who_is_started_again_by_something_else_is_passed_over_for_ten_minutes(
    *, seen_gone: bool
) -> None:
    """Whether its end was observed or answered first; the next one is taken."""
    stage = two()
    evicted(stage, seen_gone=seen_gone)
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    turn = stage.observe("900Mi", after=10)
    assert turn.verdicts() == {"web": "Failed", "other": "Victim"}
    assert turn.decision is not None
    assert turn.decision.ranking[0].why.startswith(
        "something started it again within 10 s of its eviction, passed over for 600 s"
    )


def test_its_next_lives_are_passed_over_too() -> None:
    """Memory about a workload is kept by its name. [design, law 11]"""
    stage = two()
    evicted(stage)
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    stage.observe("8Gi")
    stage.gone("web")
    stage.pod("web", uses="2Gi", uid=uid_of("web 3"))
    assert stage.observe("900Mi").verdicts()["web"] == "Failed"
    assert stage.observe("900Mi", after=FAILED_SECONDS).verdicts()["web"] == "Victim"


def test_who_comes_back_later_is_a_candidate_like_any_other() -> None:
    """A person has looked, and may have helped."""
    stage = two()
    evicted(stage)
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    assert stage.observe("900Mi", after=RETURN_SECONDS + 1).verdicts()["web"] == "Victim"


def test_who_is_restarted_on_purpose_may_go_again() -> None:
    """`action: restart` brings it back at once: that is what its owner wants."""
    stage = two(action="restart")
    evicted(stage)
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"), action="restart")
    assert stage.observe("900Mi").verdicts()["web"] == "Victim"


def test_who_was_stopped_because_restarting_did_not_help_is_not_to_come_back() -> None:
    """Something that starts it all the same undoes a stop."""
    stage = two(action="restart")
    for life in range(2, 5):
        evicted(stage)
        stage.pod("web", uses="2Gi", uid=uid_of(f"web {life}"), action="restart")
    assert stage.observe("900Mi").verdicts() == {"other": "Victim", "web": "Failed"}


@pytest.mark.parametrize("answered", [False, True])
def test_who_was_brought_back_by_our_order_is_no_failure(*, answered: bool) -> None:
    """Its life was wanted."""
    stage = Household(rules_of(HARD, transition_seconds=10))
    stage.pod("web", uses="2Gi")
    stage.pod("other", uses="1Gi")
    evicted(stage)
    stage.fell("web", used="100Mi", uid=uid_of("web"))
    (order,) = (order for _ in range(3) for order in stage.calm().orders)
    if answered:
        stage.status(order, "Finished")
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    assert stage.seconds < RETURN_SECONDS < RESTORE_SECONDS + 1
    assert "Failed" not in stage.observe("900Mi").verdicts().values()


def test_the_kubelet_takes_it_again() -> None:
    """There a controller brings everybody back, and each is a candidate at once."""
    stage = Stage(rules_of(HARD, kubelet=True))
    stage.pod("web", uses="2Gi")
    evicted(stage)
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    assert stage.observe("900Mi").verdicts() == {"web": "Victim"}


def test_the_third_return_is_a_loop() -> None:
    """Though ten minutes pass between one eviction and the next."""
    stage = Stage(rules_of(HARD))
    told: list[str] = []
    for life in range(3):
        stage.pods = []
        stage.pod("web", uses="2Gi", uid=uid_of(f"web {life}"))
        stage.observe("8Gi", after=5)
        assert stage.observe("900Mi", after=FAILED_SECONDS + 1).victims == ["web"]
        stage.gone("web")
        told += stage.answer("web").events
    assert told == ["EvictionLoop"]


def test_what_is_passed_over_is_so_after_a_restart_of_the_evictor() -> None:
    """Its own last word says it."""
    stage = two()
    evicted(stage)
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    stage.observe("900Mi")
    stage.restart()
    stage.observe("8Gi")
    turn = stage.observe("900Mi")
    assert turn.decision is not None
    row = turn.decision.ranking[0]
    assert (row.verdict, row.pod.name) == ("Failed", "web")
    assert row.why.startswith("something started it again within 10 s of its eviction, passed")


def test_who_comes_back_after_a_restart_of_the_evictor_is_noticed() -> None:
    """What is down tells who has gone lately."""
    stage = Household(rules_of(HARD))
    stage.pod("web", uses="2Gi")
    stage.pod("other", uses="1Gi")
    evicted(stage)
    stage.fell("web", uid=uid_of("web"))
    stage.observe("8Gi")
    stage.restart()
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    assert stage.observe("900Mi").verdicts() == {"web": "Failed", "other": "Victim"}


def test_what_a_webhook_did_not_take_off_is_stopped_when_it_is_hard() -> None:
    """Soft failed: the same soft line goes on to the next, a hard one takes it."""
    stage = Stage(rules_of(HARD, "memory.available<2Gi/10"))
    stage.pod("web", uses="3Gi", action="webhook")
    stage.pod("other", uses="2Gi")
    stage.observe("1536Mi")
    assert stage.observe("1536Mi", after=10).victims == ["web"]
    stage.answer("web", kind="Failed", reason="NoFurtherResponder")
    assert stage.observe("1536Mi").verdicts() == {"web": "Failed", "other": "Victim"}
    assert stage.observe("900Mi").verdicts()["web"] == "Victim"


@given(
    st.lists(st.tuples(st.sampled_from(["back", "gone", "wait"]), st.floats(0.1, 90)), max_size=15)
)
def test_nobody_is_asked_to_go_twice_within_ten_minutes_of_its_quick_return(
    story: list[tuple[str, float]],
) -> None:
    """Whatever something else starts and ends, and whenever, while the shortage is soft."""
    stage = Stage(rules_of("memory.available<1Gi/0.01"))
    stage.pod("web", uses="2Gi", uid=uid_of("web 0"))
    life, gone_at, quiet_until = 0, None, 0.0
    for what, after in story:
        if what == "back" and not stage.pods:
            life += 1
            stage.pod("web", uses="2Gi", uid=uid_of(f"web {life}"))
            if gone_at is not None and stage.seconds + after - gone_at <= RETURN_SECONDS:
                quiet_until = stage.seconds + after + FAILED_SECONDS
            gone_at = None
        elif what == "gone":
            stage.pods = []
        turn = stage.observe("900Mi", after=after)
        if turn.victims:
            assert stage.seconds >= quiet_until
            stage.pods = []
            stage.answer("web")
            gone_at = stage.seconds
