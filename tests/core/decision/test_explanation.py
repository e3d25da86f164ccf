"""The explanation is the decision's own order; what it says would change it, does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.decision.stage import Stage, pod_of, rules_of, uid_of

from evictd.core.decision.explanation import Situation, changes, explained
from evictd.core.decision.inputs import Judged
from evictd.core.rules import Candidates, Mode
from evictd_schemas import Pod

LINE = "memory.available<1Gi"


def situation_of(*pods: Pod, memory: str = "900Mi", **fields: object) -> Situation:
    """A node in mode observe that has just been judged."""
    stage = Stage(rules_of(LINE, **{"mode": Mode.OBSERVE, **fields}))
    stage.pods += pods
    given = stage.judge(memory)
    assert isinstance(given, Judged)
    return Situation(rules=stage.rules, plan=stage.plan, given=given, now=stage.now)


POD = st.fixed_dictionaries(
    {
        "uses": st.sampled_from([None, "0", "100Mi", "200Mi", "1Gi"]),
        "asks": st.sampled_from([None, "100Mi", "500Mi"]),
        "priority": st.sampled_from([None, -5, 0, 0, 7]),
        "critical": st.booleans(),
        "protected": st.booleans(),
        "labelled": st.booleans(),
        "group": st.sampled_from([None, None, "app"]),
        "depends_on": st.sampled_from([(), (), ("shop/pod-0",), ("shop/pod-1",)]),
    }
)


@given(st.lists(POD, min_size=1, max_size=6), st.booleans(), st.sampled_from(list(Candidates)))
def test_the_order_is_the_one_of_the_decision(
    specs: list[dict[str, object]], kubelet: bool, candidates: Candidates
) -> None:
    stage = Stage(rules_of(LINE, kubelet=kubelet, mode=Mode.OBSERVE, candidates=candidates))
    stage.pods = [pod_of(f"pod-{index}", **spec) for index, spec in enumerate(specs)]
    judged = stage.judge("900Mi")
    assert judged is not None
    situation = Situation(rules=stage.rules, plan=stage.plan, given=judged, now=stage.now)
    decision = stage.tell(judged).decision
    assert decision is not None
    explanation = explained(situation)
    assert explanation.ranking == decision.ranking
    assert len(explanation.between) == len(specs) - 1


@given(st.lists(POD, min_size=1, max_size=5), st.booleans())
def test_every_change_is_true(specs: list[dict[str, object]], kubelet: bool) -> None:
    """A priority that is named makes the pod the first, or lets somebody else be it."""
    pods = [pod_of(f"pod-{index}", **spec) for index, spec in enumerate(specs)]
    situation = situation_of(*pods, kubelet=kubelet)
    explanation = explained(situation)
    for row in explanation.ranking:
        for change in changes(situation, explanation, row.pod.uid):
            if not change.setting.startswith("priority: "):
                continue
            value = int(change.setting.removeprefix("priority: "))
            pod = next(pod for pod in pods if pod.uid == row.pod.uid)
            changed = pod_of(pod.name, **{**specs[pods.index(pod)], "priority": value})
            again = explained(situation.with_pod(changed))
            victim = next((item for item in again.ranking if item.verdict == "Victim"), None)
            is_first = victim is not None and victim.pod.uid == pod.uid
            assert is_first is (change.outcome == "it is the first to go")


@pytest.mark.parametrize(
    ("kubelet", "first", "second", "sentence"),
    [
        (True, {"uses": "2Gi", "asks": "1Gi"}, {"uses": "1Gi", "asks": "1Gi"},
         "shop/a uses more than the 1Gi it asked for, shop/b does not"),
        (True, {"uses": "2Gi", "priority": 1}, {"uses": "3Gi", "priority": 2},
         "priority 1 of shop/a is lower than 2 of shop/b"),
        (True, {"uses": "2Gi"}, {"uses": "1Gi"},
         "usage less request is 2Gi for shop/a, 1Gi for shop/b"),
        (True, {"uses": "1Gi", "asks": "2Gi"}, {"uses": "1Gi", "asks": "3Gi"},
         "usage less request is -1Gi for shop/a, -2Gi for shop/b"),
        (True, {"uses": None}, {"uses": "1Gi"}, "shop/a has no statistics"),
        (False, {"uses": "1Gi"}, {"uses": None}, "shop/a is measured, shop/b is not"),
        (False, {"uses": "2Gi"}, {"uses": "1Gi"},
         "a stop of shop/a would give back 2Gi, of shop/b 1Gi"),
        (False, {}, {}, "nothing that counts tells shop/a from shop/b; the list has it first"),
    ],
)  # fmt: skip
def test_the_comparison_that_decided_is_told(
    kubelet: bool, first: dict[str, object], second: dict[str, object], sentence: str
) -> None:
    explanation = explained(
        situation_of(pod_of("a", **first), pod_of("b", **second), kubelet=kubelet)
    )
    assert explanation.between == (sentence,)


def test_what_would_let_the_victim_stay() -> None:
    situation = situation_of(
        pod_of("web", uses="900Mi", asks="1Gi"), pod_of("batch", uses="800Mi", asks="256Mi")
    )
    explanation = explained(situation)
    found = changes(situation, explanation, uid_of("batch"))
    assert [(change.setting, change.outcome) for change in found] == [
        ("priority: 1", "shop/web goes before it"),
        ("request: {memory: 800Mi}", "shop/web goes before it"),
        ("protect: true", "it never goes"),
    ]


def test_who_is_no_candidate_is_told_how_to_become_one() -> None:
    situation = situation_of(
        pod_of("web"), pod_of("db", protected=True), candidates=Candidates.LABELLED
    )
    explanation = explained(situation)
    settings = {
        name: [change.setting for change in changes(situation, explanation, uid_of(name))]
        for name in ("web", "db")
    }
    assert settings == {
        "web": ["a label, or an entry under `workloads:`"],
        "db": ["protect: false"],
    }


def test_a_signal_without_a_line_can_be_asked_for() -> None:
    explanation = explained(situation_of(pod_of("web")), "pid.available")
    assert (explanation.signal, len(explanation.ranking)) == ("pid.available", 1)


def test_nothing_changes_what_is_critical() -> None:
    situation = situation_of(pod_of("proxy", critical=True))
    assert changes(situation, explained(situation), uid_of("proxy")) == ()


def test_one_that_is_kept_by_who_needs_it_is_told_no_setting_of_its_own() -> None:
    """None of them would let it go."""
    web = pod_of("web", protected=True, depends_on=("shop/db",))
    situation = situation_of(pod_of("db", uses="2Gi"), web)
    explanation = explained(situation)
    assert explanation.ranking[0].why.startswith("shop/web needs it and stays (Protected)")
    assert changes(situation, explanation, uid_of("db")) == ()
