"""Freshness, withdrawal, modes, restarts: what makes the evictor do nothing, or take it back."""

from msgspec import structs
from tests.core.decision.stage import Stage, rules_of

from evictd.core.decision import Answered, Gone, Judged, Plan, Recalled, Retained, Seen
from evictd.core.rules import HOST, Mode
from evictd_schemas import (
    Condition,
    Eviction,
    EvictionRequest,
    EvictionSpec,
    EvictionStatus,
    PodTarget,
    Pressure,
    RequestStatus,
    Target,
)

HARD = "memory.available<1Gi"


def pair(stage: Stage) -> Stage:
    """Two pods, `batch` before `web`."""
    stage.pod("web", uses="512Mi", asks="1Gi")
    stage.pod("batch", uses="900Mi", asks="256Mi")
    return stage


def judged(stage: Stage, memory: str, **fields: object) -> Judged:
    """An observation as far as the evictor's door."""
    found = stage.judge(memory, **fields)  # what else it holds is the story's
    assert found is not None
    return found


def test_the_same_pressure_again_changes_nothing() -> None:
    stage = pair(Stage(rules_of(HARD)))
    given = judged(stage, "900Mi")
    assert stage.tell(given).victims == ["batch"]
    before = stage.plan
    assert stage.tell(given).effects == ()
    assert stage.plan == before


def test_an_older_pressure_changes_nothing() -> None:
    stage = pair(Stage(rules_of(HARD)))
    older, newer = judged(stage, "900Mi"), judged(stage, "4Gi")
    stage.tell(newer)
    assert stage.tell(older).effects == ()


def test_of_pressures_that_piled_up_the_newest_is_enough() -> None:
    """Coalescing loses no eviction: the newest is fresh against what was judged."""
    stage = pair(Stage(rules_of(HARD)))
    stage.tell(judged(stage, "4Gi"))
    for _ in range(3):
        judged(stage, "900Mi")
    assert stage.tell(judged(stage, "900Mi")).victims == ["batch"]


def test_old_statistics_take_nobody_again() -> None:
    """A second pass on the same statistics never evicts. [kubelet-eviction 5]"""
    stage = pair(Stage(rules_of(HARD, kubelet=True)))
    stage.observe("900Mi")
    time = stage.now.utc
    stage.answer("batch")
    given = judged(stage, "900Mi", signals={})
    again = structs.replace(
        given.pressure,
        thresholds=tuple(
            structs.replace(threshold, observation_time=time)
            for threshold in given.pressure.thresholds
        ),
    )
    turn = stage.tell(structs.replace(given, pressure=again))
    assert (turn.action, turn.victims) == ("Wait", [])
    assert stage.plan.judged["memory.available"] == time


def test_nothing_is_decided_on_what_was_listed() -> None:
    stage = pair(Stage(rules_of(HARD)))
    assert stage.observe("900Mi", listed=True).effects == ()
    assert stage.plan == Plan()
    assert stage.observe("900Mi").victims == ["batch"]


def test_a_request_is_withdrawn_when_the_shortage_has_been_over_for_the_transition_period() -> None:
    stage = pair(Stage(rules_of("memory.available<1Gi/30", transition_seconds=60)))
    stage.observe("900Mi")
    stage.observe("900Mi", after=30)
    assert stage.observe("4Gi").withdrawn == []
    assert stage.observe("4Gi", after=59).withdrawn == []
    assert stage.observe("4Gi", after=1).withdrawn == ["batch"]
    assert stage.observe("4Gi").withdrawn == [], "once"
    assert stage.answer("batch", "Failed", "CanceledDueToNoRequesters").retracted
    assert stage.standing == {}


def test_a_shortage_that_comes_back_starts_the_transition_period_again() -> None:
    stage = pair(Stage(rules_of("memory.available<1Gi/30", transition_seconds=60)))
    stage.observe("900Mi")
    stage.observe("900Mi", after=30)
    stage.observe("4Gi")
    stage.observe("900Mi")
    stage.observe("4Gi")
    assert stage.observe("4Gi", after=59).withdrawn == []


