"""What the author of a responder gets: turns, endings, progress. On virtual time, against the real
controller."""

from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from evictd.core.errors import InputError
from evictd.responder import Responder, Work
from evictd.testing import staged

pytestmark = pytest.mark.looptime
DRAIN = "acme.io/drain"


class Drain:
    """A responder as a class: three parts of a second each, and what became of its work."""

    def __init__(self, *, seconds: float = 1.0, parts: int = 3) -> None:
        self.seconds = seconds
        self.parts = parts
        self.works: list[Work] = []
        self.story: list[str] = []
        self.at_once = 0

    async def respond(self, work: Work) -> str:
        self.works.append(work)
        self.story.append("again" if work.resumed else "begin")
        self.at_once += 1
        try:
            for part in range(1, self.parts + 1):
                await anyio.sleep(self.seconds)
                work.progress(f"saved {part} of {self.parts}")
        except anyio.get_cancelled_exc_class():
            self.story.append(str(work.ending))
            raise
        finally:
            assert self.at_once == 1
            self.at_once -= 1
        self.story.append("end")
        return "everything is saved"

    async def restore(self, work: Work) -> None:
        await anyio.sleep(1)
        self.story.append(f"restored {work.pod.name}")


def responder(drain: Drain, **settings: Any) -> Responder:
    return Responder(name=DRAIN, respond=drain.respond, restore=drain.restore, **settings)


async def test_the_work_begins_with_the_turn_and_its_end_completes_it() -> None:
    drain = Drain()
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        assert stage.state("web") == "Active"
        await stage.until(lambda: stage.state("web") == "Completed")
        assert drain.story == ["begin", "end"]
        first, last = stage.reports("web")
        assert (first.message, first.completion_time) == ("begun", None)
        assert last.message == "everything is saved"
        assert last.completion_time is not None


async def test_the_log_says_when_a_turn_begins_and_how_it_ended() -> None:
    """For whoever has started the program and looks at it."""
    drain = Drain()
    with capture_logs() as told:
        async with staged(responder(drain)) as stage:
            await stage.evict("web")
            await stage.until(lambda: stage.state("web") == "Completed")
            await stage.evict("db")
            await stage.withdraw("db")
            await stage.until(lambda: len(drain.story) > 4)
    turns = [line for line in told if line["event"].startswith("a turn")]
    assert [(line["event"], line["pod"]) for line in turns] == [
        ("a turn begins", "shop/web"),
        ("a turn ends", "shop/web"),
        ("a turn begins", "shop/db"),
        ("a turn ends", "shop/db"),
    ]
    ends = [line["how"] for line in turns if line["event"] == "a turn ends"]
    assert ends == ["everything is saved", "canceled"]


async def test_the_work_knows_its_target_and_the_reason() -> None:
    drain = Drain()
    async with staged(responder(drain)) as stage:
        pod = await stage.add("web")
        await stage.evict("web", deadline_seconds=3600, type="SoftWithDeadline")
        (work,) = drain.works
        assert (work.pod.namespace, work.pod.name, work.pod.uid) == ("shop", "web", pod.uid)
        assert work.reason.signal is None
        assert work.deadline is not None
        assert not work.dry_run


async def test_a_withdrawal_cancels_the_work_and_then_restores() -> None:
    drain = Drain(seconds=100)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.after(5)
        await stage.withdraw("web")
        await stage.after(5)
        assert drain.story == ["begin", "canceled", "restored web"]
        assert stage.reports("web")[-1].completion_time is None


async def test_the_next_turn_for_the_same_workload_waits_until_the_last_one_is_undone() -> None:
    drain = Drain(seconds=100)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.after(5)
        await stage.withdraw("web")
        await stage.evict("web")
        await stage.after(5)
        assert drain.story == ["begin", "canceled", "restored web", "begin"]


async def test_what_cannot_wait_interrupts_the_work_without_restoring() -> None:
    drain = Drain(seconds=100)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.force("web")
        await stage.after(5)
        assert stage.state("web") == "Interrupted"
        assert drain.story == ["begin", "interrupted"]


