"""A hard shortage that finds nobody else takes who has failed before. [design, law 7]"""

import pytest
from msgspec import structs
from tests.core.decision.household import HARD
from tests.core.decision.stage import Stage, Turn, rules_of, uid_of

from evictd.core.back_off import BACK_OFF_SECONDS
from evictd.core.decision import Wished
from evictd.core.decision.failures import FAILED_SECONDS, not_gone
from evictd.core.decision.upkeep import HARD_WAIT_SECONDS
from evictd.core.pods import reference
from evictd_schemas import Wish

SOFT = "memory.available<2Gi/10"


def why(turn: Turn, name: str) -> str:
    """What its row says."""
    assert turn.decision is not None
    return next(row.why for row in turn.decision.ranking if row.pod.name == name)


def only(*lines: str, **fields: object) -> Stage:
    """One candidate, and one that never goes."""
    stage = Stage(rules_of(*(lines or (HARD,))))
    stage.pod("web", uses="2Gi", **fields)
    stage.pod("vault", uses="1Gi", protected=True)
    return stage


def back(stage: Stage, life: int, *, seconds: float = 1) -> Turn:
    """It goes, is started again by something else, and the machine is as short as before."""
    stage.gone("web")
    stage.answer("web")
    stage.pod("web", uses="2Gi", uid=uid_of(f"web {life}"))
    return stage.observe("900Mi", after=seconds)


def test_who_came_back_is_stopped_again_after_a_pause_that_doubles() -> None:
    """It is no new candidate at once, and a machine must not die for it. [field case I1]"""
    stage = only()
    assert stage.observe("900Mi").victims == ["web"]
    turn = back(stage, 2)
    assert (turn.victims, turn.verdicts()["web"]) == ([], "Failed")
    assert stage.observe("900Mi", after=BACK_OFF_SECONDS - 1).victims == []
    turn = stage.observe("900Mi", after=1)
    assert turn.victims == ["web"]
    assert why(turn, "web").startswith(
        "is taken for want of anybody else, though something started it again within 1 s of its"
    )
    assert back(stage, 3).victims == []
    assert stage.observe("900Mi", after=2 * BACK_OFF_SECONDS - 1).victims == []
    assert stage.observe("900Mi", after=1).victims == ["web"]


def test_as_long_as_anybody_else_may_go_it_is_passed_over() -> None:
    stage = only()
    stage.observe("900Mi")
    stage.pod("other", uses="1Mi")
    assert back(stage, 2).victims == ["other"]


def test_a_soft_shortage_is_no_reason_to_fight_over_a_workload() -> None:
    stage = only(SOFT)
    stage.observe("1536Mi")
    assert stage.observe("1536Mi").victims == ["web"]
    stage.gone("web")
    stage.answer("web")
    stage.pod("web", uses="2Gi", uid=uid_of("web 2"))
    assert stage.observe("1536Mi").verdicts()["web"] == "Failed"
    assert stage.observe("1536Mi", after=FAILED_SECONDS - 1).victims == []


def test_who_did_not_go_softly_goes_hard() -> None:
    """Its failure says nothing of what a hard eviction does."""
    stage = only(HARD, SOFT)
    stage.observe("1536Mi")
    stage.observe("1536Mi")
    stage.answer("web", kind="Failed", reason="NoFurtherResponder")
    turn = stage.observe("900Mi")
    assert turn.victims == ["web"]
    assert turn.requests[0].spec.type == "Hard"


def test_who_did_not_go_hard_is_asked_again_after_a_while() -> None:
    """Not at once: nothing has changed since."""
    stage = only()
    stage.observe("900Mi")
    stage.answer("web", kind="Failed", reason="NoFurtherResponder")
    assert stage.observe("900Mi", after=HARD_WAIT_SECONDS - 1).verdicts()["web"] == "Failed"
    assert stage.observe("900Mi", after=1).victims == ["web"]


def test_who_is_still_being_evicted_is_not_asked_twice() -> None:
    """A stop that takes too long goes on; the one request says all there is to say."""
    stage = only()
    stage.observe("900Mi")
    for _ in range(5):
        turn = stage.observe("900Mi", after=HARD_WAIT_SECONDS)
        assert (turn.victims, turn.verdicts()["web"]) == ([], "Failed")


def test_who_was_refused_is_not_asked_again_before_its_time() -> None:
    """The controller would refuse it again."""
    stage = only()
    stage.observe("900Mi")
    stage.answer("web", kind="Failed", reason="EvictionInvalid")
    assert stage.observe("900Mi", after=FAILED_SECONDS - 1).victims == []
    assert stage.observe("900Mi", after=1).victims == ["web"]


def test_who_did_not_go_keeps_its_group_no_longer() -> None:
    """Part of a group is of no use, but neither is a dead machine."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="2Gi", group="app", depends_on=("shop/db",))
    stage.pod("db", uses="8Gi", group="app")
    stage.pod("vault", uses="1Gi", protected=True)
    assert stage.observe("900Mi").victims == ["web"]
    assert stage.observe("900Mi", after=HARD_WAIT_SECONDS - 1).victims == []
    turn = stage.observe("900Mi", after=1)
    assert turn.victims == ["db"]
    assert turn.verdicts() == {"db": "Victim", "web": "Failed", "vault": "Protected"}


def test_who_did_not_go_keeps_its_group_while_anybody_else_may_go() -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="2Gi", group="app")
    stage.pod("db", uses="8Gi", group="app")
    stage.pod("other", uses="1Mi")
    first = stage.observe("900Mi").victims
    assert first == ["db"]
    assert stage.observe("900Mi", after=HARD_WAIT_SECONDS).victims == ["other"]


def test_who_is_held_keeps_its_group_whatever_happens() -> None:
    """A person said so."""
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="2Gi", group="app")
    stage.pod("db", uses="8Gi", group="app")
    stage.tell(Wished(topic="wishes/one", wish=Wish(verb="Hold", include_hard=True)))
    assert stage.observe("900Mi").verdicts() == {"db": "Held", "web": "Held"}


def test_a_disk_takes_nobody_who_has_failed() -> None:
    """A stop frees no space there: to try it again and again would be for nothing."""
    line = "nodefs.available<1Gi"
    stage = Stage(rules_of(line))
    failed = not_gone(reference(stage.pod("web", uses="2Gi")), stage.now)
    stage.plan = structs.replace(stage.plan, failed=failed)
    turn = stage.observe("8Gi", signals={"nodefs.available": "512Mi"})
    assert turn.verdicts() == {"web": "Failed"}


@pytest.mark.parametrize("after", [0.5, HARD_WAIT_SECONDS - 1])
def test_an_answer_to_what_was_soft_before_does_not_hold_up_what_is_hard_now(after: float) -> None:
    """A webhook gives up at the moment at which its workload's request becomes hard: the next pass
    asks again, although somebody else could go."""
    stage = only(HARD, SOFT, action="webhook")
    stage.pod("other", uses="1Gi")
    stage.observe("1536Mi")
    assert stage.observe("1536Mi").victims == ["web"]
    assert stage.observe("900Mi").victims == ["web"]
    stage.seconds += after
    stage.answer("web", kind="Failed", reason="NoFurtherResponder")
    turn = stage.observe("900Mi", after=0.25)
    assert turn.victims == ["web"]
    stage.answer("web", kind="Failed", reason="NoFurtherResponder")
    assert stage.observe("900Mi", after=0.25).victims == ["other"]