def test_nothing_is_withdrawn_while_the_condition_is_unknown() -> None:
    """No figures are no proof that the shortage is over. [design, law 7]"""
    stage = pair(Stage(rules_of("memory.available<1Gi/30", transition_seconds=60)))
    stage.observe("900Mi")
    stage.observe("900Mi", after=30)

    def unknown(pressure: Pressure) -> Pressure:
        conditions = tuple(
            structs.replace(condition, status="Unknown") for condition in pressure.conditions
        )
        thresholds = tuple(
            structs.replace(threshold, met=False, due=False) for threshold in pressure.thresholds
        )
        return structs.replace(pressure, conditions=conditions, thresholds=thresholds)

    for _ in range(3):
        given = judged(stage, "4Gi", after=100.0)
        turn = stage.tell(structs.replace(given, pressure=unknown(given.pressure)))
        assert turn.withdrawn == []


def test_a_final_request_is_cleared_and_an_old_answer_does_not_end_its_successor() -> None:
    stage = pair(Stage(rules_of(HARD, kubelet=True)))
    stage.observe("900Mi")
    topic = stage.topic_of("batch")
    assert stage.answer("batch", "Failed", "NoFurtherResponder", uid="first").retracted == [topic]
    stage.observe("900Mi")
    assert stage.standing.keys() == {topic}
    assert stage.answer("batch", "Failed", "NoFurtherResponder", uid="first").effects == ()
    assert stage.answer("batch", uid="second").retracted == [topic]


def test_observing_decides_the_same_and_asks_nobody() -> None:
    acting, watching = (pair(Stage(rules_of(HARD, mode=mode))) for mode in (Mode.ACT, Mode.OBSERVE))
    acted, watched = acting.observe("900Mi"), watching.observe("900Mi")
    assert watched.requests == []
    assert (watched.action, watched.verdicts()) == (acted.action, acted.verdicts())
    assert watched.events == ["EvictionThresholdMet"]
    assert watching.observe("900Mi").events == [], "once a crossing"


def test_observing_shows_who_would_go_next_while_a_soft_threshold_waits() -> None:
    stage = pair(Stage(rules_of("memory.available<1Gi/30", mode=Mode.OBSERVE)))
    turn = stage.observe("900Mi")
    assert turn.action == "Wait"
    assert turn.verdicts() == {"batch": "Victim", "web": "Candidate"}
    assert turn.decision is not None
    assert turn.decision.reason == (
        "memory.available is 900Mi, below the soft threshold 1Gi for 0 of 30 s"
    )


def test_a_rehearsal_has_one_victim_a_crossing() -> None:
    stage = pair(Stage(rules_of(HARD, mode=Mode.DRY_RUN, transition_seconds=60)))
    turn = stage.observe("900Mi")
    assert turn.victims == ["batch"]
    assert turn.requests[0].spec.dry_run
    assert stage.answer("batch", "Failed", "DryRun").retracted == []
    for _ in range(5):
        assert stage.observe("900Mi", after=60).action == "Wait"
    stage.observe("4Gi")
    topic = stage.topic_of("batch")
    assert stage.observe("4Gi", after=60).retracted == [topic]
    assert stage.observe("900Mi").victims == ["batch"]


def test_a_line_crossed_before_acting_began_is_told_of_first() -> None:
    """Whoever switches a host to `act` is warned before anybody goes. [design, profile host]"""
    stage = pair(Stage(rules_of(HARD, profile=HOST)))
    turn = stage.observe("900Mi")
    assert (turn.action, turn.victims, turn.events) == ("Wait", [], ["EvictionThresholdMet"])
    assert turn.decision is not None
    assert turn.decision.reason.endswith("already when acting began: acting in 10 s")
    assert stage.observe("900Mi", after=9).victims == []
    assert stage.observe("900Mi", after=1).victims == ["batch"]


def test_a_line_crossed_later_is_acted_on_at_once() -> None:
    stage = pair(Stage(rules_of(HARD, profile=HOST)))
    stage.observe("4Gi")
    assert stage.observe("900Mi").victims == ["batch"]


def test_a_restart_of_a_host_that_acts_warns_of_nothing() -> None:
    stage = pair(Stage(rules_of(HARD, profile=HOST)))
    stage.observe("4Gi")
    stage.restart()
    assert stage.observe("900Mi").victims == ["batch"]


def test_a_change_of_mode_takes_back_what_the_other_mode_asked_for() -> None:
    stage = pair(Stage(rules_of(HARD, mode=Mode.DRY_RUN)))
    stage.observe("900Mi")
    topic = stage.topic_of("batch")
    stage.rules = rules_of(HARD, mode=Mode.OBSERVE)
    assert topic in stage.observe("900Mi").retracted
    assert stage.standing == {}