async def test_work_that_hangs_sends_no_heartbeats_and_loses_its_turn() -> None:
    drain = Drain(seconds=5000)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.after(1190)
        assert stage.state("web") == "Active"
        await stage.after(20)
        assert drain.story == ["begin", "interrupted"]
        assert len(stage.reports("web")) == 1


async def test_work_that_gets_on_keeps_its_turn_for_as_long_as_it_takes() -> None:
    drain = Drain(seconds=600, parts=10)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") == "Completed")
        assert drain.story == ["begin", "end"]


async def test_busy_work_is_reported_no_oftener_than_every_twenty_seconds() -> None:
    drain = Drain(seconds=0.5, parts=200)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") == "Completed")
        assert 6 <= len(stage.reports("web")) <= 8


async def test_a_short_heartbeat_deadline_makes_signs_of_life_quicker() -> None:
    drain = Drain(seconds=1, parts=60)
    async with staged(responder(drain, heartbeat_deadline_seconds=9)) as stage:
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") in ("Completed", "Interrupted"))
        assert drain.story == ["begin", "end"]


async def test_expected_completion_is_told_and_stands() -> None:
    async def respond(work: Work) -> None:
        work.progress("copying", expected_completion=timedelta(minutes=5))
        await anyio.sleep(60)
        work.progress("still copying")
        await anyio.sleep(60)

    async with staged(Responder(name=DRAIN, respond=respond)) as stage:
        began = stage.clock.now().utc
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") == "Completed")
        told = [report.expected_completion_time for report in stage.reports("web")]
        assert told[0] is None
        assert len(set(told[1:])) == 1
        assert told[1] is not None
        assert timedelta(seconds=299) < told[1] - began < timedelta(seconds=302)


async def test_a_moment_without_a_time_zone_is_refused() -> None:
    refused: list[str] = []

    async def respond(work: Work) -> None:
        try:
            work.progress("copying", expected_completion=datetime(2026, 1, 1))  # noqa: DTZ001 - the mistake
        except ValueError as error:
            refused.append(str(error))
        work.progress("copying", expected_completion=datetime(2026, 1, 2, tzinfo=UTC))

    async with staged(Responder(name=DRAIN, respond=respond)) as stage:
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") == "Completed")
    assert refused == ["expected_completion needs a time zone"]


async def test_an_exception_completes_the_turn_as_failed_and_the_next_one_takes_over() -> None:
    async def respond(_work: Work) -> None:
        raise OSError("no room")

    async with staged(Responder(name=DRAIN, respond=respond)) as stage:
        await stage.evict("web")
        await stage.until(lambda: stage.state("web") == "Completed")
        assert stage.reports("web")[-1].message == "failed: OSError: no room"
        eviction = stage.eviction("web")
        assert eviction is not None
        states = [item.state for item in eviction.status.target_responders]
        assert states == ["Completed", "Active"]


async def test_work_that_ends_in_spite_of_being_canceled_is_not_complete() -> None:
    async def respond(_work: Work) -> str:
        try:
            await anyio.sleep(1000)
        except anyio.get_cancelled_exc_class():
            return "done anyway"
        return "done"

    async with staged(Responder(name=DRAIN, respond=respond)) as stage:
        await stage.evict("web")
        await stage.withdraw("web")
        await stage.after(5)
        assert [report.message for report in stage.reports("web")] == ["begun"]


async def test_after_the_point_of_no_return_a_withdrawal_cancels_nothing() -> None:
    committed: list[float] = []

    async def respond(work: Work) -> str:
        await work.point_of_no_return()
        committed.append(anyio.current_time())
        await anyio.sleep(100)
        return "moved"

    async with staged(Responder(name=DRAIN, respond=respond)) as stage:
        await stage.evict("web")
        await stage.until(lambda: committed)
        await stage.withdraw("web")
        await stage.lose_contact()
        await stage.after(5)
        await stage.find_contact()
        await stage.until(lambda: stage.state("web") == "Completed")
        assert stage.reports("web")[-1].point_of_no_return
        assert stage.reports("web")[-1].message == "moved"


