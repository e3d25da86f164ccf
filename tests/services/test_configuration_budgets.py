"""`budgets:` as people write it, and what it is compiled to."""

import pytest

from evictd.core.rules import Budget, Portion
from evictd.shell.configuration import ConfigurationError, load_text, rules_of

NEITHER = "is neither a number up to 10000 nor a percentage"


def test_a_budget_is_compiled_for_every_node() -> None:
    """A number with or without quotes is a count, with a percent sign a share."""
    text = """
budgets:
- {name: web, namespace: shop, selector: {matchLabels: {app: web}}, minAvailable: 2}
- {name: all, maxUnavailable: 25%}
- {name: one, maxUnavailable: "1"}
"""
    rules = rules_of(load_text(text, "f").configuration, "edge-7")
    assert rules.budgets == (
        Budget(
            name="web",
            namespace="shop",
            match_labels={"app": "web"},
            minimum_available=Portion(amount=2),
        ),
        Budget(name="all", maximum_unavailable=Portion(amount=25, is_percent=True)),
        Budget(name="one", maximum_unavailable=Portion(amount=1)),
    )


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "{name: web}",
            "f:1:11: budgets[0]: needs either minAvailable or maxUnavailable, and not both",
        ),
        (
            "{name: web, minAvailable: 1, maxUnavailable: 1}",
            "f:1:11: budgets[0]: needs either minAvailable or maxUnavailable, and not both",
        ),
        (
            "{name: web, minAvailable: 101%}",
            f"f:1:37: budgets[0].minAvailable: '101%' {NEITHER}",
        ),
        (
            "{name: web, minAvailable: -1}",
            f"f:1:37: budgets[0].minAvailable: '-1' {NEITHER}",
        ),
        (
            "{name: web, minAvailable: half}",
            f"f:1:37: budgets[0].minAvailable: 'half' {NEITHER}",
        ),
        ("{minAvailable: 1}", "f:1:11: budgets[0].name: is missing"),
        (
            "{name: a/b, minAvailable: 1}",
            "f:1:18: budgets[0].name: 'a/b' is no name: it holds one of / + #",
        ),
        (
            "{name: web, namespace: '', minAvailable: 1}",
            "f:1:34: budgets[0].namespace: '' is no namespace: it is empty",
        ),
        (
            "{name: a, minAvailable: 1}, {name: a, minAvailable: 1}",
            "f:1:46: budgets[1].name: 'a' is the name of budgets[0]",
        ),
        (
            "{name: a, minAvailable: 1, selector: {matchExpressions: []}}",
            "f:1:49: budgets[0].selector.matchExpressions: is no key here",
        ),
    ],
)
def test_a_budget_that_means_nothing_is_refused(entry: str, expected: str) -> None:
    """At its place, with what is allowed."""
    with pytest.raises(ConfigurationError) as caught:
        load_text(f"budgets: [{entry}]", "f")
    assert [str(problem) for problem in caught.value.problems] == [expected]


@pytest.mark.parametrize("entry", ["minAvailable: 100%", "maxUnavailable: 0", "maxUnavailable: 0%"])
def test_a_budget_that_lets_nobody_go_is_warned_of(entry: str) -> None:
    """It may be meant; a request would wait for ever."""
    loaded = load_text(f"budgets: [{{name: web, {entry}}}]", "f")
    (warning,) = [item for item in loaded.warnings if item.path[0] == "budgets"]
    assert warning.text.endswith("lets none of them go, whoever but node pressure asks")


def test_no_more_budgets_than_can_be_looked_at() -> None:
    """Each is judged before a workload is stopped."""
    entries = ", ".join(f"{{name: n{index}, minAvailable: 1}}" for index in range(101))
    with pytest.raises(ConfigurationError, match="more than 100 entries"):
        load_text(f"budgets: [{entries}]", "f")
