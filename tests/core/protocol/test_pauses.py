"""How long a used-up chain rests before the next round."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.core.protocol.stage import SECOND, WEB, Stage

from evictd.core.protocol.acceptance import pause_end
from evictd.core.protocol.conditions import CANCELED, EXHAUSTED, Verdict, conclude
from evictd.core.protocol.policy import (
    EVICTD,
    ROUND_PAUSE_SECONDS,
    ROUND_PAUSE_SECONDS_MAX,
    UPSTREAM,
)
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd_schemas import Eviction, EvictionStatus, Pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ended(verdict: Verdict, number: int) -> Eviction:
    conditions, _ = conclude((), verdict, NOW)
    return Eviction(status=EvictionStatus(conditions=conditions, round=number))


@given(st.integers(0, 200))
def test_the_pause_doubles_up_to_its_bound(number: int) -> None:
    pause = pause_end(EVICTD, ended(EXHAUSTED, number)) - NOW
    wanted = min(ROUND_PAUSE_SECONDS * 2**number, ROUND_PAUSE_SECONDS_MAX)
    assert pause == timedelta(seconds=wanted)


def test_only_a_used_up_chain_rests_and_upstream_none() -> None:
    assert pause_end(EVICTD, ended(CANCELED, 3)) == NOW
    assert pause_end(UPSTREAM, ended(EXHAUSTED, 3)) == NOW


@pytest.mark.parametrize("pod", [None, structs.replace(WEB, phase="Failed")], ids=["gone", "over"])
def test_a_target_that_ends_in_the_pause_is_told_of_at_once(pod: Pod | None) -> None:
    """Its requests need not wait for a round in which nobody has anything to do."""
    stage = Stage(pod=structs.replace(WEB, eviction_responders=()))
    stage.request()
    stage.report(DEFAULT_RESPONDER, completion_time=stage.time())
    stage.after(31)
    assert stage.answer()[0] == "NoFurtherResponder"
    stage.observe(pod)
    stage.after(5)
    assert stage.answer() == ("Succeeded", "")
    assert stage.reasons.count("Evicted") == 1


def test_a_rehearsal_has_room_in_the_pause_and_ends_with_it() -> None:
    stage = Stage(pod=structs.replace(WEB, eviction_responders=()))
    stage.request()
    stage.report(DEFAULT_RESPONDER, completion_time=stage.time())
    stage.after(31)
    stage.request("look", dry_run=True)
    assert stage.eviction(SECOND).status.dry_run
    assert stage.answer("look") == ("AwaitingEviction", "")
    stage.after(28)
    assert stage.states(SECOND) == ("Active",)
    stage.after(2)
    assert stage.ended(SECOND) == ("DryRun", "a real request ends the dry run")
    assert stage.states("pod-3-web") == ("Active",)


def test_rehearsals_make_no_pause_forgotten() -> None:
    stage = Stage(pod=structs.replace(WEB, eviction_responders=()))
    stage.request()
    for _ in range(4):
        stage.after(120)
        name = stage.case.evictions[-1].metadata.name
        stage.report(DEFAULT_RESPONDER, name, completion_time=stage.time())
        stage.after(31)
    assert stage.case.evictions[-1].status.round == 3
    for number in range(8):
        stage.request(f"look-{number}", dry_run=True)
        name = stage.case.evictions[-1].metadata.name
        stage.report(DEFAULT_RESPONDER, name, completion_time=stage.time())
    real = [item for item in stage.case.evictions if not item.status.dry_run]
    assert [item.status.round for item in real] == [0, 1, 2, 3]
