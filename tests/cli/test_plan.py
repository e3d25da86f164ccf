"""`evictd plan`: who would be asked, and what each budget would say."""

from tests.cli.bus import (
    DRAIN,
    NODE,
    Stage,
    ago,
    pod,
)

from evictd.cli import plan
from evictd.core.rules import Budget, Portion
from evictd_schemas import topics

OTHER = "5b0e3a56-9a51-4c7e-8f2b-0f3f6f7d2b10"


def test_the_plan_names_everybody_and_the_worst_case() -> None:
    stage = Stage()
    named = [{"name": DRAIN, "priority": 10000, "startDeadlineSeconds": 60}]
    stage.observe(pod("web", evictionResponders=named, terminationGracePeriodSeconds=30))
    registration = {"status": "ready", "namespaces": ["shop"], "heartbeatDeadlineSeconds": 300}
    stage.say(topics.REGISTRATION, registration, domain="acme.io", key="copy")
    found = plan.plan_of(stage.mirror, "web", ())
    text = "\n".join(plan.lines(found))
    assert "1.  acme.io/copy                        10000     registration (ready)" in text
    assert "2.  acme.io/drain                       10000     the workload" in text
    assert "its stop begins after 21m; at worst after\n46m," in text
    assert "The stop takes at most 30s." in text
    assert "udget" not in text
    told = plan.document(found)
    assert told["handoverSecondsMax"] == (1200 + 300) + (60 + 1200)
    assert [turn["registration"] for turn in told["chain"]] == ["ready", None, None]


def test_without_responders_the_plan_is_one_line() -> None:
    stage = Stage()
    stage.observe(pod("web"))
    text = "\n".join(plan.lines(plan.plan_of(stage.mirror, "web", ())))
    assert "Nobody is asked before: its stop begins at once." in text
    assert "The stop takes its own time." in text


def one_of(needed: int, name: str = "web", **labels: str) -> Budget:
    """A budget over what has these labels."""
    return Budget(name=name, match_labels=labels, minimum_available=Portion(amount=needed))


def test_the_plan_tells_what_each_budget_about_the_workload_would_say() -> None:
    stage = Stage()
    stage.observe(pod("web", labels={"app": "web"}), pod("web-2", uid=OTHER, labels={"app": "web"}))
    budgets = (one_of(2, app="web"), one_of(1, name="some", app="web"), one_of(9, app="db"))
    found = plan.plan_of(stage.mirror, "web", budgets)
    text = list(plan.lines(found))
    refusal = "budget web (minAvailable 2) needs 2 healthy of 2, and 1 would be left"
    again = "The stop is tried again after 5s, doubling to 10m."
    assert text[-3:] == [
        f"It would not be stopped now: {refusal}. {again}",
        "Budget some (minAvailable 1) lets it go now.",
        "Node pressure ignores budgets.",
    ]
    assert plan.document(found)["budgets"] == [
        {"name": "web", "refusal": refusal},
        {"name": "some", "refusal": None},
    ]


def test_what_evictd_has_stopped_is_missed_in_the_plan_as_in_the_stop() -> None:
    stage = Stage()
    stage.observe(pod("web", labels={"app": "web"}))
    budget = Budget(name="web", maximum_unavailable=Portion(amount=1))
    (allowed,) = plan.plan_of(stage.mirror, "web", [budget]).budgets
    assert allowed[1] is None
    down = {"uid": OTHER, "time": ago(60), "labels": {"app": "web"}}
    stage.say(topics.STOPPED, down, namespace="shop", name="web-2")
    (kept,) = plan.plan_of(stage.mirror, "web", [budget]).budgets
    assert kept[1] == "budget web (maxUnavailable 1) needs 1 healthy of 2, and 0 would be left"


def test_a_plan_on_an_incomplete_observation_says_that_budgets_cannot_be_judged() -> None:
    stage = Stage()
    stage.say(
        topics.OBSERVATION,
        {"node": NODE, "time": ago(1), "signals": {}, "pods": [pod("web")], "podsComplete": False},
    )
    (kept,) = plan.plan_of(stage.mirror, "web", [one_of(1)]).budgets
    assert kept[1] is not None
    assert "cannot be judged: the last observation does not list everything" in kept[1]
