"""Responders that are lost, come back, or are not who they were when the chain was made."""

import pytest
from tests.core.protocol.stage import COPY, DRAIN, Stage

from evictd.core.effects import Tick
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd_schemas import Registration

READY = {DRAIN: Registration(status="ready")}
DRY_ABLE = {DRAIN: Registration(status="ready", supports_dry_run=True)}
LOST = ("Interrupted", "Active", "Inactive")
STAYS = ("Active", "Inactive", "Inactive")


@pytest.mark.parametrize("status", [None, "init", "disconnected", "lost"])
def test_one_that_was_lost_loses_its_turn_unless_it_is_ready_again(status: str | None) -> None:
    stage = Stage()
    stage.become(registrations=READY)
    stage.request()
    stage.register(DRAIN, "lost")
    stage.after(5)
    stage.register(DRAIN, status)
    stage.after(4)
    assert stage.states() == STAYS
    stage.after(1)
    assert stage.states() == LOST
    assert stage.entry().interrupted_reason == "ResponderLost"


def test_one_that_is_lost_again_and_again_while_it_starts_loses_its_turn() -> None:
    stage = Stage()
    stage.become(registrations=READY)
    stage.request()
    for _ in range(4):
        stage.register(DRAIN, "lost")
        stage.after(2)
        stage.register(DRAIN, "init")
        stage.after(2)
    assert stage.states() == LOST


def test_one_that_is_ready_in_time_keeps_its_turn() -> None:
    stage = Stage()
    stage.become(registrations=READY)
    stage.request()
    stage.register(DRAIN, "lost")
    stage.after(5)
    stage.register(DRAIN, "init")
    stage.register(DRAIN, "ready")
    stage.after(600)
    assert stage.states() == STAYS


def test_who_was_lost_before_a_restart_may_say_that_it_is_back() -> None:
    """It may have come back while nobody listened: the list of retained messages tells."""
    stage = Stage()
    stage.become(registrations=READY)
    stage.request()
    stage.register(DRAIN, "lost")
    stage.after(5)
    stage.boot_seconds += 60
    stage.become(silence_from_boot_seconds=None)
    stage.after(60)
    assert stage.states() == STAYS
    stage.become(silence_from_boot_seconds=stage.boot_seconds + 10)
    stage.after(9)
    assert stage.states() == STAYS
    stage.after(1)
    assert stage.states() == LOST


def test_a_dry_run_ends_in_time_although_the_default_responder_goes_on_showing_life() -> None:
    stage = Stage()
    stage.request(dry_run=True)
    began = stage.time()
    for _ in range(5):
        stage.after(5)
        stage.report(DEFAULT_RESPONDER, heartbeat_time=stage.time())
        limit = stage.entry(DEFAULT_RESPONDER).deadline_time
        assert limit is not None
        assert (limit - began).total_seconds() == 30
    stage.after(5)
    assert stage.states()[2] == "Interrupted"
    assert stage.ended() == ("DryRun", "the dry run is over; mode is act")


def test_the_default_responder_ends_a_dry_run_in_time_before_the_list_is_complete() -> None:
    """It is not silence that ends it."""
    stage = Stage()
    stage.request(dry_run=True)
    stage.boot_seconds += 30
    stage.become(silence_from_boot_seconds=None)
    assert stage.ended() == ("DryRun", "the dry run is over; mode is act")


def test_whose_turn_it_is_in_a_dry_run_may_finish_although_its_registration_is_gone() -> None:
    """Nothing is known of it any more after the journal was lost."""
    stage = Stage()
    stage.become(registrations=DRY_ABLE)
    stage.request(dry_run=True)
    assert stage.states() == STAYS
    stage.lose_journal(registrations={})
    assert stage.states() == STAYS
    stage.report(completion_time=stage.time())
    assert stage.states() == ("Completed", "Inactive", "Active")
    stage.feed(Tick())
    assert stage.ended()[0] == "AwaitingEviction"


@pytest.mark.parametrize("dry_run", [False, True])
def test_nobody_is_silent_before_the_list_is_complete(*, dry_run: bool) -> None:
    stage = Stage()
    stage.become(registrations=DRY_ABLE)
    stage.request(dry_run=dry_run)
    stage.boot_seconds += 1300
    stage.become(silence_from_boot_seconds=None)
    stage.after(60)
    assert stage.states() == STAYS
    stage.become(silence_from_boot_seconds=stage.boot_seconds + 10)
    stage.after(10)
    assert stage.states()[0] == "Interrupted"


def test_who_has_long_been_lost_is_passed_over_in_the_first_write() -> None:
    """It never had a turn, so that nobody waits for it and no start of it is told."""
    stage = Stage()
    lost = {name: Registration(status="lost") for name in (DRAIN, COPY)}
    long_ago = dict.fromkeys(lost, stage.boot_seconds - 10)
    stage.become(registrations=lost, lost_boot_seconds=long_ago)
    stage.request()
    assert stage.states() == ("Interrupted", "Interrupted", "Active")
    for name in lost:
        assert stage.entry(name).start_time is None
        assert stage.entry(name).interrupted_reason == "ResponderLost"
    reasons = ["EvictionRequested", *["ResponderInterrupted"] * 2, "ResponderActive"]
    assert stage.reasons == reasons


def test_who_was_lost_a_moment_ago_has_the_rest_of_its_time() -> None:
    stage = Stage()
    stage.become(
        registrations={DRAIN: Registration(status="lost")},
        lost_boot_seconds={DRAIN: stage.boot_seconds - 4},
    )
    stage.request()
    stage.after(5)
    assert stage.states() == STAYS
    stage.after(1)
    assert stage.states() == LOST


@pytest.mark.parametrize("returns", [False, True])
def test_who_is_lost_while_it_waits_is_passed_over_unless_it_returns(*, returns: bool) -> None:
    stage = Stage()
    stage.become(registrations={COPY: Registration(status="ready")})
    stage.request()
    stage.register(COPY, "lost")
    stage.after(20)
    if returns:
        stage.register(COPY, "ready")
    stage.report(completion_time=stage.time())
    if returns:
        assert stage.states() == ("Completed", "Active", "Inactive")
    else:
        assert stage.states() == ("Completed", "Interrupted", "Active")
        assert stage.entry(COPY).start_time is None
        assert stage.entry(COPY).interrupted_reason == "ResponderLost"
