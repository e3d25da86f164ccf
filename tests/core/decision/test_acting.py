"""Who goes, when, and how: one victim at a time, hard before soft."""

from datetime import timedelta

import pytest
from tests.core.decision.stage import START, Stage, rules_of, uid_of

from evictd.core.decision import Wished
from evictd.core.rules import Candidates, Mode
from evictd_schemas import Decision, Wish, topics

HARD = "memory.available<1Gi"
SOFT = "memory.available<2Gi/120"


def crowd(stage: Stage) -> Stage:
    """One pod within its request, one far over it, and a critical one that is the largest."""
    stage.pod("web", uses="512Mi", asks="1Gi", termination_grace_period_seconds=30)
    stage.pod("batch", uses="900Mi", asks="256Mi", termination_grace_period_seconds=30)
    stage.pod("proxy", uses="2Gi", critical=True)
    return stage


def test_hard_acts_while_soft_is_in_its_grace() -> None:
    """Soft waits two minutes; crossing the hard line takes the pod furthest over its request."""
    stage = crowd(Stage(rules_of(HARD, SOFT, kubelet=True)))
    assert stage.observe("3Gi").action == "None"
    assert stage.observe("1536Mi").action == "Wait"
    turn = stage.observe("900Mi")
    assert (turn.action, turn.victims) == ("Evict", ["batch"])
    request = turn.requests[0]
    assert (request.spec.type, request.spec.grace_period_seconds) == ("Hard", 1)
    stage.gone("batch")
    stage.answer("batch")
    assert stage.observe("3Gi", after=60).action == "Wait"
    assert stage.observe("3Gi", after=300).action == "None"


def test_a_plain_host_gives_the_pods_own_grace_up_to_its_cap() -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("slow", uses="2Gi", termination_grace_period_seconds=3600)
    assert stage.observe("900Mi").requests[0].spec.grace_period_seconds == 10
    other = Stage(rules_of(HARD))
    other.pod("quick", uses="2Gi", termination_grace_period_seconds=3)
    assert other.observe("900Mi").requests[0].spec.grace_period_seconds == 3


def test_a_soft_eviction_of_a_plain_host_has_the_pods_own_grace() -> None:
    stage = Stage(rules_of("memory.available<2Gi/30"))
    stage.pod("web", uses="2Gi", termination_grace_period_seconds=45)
    stage.observe("1Gi")
    request = stage.observe("1Gi", after=30).requests[0]
    assert (request.spec.type, request.spec.grace_period_seconds) == ("Soft", 45)


def test_the_request_is_named_after_the_pod_and_says_why() -> None:
    stage = Stage(rules_of(HARD))
    pod = stage.pod("web", uses="2Gi")
    turn = stage.observe("900Mi")
    (topic,) = stage.standing
    place = topics.place(topic)
    assert place is not None
    assert place.names["name"] == f"web-{pod.uid[:8]}"
    reason = turn.requests[0].spec.reason
    assert reason is not None
    assert reason.signal == "memory.available"
    assert reason.message.startswith(
        "The node was low on resource: memory. Threshold quantity: 1Gi, available: 900Mi. "
    )
    assert turn.decision is not None
    assert turn.decision.eviction_requests == (f"evictd.io/node-pressure/shop/web-{pod.uid[:8]}",)
    assert turn.events == ["EvictionThresholdMet"]


def test_the_next_is_not_taken_while_a_hard_eviction_runs() -> None:
    stage = crowd(Stage(rules_of(HARD)))
    assert stage.observe("900Mi").victims == ["batch"]
    for _ in range(2):
        turn = stage.observe("900Mi")
        assert (turn.action, turn.victims) == ("Wait", [])
        assert turn.verdicts()["batch"] == "Victim"


