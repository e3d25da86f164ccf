"""What holds of the responder's step for any story."""

from hypothesis import given as examples
from hypothesis import strategies as st
from msgspec import structs
from tests.core.duty.stage import (
    POD,
    UID,
    Responder,
    eviction,
    only,
)

from evictd.core.duty import (
    Assigned,
    Given,
    Listed,
    Phase,
    Start,
    StartEnded,
    StartOutcome,
    StartResult,
    StopEnded,
    StopOutcome,
    StopResult,
)
from evictd.core.effects import Stop, Tick
from evictd.core.rules import Mode, Rules

outcomes = st.sampled_from(list(StopResult)).map(lambda result: StopOutcome(result=result, why="x"))
givens = st.one_of(
    st.builds(
        Assigned,
        eviction=st.one_of(
            st.none(),
            st.builds(
                eviction,
                state=st.sampled_from(["Active", "Inactive", "Canceled", "Interrupted"]),
                grace=st.sampled_from([None, 0, 10, 600]),
                kind=st.sampled_from(["Soft", "Hard"]),
                dry_run=st.booleans(),
            ),
        ),
    ),
    st.sampled_from([Listed(uid=UID, pod=POD), Listed(uid=UID, pod=None), Tick()]),
    st.sampled_from([Listed(uid=UID, pod=structs.replace(POD, protected=True))]),
    st.sampled_from(["restart", "webhook"]).map(
        lambda way: Listed(uid=UID, pod=structs.replace(POD, action=way))
    ),
    outcomes.map(lambda outcome: StopEnded(uid=UID, outcome=outcome)),
    st.sampled_from(list(StartResult)).map(
        lambda result: StartEnded(uid=UID, outcome=StartOutcome(result=result, why="x"))
    ),
)


@examples(
    st.sampled_from(list(Mode)), st.lists(st.tuples(givens, st.sampled_from([0, 1, 200, 900])))
)
def test_whatever_comes_in_whatever_order(mode: Mode, story: list[tuple[Given, float]]) -> None:
    """A stop needs `act`, a taken-up pod and a report of no return; DONE is never left by
    itself."""
    responder = Responder(Rules(node="edge-7", mode=mode))
    for given, after in story:
        before = responder.duty
        effects = responder(given, after)
        if only(effects, Stop):
            assert mode is Mode.ACT
            assert responder.duty.phase is Phase.STOPPING
            assert responder.duty.pod is not None
            assert not responder.duty.pod.protected
            assert responder.duty.report is not None
            assert responder.duty.report.point_of_no_return
            if responder.duty.pod.action == "webhook" and before.phase is not Phase.STOPPING:
                assert responder.duty.eviction is not None
                assert responder.duty.eviction.status.type == "Hard"
        if only(effects, Start):
            assert mode is Mode.ACT
            assert responder.duty.phase is Phase.STARTING
            assert responder.duty.pod is not None
            assert responder.duty.pod.action == "restart"
            assert responder.duty.report is not None
            assert responder.duty.report.target_gone
        if before.phase is Phase.DONE and not isinstance(given, Assigned):
            assert responder.duty.phase in (Phase.DONE, Phase.STARTING)  # the end of a late stop
