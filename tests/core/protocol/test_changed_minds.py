"""Requests that become something else, modes that change, wishes that end early or come late."""

import pytest
from msgspec import structs
from tests.core.protocol.stage import FIRST, SECOND, UID, WEB, Stage

from evictd.core.protocol.case import Case
from evictd.core.protocol.inputs import Recalled
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.core.rules import Mode
from evictd_schemas import Eviction, EvictionSpec, Metadata, PodTarget, Target

CANCELED = ("CanceledDueToNoRequesters", "No active requesters with eviction intent.")
REHEARSED = ("DryRun", "the dry run is over; mode is act")


def test_a_request_that_becomes_a_dry_run_ends_its_own_eviction_and_is_rehearsed() -> None:
    """What runs is not a real one beside it: it was its own, and is canceled."""
    stage = Stage()
    stage.request()
    stage.after(5)
    stage.request(dry_run=True)
    assert stage.ended() == CANCELED
    assert stage.eviction(SECOND).status.dry_run
    stage.after(31)
    assert stage.answer() == REHEARSED


def test_a_node_that_stops_acting_rehearses_what_it_was_asked_for() -> None:
    stage = Stage()
    stage.request()
    stage.become(mode=Mode.OBSERVE)
    assert stage.ended() == CANCELED
    stage.after(31)
    assert stage.answer() == ("DryRun", "the dry run is over; mode is observe")


def test_beside_a_real_one_that_somebody_else_wants_a_dry_run_is_refused() -> None:
    stage = Stage()
    stage.request()
    stage.request("other", "acme.io/other")
    stage.request(dry_run=True)
    assert stage.answer() == ("DryRun", "a real Eviction is running")
    assert stage.states() == ("Active", "Inactive", "Inactive")


def test_beside_a_real_one_past_its_point_of_no_return_a_dry_run_is_refused() -> None:
    stage = Stage()
    stage.request()
    stage.report(point_of_no_return=True)
    stage.request(dry_run=True)
    assert stage.answer() == ("DryRun", "a real Eviction is running")
    assert stage.states() == ("Active", "Inactive", "Inactive")


def test_beside_a_real_one_whose_end_is_looked_for_a_dry_run_waits() -> None:
    stage = Stage(pod=structs.replace(WEB, eviction_responders=()))
    stage.request()
    stage.report(DEFAULT_RESPONDER, completion_time=stage.time())
    stage.request(dry_run=True)
    assert stage.answer() == ("AwaitingEviction", "")
    stage.after(31)
    assert stage.eviction(SECOND).status.dry_run
    assert stage.ended() == CANCELED


def test_an_evicted_target_stays_evicted_whatever_becomes_of_its_request() -> None:
    """Its Eviction has long been collected, and the workload is not there to be found."""
    stage = Stage(pod=structs.replace(WEB, eviction_responders=()))
    stage.request()
    stage.observe(None)
    stage.after(90_000)
    assert stage.case.evictions == ()
    stage.request(grace_period_seconds=70)
    stage.observe(None)
    assert stage.answer() == ("Succeeded", "")
    (held,) = stage.case.requests
    assert held.status.generation == held.status.observed_generation == 2
    assert held.status.final_time is not None


@pytest.mark.parametrize("observed", [False, True])
def test_an_eviction_that_never_began_is_canceled_once_nobody_wants_it(*, observed: bool) -> None:
    """Whose turn it would have been is not known, and need not be."""
    stage = Stage(pod=WEB if observed else None)
    metadata = Metadata(
        namespace="shop",
        name=FIRST,
        uid="life",
        generation=1,
        creation_timestamp=stage.time(),
    )
    target = Target(pod=PodTarget(name="web", uid=UID))
    stage.feed(Recalled(evictions=(Eviction(metadata=metadata, spec=EvictionSpec(target=target)),)))
    assert stage.ended() == CANCELED
    stage.after(61)
    assert stage.case == Case()


def test_after_a_lost_journal_no_further_round_begins_before_the_node_is_observed() -> None:
    """Whose turn it would be is told by the workload, and so is whether it is there at all."""
    stage = Stage()
    stage.request()
    stage.withdraw()
    stage.pod = None
    stage.lose_journal(sighted=False)
    stage.request(sighted=False)
    assert [item.metadata.name for item in stage.case.evictions] == [FIRST]
    assert stage.answer() == ("AwaitingEviction", "no observation of node edge yet")
    stage.observe(WEB)
    assert stage.states(SECOND) == ("Active", "Inactive", "Inactive")