async def test_until_the_controller_has_agreed_the_point_of_no_return_is_not_reached() -> None:
    """A withdrawal on its way comes first."""
    reached: list[str] = []

    async def respond(work: Work) -> None:
        await anyio.sleep(10)
        try:
            await work.point_of_no_return()
            reached.append("committed")
        finally:
            reached.append(str(work.ending))

    async with staged(Responder(name=DRAIN, respond=respond)) as stage:
        await stage.evict("web")
        await stage.lose_contact()
        await stage.after(20)
        assert reached == []
        await stage.find_contact()
        await stage.after(9.9)
        await stage.withdraw("web")
        await stage.after(5)
    assert reached == ["canceled"]


async def test_a_lost_connection_ends_the_work_and_a_found_one_begins_it_again() -> None:
    drain = Drain(seconds=10)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.lose_contact()
        assert drain.story == ["begin", "out of contact"]
        await stage.find_contact()
        await stage.until(lambda: stage.state("web") == "Completed")
        assert drain.story == ["begin", "out of contact", "again", "end"]


async def test_a_restart_ends_the_work_and_the_next_process_is_given_it_again() -> None:
    drain = Drain(seconds=10)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.restart()
        assert drain.story == ["begin", "stopping", "again"]
        await stage.until(lambda: stage.state("web") == "Completed")
        assert drain.story[-1] == "end"


async def test_who_restarts_after_completion_does_not_work_again() -> None:
    """Even if the controller has not yet heard of it."""
    drain = Drain(seconds=1)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.until(lambda: drain.story[-1] == "end")
        await stage.restart()
        await stage.after(30)
        assert drain.story == ["begin", "end"]
        completions = [report for report in stage.reports("web") if report.completion_time]
        assert len(completions) == 1


async def test_a_responder_that_died_is_followed_by_the_next_after_ten_seconds() -> None:
    drain = Drain(seconds=1000)
    async with staged(responder(drain)) as stage:
        await stage.evict("web")
        await stage.die()
        await stage.after(9)
        assert stage.state("web") == "Active"
        await stage.after(2)
        assert stage.state("web") == "Interrupted"


async def test_a_responder_selects_workloads_that_do_not_name_it() -> None:
    drain = Drain()
    async with staged(responder(drain, selector={"app": "web"})) as stage:
        await stage.add("web", labels={"app": "web"}, named=False)
        await stage.add("db", labels={"app": "db"}, named=False)
        await stage.evict("web")
        await stage.evict("db")
        assert (stage.state("web"), stage.state("db")) == ("Active", None)


async def test_without_a_selector_it_works_only_where_it_is_named() -> None:
    drain = Drain()
    async with staged(responder(drain)) as stage:
        await stage.add("web", named=False)
        await stage.evict("web")
        assert stage.state("web") is None
        assert stage.eviction("web") is not None


async def test_a_dry_run_asks_only_a_responder_that_supports_it() -> None:
    for supports, expected in ((True, ["begin", "end"]), (False, [])):
        drain = Drain()
        async with staged(responder(drain, supports_dry_run=supports)) as stage:
            await stage.evict("web", dry_run=True)
            await stage.after(10)
            assert drain.story == expected
            assert all(work.dry_run for work in drain.works)


async def test_several_workloads_are_worked_on_at_once() -> None:
    at_work: set[str] = set()
    most: list[int] = []

    async def respond(work: Work) -> None:
        at_work.add(work.pod.name)
        most.append(len(at_work))
        await anyio.sleep(10)

    async with staged(Responder(name=DRAIN, respond=respond)) as stage:
        for name in ("web", "db", "cache"):
            await stage.evict(name)
        await stage.until(lambda: stage.state("cache") == "Completed")
    assert max(most) == 3


@pytest.mark.parametrize("name", ["drain", "acme.io/", "imperative-eviction.k8s.io/evictor"])
async def test_a_name_that_no_controller_would_take_is_refused_at_once(name: str) -> None:
    with pytest.raises(InputError, match="responder"):
        Responder(name=name, respond=Drain().respond)