def test_a_restart_in_the_middle_of_an_eviction_asks_for_nobody_else() -> None:
    stage = pair(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    stage.restart()
    turn = stage.observe("900Mi")
    assert (turn.action, turn.victims) == ("Wait", [])
    stage.gone("batch")
    assert stage.answer("batch").retracted
    stage.observe("900Mi", after=2)
    assert list(stage.standing) == [stage.topic_of("web")]


def test_a_restart_does_not_act_again_on_figures_that_were_used_up() -> None:
    stage = pair(Stage(rules_of(HARD, kubelet=True)))
    given = judged(stage, "900Mi")
    stage.tell(given)
    stage.answer("batch")
    stage.restart()
    assert stage.tell(given).victims == []


def test_what_was_decided_since_the_start_goes_before_what_is_found() -> None:
    """The list may come late; it never takes anything back."""
    stage = pair(Stage(rules_of(HARD)))
    stage.observe("4Gi")
    old = stage.plan.decision
    stage.observe("900Mi")
    newest = stage.plan
    assert stage.tell(Recalled(decision=old)).effects == ()
    assert stage.plan == newest


def test_a_pod_that_is_leaving_already_is_shown_so() -> None:
    """Somebody else drains it; a hard shortage joins in and so makes it hard."""
    stage = pair(Stage(rules_of(HARD, mode=Mode.OBSERVE)))
    batch = stage.pods[1]
    eviction = Eviction(
        spec=EvictionSpec(target=Target(pod=PodTarget(name=batch.name, uid=batch.uid))),
        status=EvictionStatus(node="edge"),
    )
    stage.tell(Seen(namespace="shop", name="pod-1-batch", eviction=eviction))
    turn = stage.observe("900Mi")
    assert turn.decision is not None
    assert turn.decision.ranking[0].why.startswith("is asked to go already")
    stage.tell(Seen(namespace="shop", name="pod-1-batch", eviction=None))
    turn = stage.observe("900Mi")
    assert turn.decision is not None
    assert turn.decision.ranking[0].why.startswith("uses 644Mi more")


def test_a_node_that_is_forgotten_leaves_nothing_behind() -> None:
    stage = pair(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    topic = stage.topic_of("batch")
    turn = stage.tell(Gone())
    assert turn.retracted == [topic, "evictd/v1/edge/decision"]
    assert stage.plan == Plan()


def test_a_cleared_status_and_one_of_nobodys_request_change_nothing() -> None:
    stage = pair(Stage(rules_of(HARD)))
    stage.observe("900Mi")
    before = stage.plan
    topic = stage.topic_of("batch")
    assert stage.tell(Answered(topic=topic, status=None)).effects == ()
    open_status = RequestStatus(uid="u", generation=1, creation_timestamp=stage.now.utc)
    assert stage.tell(Answered(topic=topic, status=open_status)).effects == ()
    assert stage.tell(Answered(topic="another", status=open_status)).effects == ()
    assert stage.plan == before


def test_the_end_of_a_request_that_broker_and_evictor_have_forgotten_clears_it() -> None:
    """Both were killed; the controller knew it from its journal, and only we may clear it."""
    before = pair(Stage(rules_of(HARD)))
    before.observe("900Mi")
    topic = before.topic_of("batch")
    status = RequestStatus(
        uid="u",
        generation=1,
        creation_timestamp=before.now.utc,
        conditions=(Condition(type="TargetEvicted", status="True", reason="TargetGone"),),
    )
    after = pair(Stage(rules_of(HARD)))
    assert after.tell(Answered(topic=topic, status=status)).retracted == [topic]


def test_a_request_that_names_no_pod_of_ours_is_not_taken_up() -> None:
    stage = pair(Stage(rules_of(HARD)))
    strange = Retained(topic="evictd/v1/edge/decision", request=EvictionRequest())
    assert stage.tell(Recalled(decision=None, requests=(strange,))).effects == ()
    assert stage.plan == Plan()


def test_a_calm_node_is_not_unobserved_because_it_measures_memory_alone() -> None:
    """Disk and process ids are Unknown there; what is observed is not short."""
    decision = pair(Stage(rules_of(HARD))).observe("3Gi").decision
    assert decision is not None
    assert decision.reason == "nothing is short"
