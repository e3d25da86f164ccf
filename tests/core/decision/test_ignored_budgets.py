"""Node pressure ignores budgets, and each decision says of whom."""

from tests.core.decision.stage import Stage, rules_of

from evictd.core.rules import Budget, Mode, Portion

ALL = Budget(name="all", minimum_available=Portion(amount=1))


def whys(*budgets: Budget) -> dict[str, str]:
    """What a pass says of each pod when memory is short."""
    stage = Stage(rules_of("memory.available<1Gi", mode=Mode.OBSERVE, budgets=budgets))
    stage.pod("web", uses="512Mi")
    stage.pod("db", uses="256Mi", critical=True)
    decision = stage.tell(stage.judge("512Mi")).decision
    assert decision is not None
    return {row.pod.name: row.why for row in decision.ranking}


def test_who_may_go_although_a_budget_is_about_it_is_told() -> None:
    """Its owner finds out before it happens. Who may not go anyway needs no word about it."""
    told = whys(ALL)
    assert told["web"].endswith("; budget all (minAvailable 1) ignored")
    assert "budget" not in told["db"]


def test_without_a_budget_nothing_is_said_of_any() -> None:
    """Nor where it is about somebody else."""
    assert "budget" not in whys()["web"]
    assert "budget" not in whys(Budget(name="x", match_labels={"app": "x"}))["web"]
