"""Where one more or one less decides what is told and explained."""

import pytest
from msgspec import structs
from tests.core.decision.stage import (
    Stage,
    amount,
    pod_of,
    rules_of,
)
from tests.core.decision.test_composite_reasons import STALL, SWAP, reason_of, rules_with
from tests.core.decision.test_explanation import situation_of
from tests.core.decision.test_growth import DISK

from evictd.core.decision.explanation import changes, explained
from evictd.core.decision.message import pressure_reason
from evictd.core.decision.shortage import by_urgency
from evictd.core.rules import Candidates, Mode
from evictd.core.signals.names import Resource
from evictd_schemas import (
    PodResources,
    SignalReading,
    ThresholdStatus,
)

HARD = "memory.available<1Gi"


def test_a_part_of_several_that_is_met_is_enough_and_the_others_are_not_named() -> None:
    rules = rules_with(any_of=(SWAP, STALL), all_of=(SWAP,))
    reason = reason_of(rules, "1Gi", **{"psi.memory.full.avg10": "50"})
    assert reason.endswith("only 2 of 3 conditions are met: not swap.available<1Gi")


def test_a_pod_without_statistics_that_asks_as_a_whole_is_no_consumer() -> None:
    line = ThresholdStatus(
        signal="memory.available",
        operator="LessThan",
        value="1Gi",
        grace_period_seconds=0,
        available=amount("900Mi"),
    )
    pod = pod_of("web", uses=None, pod_resources=PodResources(requests={"memory": amount("1Gi")}))
    found = pressure_reason("memory.available", Resource.MEMORY, (line,), pod)
    assert "was low on resource: memory" in (found.message or "")


def test_unknown_signals_are_the_least_urgent() -> None:
    lines = [
        ThresholdStatus(signal=signal, operator="LessThan", value="1", grace_period_seconds=0)
        for signal in ("gpu.available", "nodefs.available", "memory.available")
    ]
    ordered = [line.signal for line in by_urgency(lines)]
    assert ordered == ["memory.available", "nodefs.available", "gpu.available"]


def test_what_is_explained_is_what_is_short() -> None:
    stage = Stage(rules_of(HARD, DISK))
    stage.pods = [pod_of("web")]
    signals = {"nodefs.available": "1Gi"}
    given = stage.judge("8Gi", signals=signals)
    assert given is not None
    situation = structs.replace(situation_of(pod_of("web")), rules=stage.rules, given=given)
    assert explained(situation).signal == "nodefs.available"
    assert explained(situation, "memory.available").signal == "memory.available"
    calm = structs.replace(situation, given=stage.judge("8Gi", signals={"nodefs.available": "9Gi"}))
    assert explained(calm).signal == "memory.available"


def test_a_request_as_large_as_its_use_lets_another_go_first() -> None:
    web, batch = pod_of("web", uses="2Gi"), pod_of("batch", uses="1Gi")
    situation = situation_of(web, batch)
    explanation = explained(situation)
    found = {item.setting: item.outcome for item in changes(situation, explanation, web.uid)}
    assert found["request: {memory: 2Gi}"] == "shop/batch goes before it"
    assert found["priority: 1"] == "shop/batch goes before it"
    least = {item.setting: item.outcome for item in changes(situation, explanation, batch.uid)}
    assert least["priority: -1"] == "it is the first to go"


def test_one_that_is_no_candidate_is_told_where_it_would_stand_as_one() -> None:
    web, batch = pod_of("web", uses="2Gi"), pod_of("batch", uses="1Gi", labelled=True)
    situation = situation_of(web, batch, candidates=Candidates.LABELLED)
    (change,) = changes(situation, explained(situation), web.uid)
    assert change.outcome == "it is a candidate, the first to go"
    protected = pod_of("tiny", uses="1Mi", labelled=True, protected=True)
    situation = situation_of(batch, protected, candidates=Candidates.LABELLED)
    (change,) = changes(situation, explained(situation), protected.uid)
    assert (change.setting, change.outcome) == (
        "protect: false",
        "it is a candidate, ranked as it is here",
    )


def test_readings_of_nothing_at_all_are_told_as_nothing() -> None:
    reading = SignalReading(available=0, capacity=amount("16Gi"))
    stage = Stage(rules_of(HARD))
    stage.pod("web")
    view = stage.observe(signals={"memory.available": "0"})
    assert reading.available == 0
    assert view.decision is not None
    assert "memory.available is 0 bytes, below" in view.decision.reason


@pytest.mark.parametrize(("kubelet", "place"), [(True, "first"), (False, "last")])
def test_whoever_has_no_statistics_is_told_where_that_puts_it(kubelet: bool, place: str) -> None:
    stage = Stage(rules_of(HARD, kubelet=kubelet, mode=Mode.OBSERVE))
    stage.pods = [pod_of("web", uses=None), pod_of("db")]
    turn = stage.observe("900Mi")
    assert turn.decision is not None
    whys = {row.pod.name: row.why for row in turn.decision.ranking}
    assert whys["web"].startswith(f"has no statistics, which goes {place}")


def test_a_failed_one_is_told_for_how_much_longer_it_is_passed_over() -> None:
    stage = Stage(rules_of(HARD))
    stage.pods = [pod_of("a", uses="2Gi"), pod_of("b", uses="1Gi")]
    stage.observe("900Mi")
    stage.answer("a", "Failed", "NoFurtherResponder")
    turn = stage.observe("900Mi", after=100)
    assert turn.decision is not None
    assert turn.decision.ranking[0].why.startswith("its eviction failed, passed over for 500 s")
