"""Who would have gone first and is protected is named where the victim is. [field case D1]"""

from msgspec import structs
from tests.core.decision.stage import Stage, rules_of
from tests.core.decision.test_growth import host, look

HARD = "memory.available<1Gi"


def reason(stage: Stage) -> str:
    """Of the decision at a shortage."""
    decision = stage.observe("900Mi").decision
    assert decision is not None
    return decision.reason


def test_those_before_the_victim_are_named_and_nobody_behind_it() -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("proxy", uses="3Gi", protected=True)
    stage.pod("web", uses="2Gi")
    stage.pod("small", uses="1Gi", protected=True)
    assert reason(stage).endswith("; skipped before it, since protected: shop/proxy")


def test_of_many_the_first_three_are_named() -> None:
    stage = Stage(rules_of(HARD))
    for place in range(5):
        stage.pod(f"kept-{place}", uses=f"{9 - place}Gi", protected=True)
    stage.pod("web", uses="2Gi")
    assert reason(stage).endswith(": shop/kept-0, shop/kept-1, shop/kept-2 and 2 more")


def test_where_nobody_is_protected_nothing_is_said_of_it() -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("web", uses="2Gi")
    assert "skipped" not in reason(stage)


def test_on_a_disk_the_order_decides_nothing_and_nobody_is_skipped() -> None:
    """Only who fills it is stopped, wherever it stands."""
    stage = host()
    stage.pods = [structs.replace(pod, protected=pod.name == "big") for pod in stage.pods]
    look(stage, "4Gi", "1Mi")
    turn = look(stage, "1Gi", "3Gi")
    assert turn.verdicts() == {"big": "Protected", "small": "Victim"}
    assert stage.plan.decision is not None
    assert "skipped" not in stage.plan.decision.reason
