"""Times that others write, clocks that jump, boots that end: nobody's turn depends on them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec import structs
from tests.core.protocol.stage import COPY, DRAIN, FIRST, SECOND, START, UID, WEB, Stage

from evictd.core.effects import Tick
from evictd.core.moments import FIRST as EARLIEST
from evictd.core.moments import LAST, after
from evictd.core.protocol.inputs import Requested
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd_schemas import (
    EvictionRequest,
    EvictionRequestSpec,
    PodTarget,
    RequestStatus,
    Setback,
    Target,
)

JUMPS = [3600.0, -3600.0, 56 * 365 * 86_400.0]


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("end", [EARLIEST, LAST])
def test_a_time_at_either_end_of_all_times_outlives_a_jump_of_the_clock(
    jump: float, end: datetime
) -> None:
    stage = Stage()
    stage.request()
    stage.wall_seconds += jump
    stage.feed(Tick())
    stage.report(expected_completion_time=end)
    stage.report(heartbeat_time=EARLIEST, completion_time=EARLIEST)
    assert stage.states() == ("Completed", "Active", "Inactive")


def test_what_lies_beyond_all_times_is_the_nearest_that_can_be_written() -> None:
    assert after(LAST, 1e9) == LAST
    assert after(EARLIEST, -1e9) == EARLIEST


@pytest.mark.parametrize("mark", [LAST, LAST - timedelta(seconds=3)])
def test_a_deletion_mark_at_the_end_of_all_times_is_only_waited_for(mark: datetime) -> None:
    stage = Stage()
    stage.request()
    stage.observe(structs.replace(WEB, phase="Succeeded", deletion_time=mark))
    assert stage.ended() == ("AwaitingEviction", "")
    stage.report(completion_time=stage.time())
    assert stage.ended() == ("Succeeded", "")


def test_the_creation_of_a_request_at_the_end_of_all_times_is_read_back() -> None:
    stage = Stage()
    spec = EvictionRequestSpec(
        target=Target(pod=PodTarget(name="web", uid=UID)),
        requester="acme.io/mover",
        intent="Eviction",
        type="SoftWithDeadline",
        deadline_seconds=60,
    )
    status = RequestStatus(uid="life", generation=1, creation_timestamp=LAST)
    stage.feed(
        Requested(
            requester="acme.io/mover",
            namespace="shop",
            name="move",
            request=EvictionRequest(spec=spec),
            status=status,
        )
    )
    stage.observe(WEB)
    assert stage.eviction().status.deadline_time == LAST


def test_times_of_a_report_are_published_in_utc() -> None:
    stage = Stage()
    stage.request()
    zone = timezone(timedelta(hours=5, minutes=30))
    stage.after(10)
    now = stage.time()
    stage.report(
        heartbeat_time=stage.time(-5).astimezone(zone),
        expected_completion_time=stage.time(60).astimezone(zone),
        setback=Setback(cause="Busy", next_try_time=stage.time(9).astimezone(zone)),
    )
    entry = stage.entry()
    assert entry.setback is not None
    times = (
        entry.heartbeat_time,
        entry.expected_completion_time,
        entry.deadline_time,
        entry.setback.next_try_time,
    )
    assert [time.tzinfo for time in times if time is not None] == [UTC] * 4
    assert times[:2] == (now - timedelta(seconds=5), now + timedelta(seconds=60))


def test_absence_is_concluded_after_a_reboot_however_long_the_machine_had_run() -> None:
    """Boot time begins anew, and everything that was asked for before came earlier."""
    stage = Stage(pod=None)
    stage.boot_seconds = 900_000.0
    stage.request()
    stage.reboot()
    assert stage.answer() == ("AwaitingEviction", "no observation of node edge yet")
    stage.after(5)
    stage.observe(None)
    assert stage.answer() == ("EvictionInvalid", "Target pod not found.")


def test_a_restart_in_the_same_boot_does_not_make_an_old_look_a_new_one() -> None:
    stage = Stage(pod=None)
    stage.request()
    stage.boot_seconds -= 5
    stage.observe(None)
    assert stage.answer() == ("AwaitingEviction", "no observation of node edge yet")


def test_after_the_last_completion_a_look_in_the_next_boot_tells() -> None:
    stage = Stage(pod=structs.replace(WEB, eviction_responders=()))
    stage.boot_seconds = 900_000.0
    stage.request()
    stage.report(DEFAULT_RESPONDER, completion_time=stage.time())
    assert stage.ended() == ("AwaitingEviction", "")
    stage.reboot()
    stage.after(1)
    stage.observe(stage.pod)
    assert stage.ended()[0] == "NoFurtherResponder"


@pytest.mark.parametrize("begins", ["Eviction", "Withdrawn"])
def test_the_deadline_of_a_wish_counts_from_when_it_was_made(begins: str) -> None:
    """Not from a wish that was taken back, and not from a request that wanted nothing."""
    stage = Stage()
    terms: dict[str, Any] = {"type": "SoftWithDeadline", "deadline_seconds": 60}
    stage.request(intent=begins, **terms)
    stage.after(10)
    stage.request(intent="Withdrawn", **terms)
    stage.after(1000)
    stage.request(**terms)
    name = FIRST if begins == "Withdrawn" else SECOND
    assert stage.states(name) == ("Active", "Inactive", "Inactive")
    assert stage.eviction(name).status.deadline_time == stage.time(60)
    stage.after(60)
    assert stage.states(name) == ("Interrupted", "Interrupted", "Active")


def test_while_a_wish_stands_its_deadline_is_never_moved_back() -> None:
    stage = Stage()
    stage.request(type="SoftWithDeadline", deadline_seconds=60)
    due = stage.time(60)
    stage.after(10)
    stage.request(type="SoftWithDeadline", deadline_seconds=600)
    assert stage.eviction().status.deadline_time == due


@pytest.mark.parametrize("wait", [0.0, 1000.0])
def test_a_lost_journal_moves_no_deadline(wait: float) -> None:
    stage = Stage()
    terms: dict[str, Any] = {"type": "SoftWithDeadline", "deadline_seconds": 60}
    stage.request(intent="Withdrawn", **terms)
    stage.after(wait)
    stage.request(**terms)
    due = stage.time(60)
    stage.after(10)
    stage.lose_journal()
    assert stage.eviction().status.deadline_time == due
    assert stage.entry(DRAIN).start_time == stage.time(-10)
    stage.after(49)
    assert stage.states()[0] == "Active"
    stage.after(1)
    assert stage.states()[0] == "Interrupted"


@pytest.mark.parametrize(
    ("own", "asked", "waits"), [(None, None, 35), (10, None, 15), (10, 60, 65)]
)
def test_a_mark_that_a_jumped_clock_made_is_waited_for_no_longer_than_its_grace(
    own: int | None, asked: int | None, waits: int
) -> None:
    """A deletion mark contains the grace and may lie ahead by that, and not by hours."""
    web = structs.replace(WEB, termination_grace_period_seconds=own)
    stage = Stage(pod=web)
    stage.request(grace_period_seconds=asked)
    stage.wall_seconds += 7200
    stage.observe(structs.replace(web, phase="Failed", deletion_time=stage.time()))
    stage.after(waits - 1)
    assert stage.ended() == ("AwaitingEviction", "")
    stage.after(1)
    assert stage.ended() == ("Succeeded", "")


@pytest.mark.parametrize("back", [7200.0, 56 * 365 * 86_400.0])
def test_a_machine_whose_clock_forgets_the_time_while_it_is_off_keeps_its_deadlines(
    back: float,
) -> None:
    """Without a battery it begins where it was long ago, and jumps once it has asked somebody."""
    stage = Stage()
    stage.request()
    stage.after(1000)
    stage.report(message="on it", heartbeat_time=START)
    stage.wall_seconds -= back
    stage.reboot()
    stage.after(100)
    stage.wall_seconds += back
    stage.feed(Tick())
    stage.after(99)
    assert stage.states() == ("Active", "Inactive", "Inactive")
    stage.after(1)
    assert stage.states() == ("Interrupted", "Active", "Inactive")


@pytest.mark.parametrize("back", [3600.0, 7200.0, 56 * 365 * 86_400.0])
@pytest.mark.parametrize("heard", [False, True])
def test_a_journal_that_is_lost_behind_a_clock_that_was_set_back_moves_no_deadline(
    back: float, *, heard: bool
) -> None:
    """The published moments lie ahead of the clock then, and yet they are past.

    Whether the controller still heard of the clock, or was away by then.
    """
    stage = Stage()
    stage.request()
    stage.after(1000)
    stage.report(heartbeat_time=stage.time())
    stage.wall_seconds -= back
    if heard:
        stage.feed(Tick())
    stage.lose_journal()
    stage.after(1199)
    assert stage.states() == ("Active", "Inactive", "Inactive")
    stage.after(1)
    assert stage.states() == ("Interrupted", "Active", "Inactive")
    stage.report(COPY, heartbeat_time=stage.time())
    stage.after(1199)
    assert stage.states() == ("Interrupted", "Active", "Inactive")
    stage.after(1)
    assert stage.states() == ("Interrupted", "Interrupted", "Active")