def test_a_host_moves_on_when_a_hard_eviction_takes_over_thirty_seconds() -> None:
    stage = crowd(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    stage.observe("900Mi", after=20)
    turn = stage.observe("900Mi", after=10)
    assert turn.victims == ["web"]
    assert turn.verdicts() == {"proxy": "Critical", "batch": "Failed", "web": "Victim"}


def test_under_the_kubelet_profile_the_same_pod_stays_first() -> None:
    stage = crowd(Stage(rules_of(HARD, kubelet=True)))
    stage.observe("900Mi")
    turn = stage.observe("900Mi", after=31)
    assert (turn.action, turn.victims) == ("Wait", [])
    stage.answer("batch", "Failed", "NoFurtherResponder")
    assert stage.observe("900Mi").victims == ["batch"]


def test_a_failed_eviction_is_passed_over_for_ten_minutes_on_a_host() -> None:
    stage = crowd(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    assert stage.answer("batch", "Failed", "NoFurtherResponder").retracted
    assert stage.observe("900Mi").victims == ["web"]
    stage.gone("web")
    stage.answer("web")
    assert stage.observe("900Mi").verdicts()["batch"] == "Failed"
    assert stage.observe("900Mi", after=600).victims == ["batch"]


def test_a_refused_pod_is_passed_over_under_both_profiles() -> None:
    for kubelet in (False, True):
        stage = crowd(Stage(rules_of(HARD, kubelet=kubelet)))
        stage.observe("900Mi")
        stage.answer("batch", "Failed", "EvictionInvalid")
        assert stage.observe("900Mi").victims == ["web"]


def test_soft_waits_until_its_eviction_ends() -> None:
    stage = crowd(Stage(rules_of("memory.available<2Gi/30")))
    stage.observe("1536Mi")
    assert stage.observe("1536Mi", after=30).victims == ["batch"]
    assert stage.observe("1536Mi", after=600).action == "Wait"


def test_a_due_hard_threshold_tightens_the_soft_request_of_the_same_pod() -> None:
    stage = crowd(Stage(rules_of(HARD, "memory.available<2Gi/30")))
    stage.observe("1536Mi")
    stage.observe("1536Mi", after=30)
    soft_topic = stage.topic_of("batch")
    turn = stage.observe("900Mi")
    assert turn.victims == ["batch"]
    assert turn.requests[0].spec.type == "Hard"
    assert list(stage.standing) == [soft_topic]
    assert stage.observe("900Mi").action == "Wait"


def test_a_due_hard_threshold_takes_another_when_that_is_first_now() -> None:
    stage = crowd(Stage(rules_of(HARD, "memory.available<2Gi/30")))
    stage.observe("1536Mi")
    stage.observe("1536Mi", after=30)
    stage.pod("leak", uses="4Gi", asks="1Mi")
    turn = stage.observe("900Mi")
    assert turn.victims == ["leak"]
    assert len(stage.standing) == 2


def test_another_resource_is_not_held_by_an_eviction_for_memory() -> None:
    stage = crowd(Stage(rules_of(HARD, "pid.available<1k")))
    stage.observe("900Mi", signals={"pid.available": "5k"})
    turn = stage.observe("900Mi", signals={"pid.available": "10"})
    assert turn.decision is not None
    assert (turn.action, turn.decision.signal) == ("Evict", "pid.available")


def test_after_a_victim_is_gone_a_host_waits_for_a_later_observation() -> None:
    """Memory that is being freed is not yet to be seen. [design, law 7]"""
    stage = crowd(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    stage.gone("batch")
    stage.answer("batch")
    assert stage.observe("900Mi", after=0.5).victims == []
    assert stage.observe("900Mi", after=0.5).victims == ["web"]


def test_under_the_kubelet_profile_the_next_is_taken_at_once() -> None:
    stage = crowd(Stage(rules_of(HARD, kubelet=True)))
    stage.observe("900Mi")
    stage.gone("batch")
    stage.answer("batch")
    assert stage.observe("900Mi", after=0.1).victims == ["web"]


def test_a_target_that_is_not_listed_any_more_is_not_waited_for() -> None:
    """The controller may be away; the node is sufficient to itself."""
    stage = crowd(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    stage.gone("batch")
    stage.observe("900Mi", after=1)
    assert stage.observe("900Mi", after=1).victims == ["web"]


def test_an_incomplete_list_proves_nobody_gone() -> None:
    stage = crowd(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    stage.gone("batch")
    turn = stage.observe("900Mi", after=5, pods_complete=False)
    assert (turn.action, turn.victims) == ("Wait", [])


def test_nobody_critical_or_protected_goes_even_if_nobody_else_is_there() -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("proxy", uses="4Gi", critical=True)
    stage.pod("shop-db", uses="4Gi", protected=True)
    stage.pod("static", uses="4Gi", annotations={"kubernetes.io/config.source": "file"})
    turn = stage.observe("900Mi")
    assert turn.victims == []
    assert turn.events == ["EvictionThresholdMet", "NothingLeftToEvict"]
    assert set(turn.verdicts().values()) == {"Critical", "Protected"}


def test_nothing_left_is_said_once_a_state() -> None:
    stage = Stage(rules_of(HARD))
    stage.pod("proxy", uses="4Gi", critical=True)
    assert "NothingLeftToEvict" in stage.observe("900Mi").events
    assert "NothingLeftToEvict" not in stage.observe("900Mi").events
    stage.observe("4Gi", after=10)
    stage.observe("4Gi", after=400)
    assert "NothingLeftToEvict" in stage.observe("900Mi").events


def test_only_labelled_workloads_are_candidates_where_that_is_asked() -> None:
    stage = Stage(rules_of(HARD, candidates=Candidates.LABELLED))
    stage.pod("bystander", uses="4Gi")
    stage.pod("marked", uses="1Mi", labelled=True)
    turn = stage.observe("900Mi")
    assert turn.victims == ["marked"]
    assert turn.verdicts() == {"bystander": "Protected", "marked": "Victim"}


@pytest.mark.parametrize("include_hard", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_a_hold_spares_a_pod_from_hard_evictions_only_if_it_says_so(
    hard: bool, include_hard: bool
) -> None:
    stage = crowd(Stage(rules_of(HARD if hard else "memory.available<1Gi/30")))
    wish = Wish(verb="Hold", target="shop/batch", include_hard=include_hard)
    stage.tell(Wished(topic="wishes/one", wish=wish))
    stage.observe("4Gi")
    turn = stage.observe("900Mi")
    if not hard:
        turn = stage.observe("900Mi", after=30)
    assert turn.victims == (["batch"] if hard and not include_hard else ["web"])


def test_a_hold_ends_at_its_time_or_when_it_is_taken_back() -> None:
    stage = crowd(Stage(rules_of(HARD)))
    until = START + timedelta(seconds=60)
    wish = Wish(verb="Hold", target=None, include_hard=True, until=until)
    stage.tell(Wished(topic="wishes/one", wish=wish))
    turn = stage.observe("900Mi")
    assert turn.verdicts() == {"proxy": "Critical", "batch": "Held", "web": "Held"}
    assert stage.observe("900Mi", after=50).victims == ["batch"]


def test_a_workload_that_something_starts_again_and_again_is_a_loop() -> None:
    """Each start is another life; the name is what comes back. [design, law 11]"""
    stage = Stage(rules_of(HARD))
    told: list[str] = []
    for life in range(4):
        stage.pods = []
        stage.pod("phoenix", uses="4Gi", uid=uid_of(f"phoenix {life}"))
        assert stage.observe("900Mi", after=100).victims == ["phoenix"]
        stage.pods = []
        told += stage.answer("phoenix").events
    assert told == ["EvictionLoop", "EvictionLoop"]


def test_evictions_far_apart_are_no_loop() -> None:
    stage = Stage(rules_of(HARD))
    for life in range(4):
        stage.pods = []
        stage.pod("phoenix", uses="4Gi", uid=uid_of(f"phoenix {life}"))
        stage.observe("900Mi", after=2000)
        stage.pods = []
        assert stage.answer("phoenix").events == []


def test_a_decision_explains_every_row() -> None:
    stage = crowd(Stage(rules_of(HARD, kubelet=True)))
    decision = stage.observe("900Mi").decision
    assert isinstance(decision, Decision)
    assert decision.ranking_total == 3
    assert [row.why for row in decision.ranking] == [
        "critical: never evicted; uses 2Gi and asked for none; priority 0",
        "uses 644Mi more than the 256Mi it asked for; priority 0",
        "uses 512Mi of the 1Gi it asked for; priority 0",
    ]
    assert decision.reason == (
        "memory.available is 900Mi, below the hard threshold 1Gi:"
        " shop/batch uses 644Mi more than the 256Mi it asked for; priority 0;"
        " skipped before it, since protected: shop/proxy"
    )
    assert decision.mode == Mode.ACT


def test_a_stall_is_told_as_what_is_left_of_a_hundred_not_as_bytes() -> None:
    stage = Stage(rules_of("psi.memory.full.avg10<60"))
    stage.pod("web", uses="512Mi")
    stage.observe(signals={"psi.memory.full.avg10": "90"})
    decision = stage.observe(signals={"psi.memory.full.avg10": "55"}).decision
    assert decision is not None
    assert decision.reason.startswith("psi.memory.full.avg10 is 55, below the hard threshold 60:")
    assert "uses 512Mi" in decision.reason


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.DRY_RUN])
def test_where_nothing_is_done_nobody_says_that_it_is_attempted(mode: Mode) -> None:
    """The event of a crossing names the mode instead."""
    stage = Stage(rules_of("memory.available<1Gi", mode=mode))
    stage.pod("web", uses="2Gi")
    (message,) = stage.observe("900Mi").event_messages
    assert message.startswith("Would reclaim memory: memory.available is 900Mi")
    assert message.endswith(f"; mode is {mode}")
