"""The hold file, which is looked at before each stop, start and reclaim; and what is forgotten."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs
from tests.services.responder.machine import NODE, START, WEB, Machine, eviction
from tests.services.responder.test_restores import RECORD, answer, observation, order, stopped_web

from evictd.core.holds import written
from evictd.core.rules import Mode
from evictd.responder.holding import HoldFile
from evictd_schemas import Eviction, Order, OrderStatus, PodReference, Wish, topics

pytestmark = pytest.mark.looptime

FORGET = topics.ORDER.at(NODE, name="forget")
RECLAIM = topics.ORDER.at(NODE, name="reclaim")
HARD = '{"verb": "Hold", "includeHard": true}'


class Desk:
    """Where the file lies; nothing real may be read on virtual time."""

    def __init__(self) -> None:
        self.note: tuple[Wish, ...] = ()

    def held(self, text: str = "", *, changed: float = 0.0) -> None:
        """A person has written it `changed` seconds after the start."""
        self.note = written(text, START + timedelta(seconds=changed))

    def free(self) -> None:
        """The file is removed."""
        self.note = ()


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk()
    monkeypatch.setattr(HoldFile, "_read", lambda _: desk.note)
    return desk


@pytest.fixture
def machine(desk: Desk) -> Machine:
    machine = Machine()
    assert not desk.note
    machine.hold_file = Path("hold")
    return machine


def typed(found: Eviction, kind: str) -> Eviction:
    return structs.replace(found, status=structs.replace(found.status, type=kind))


async def test_what_its_owner_ended_while_it_was_held_is_not_down_because_of_evictd(
    machine: Machine, desk: Desk
) -> None:
    """So that it is not started against his will once there is room."""
    web = machine.runtime.begin(WEB)
    desk.held()
    async with machine.life():
        machine.say(typed(eviction(web), "Soft"))
        await asyncio.sleep(1)
        machine.runtime.end("shop", "web")
        desk.free()
        await asyncio.sleep(60)
    assert machine.reports()[-1].target_gone
    assert machine.stopped() is None


@pytest.mark.parametrize(
    "text", ["", "1h", "2026-01-01T01:00:00Z", '{"verb": "Hold", "target": "shop/web"}', "nonsense"]
)
async def test_a_soft_stop_waits_for_the_end_of_a_hold(
    machine: Machine, desk: Desk, text: str
) -> None:
    """Whoever asked; it is tried again and tells why."""
    async with machine.life():
        web = machine.runtime.begin(WEB)
        desk.held(text)
        machine.say(typed(eviction(web), "Soft"))
        await asyncio.sleep(60)
        assert machine.runtime.stops == []
        report = machine.reports()[-1]
        assert "held until 2026-01-0" in report.message
        assert f"by the file {machine.hold_file}" in report.message
        # One that had said so once could not be withdrawn any more.
        assert not any(report.point_of_no_return for report in machine.reports())
        desk.free()
        await asyncio.sleep(600)
        assert len(machine.runtime.stops) == 1
    assert machine.stopped() is not None


@pytest.mark.parametrize(("text", "stops"), [("", 1), (HARD, 0)])
async def test_a_hard_stop_goes_on_unless_the_hold_says_otherwise(
    machine: Machine, desk: Desk, text: str, stops: int
) -> None:
    async with machine.life():
        web = machine.runtime.begin(WEB)
        desk.held(text)
        machine.say(typed(eviction(web), "Hard"))
        await asyncio.sleep(60)
    assert len(machine.runtime.stops) == stops


async def test_what_was_held_goes_at_once_when_it_becomes_hard(
    machine: Machine, desk: Desk
) -> None:
    """Whatever is left of the pause, and with no less grace than before."""
    async with machine.life():
        web = machine.runtime.begin(WEB)
        desk.held()
        machine.say(typed(eviction(web), "Soft"))
        await asyncio.sleep(400)
        assert machine.runtime.stops == []
        machine.say(typed(eviction(web), "Hard"))
        await asyncio.sleep(1)
        assert len(machine.runtime.stops) == 1


async def test_a_hold_of_hard_stops_is_asked_about_no_oftener_when_it_becomes_hard(
    machine: Machine, desk: Desk
) -> None:
    async with machine.life():
        web = machine.runtime.begin(WEB)
        desk.held(HARD)
        for kind in ("Soft", "Hard", "Hard"):
            machine.say(typed(eviction(web), kind))
            await asyncio.sleep(1)
    assert machine.runtime.stops == []
    assert "(attempts=2)" in machine.reports()[-1].message


async def test_a_hold_of_another_one_and_one_that_is_over_hold_nothing(
    machine: Machine, desk: Desk
) -> None:
    other = (
        '[{"verb": "Hold", "target": "shop/db"}, {"verb": "Hold", "until": "2026-01-01T00:00:00Z"}]'
    )
    async with machine.life():
        web = machine.runtime.begin(WEB)
        desk.held(other)
        machine.say(typed(eviction(web), "Soft"))
        await asyncio.sleep(10)
    assert len(machine.runtime.stops) == 1


async def test_a_file_that_was_forgotten_holds_for_a_day(machine: Machine, desk: Desk) -> None:
    """By its last change."""
    async with machine.life():
        web = machine.runtime.begin(WEB)
        desk.held(changed=-86_399)
        machine.say(typed(eviction(web), "Soft"))
        await asyncio.sleep(1)
        assert machine.runtime.stops == []
        await asyncio.sleep(20)
        assert len(machine.runtime.stops) == 1


async def test_a_start_waits_for_the_end_of_any_hold(machine: Machine, desk: Desk) -> None:
    """It is refused, which is no failure of the workload."""
    async with machine.life():
        web = await stopped_web(machine)
        desk.held()
        status = await answer(machine, order(web))
        assert status.state == "Refused"
        assert status.message.startswith("held until 2026-01-02T00:00:00Z by the file ")
        record = machine.stopped()
        assert record is not None
        assert (record.attempts, record.next_try_time) == (0, None)
        desk.free()
        assert (await answer(machine, order(web, "again"))).state == "Finished"


@pytest.mark.parametrize(("text", "state"), [("", "Finished"), (HARD, "Refused")])
async def test_what_is_given_back_is_kept_only_by_a_hold_of_hard_stops_too(
    machine: Machine, desk: Desk, text: str, state: str
) -> None:
    """It spares somebody a stop."""
    async with machine.life():
        desk.held(text)
        machine.say(Order(uid="1", kind="Reclaim", steps=("danglingImages",)), RECLAIM)
        await asyncio.sleep(10)
        status = machine.retained(topics.ORDER_STATUS.at(NODE, name="reclaim"), OrderStatus)
        assert status.state == state


@pytest.mark.parametrize("mode", [Mode.ACT, Mode.OBSERVE])
async def test_what_is_forgotten_is_down_no_more_in_every_mode(
    machine: Machine, mode: Mode
) -> None:
    """No workload is touched; again it is so already; another life of the name is another one."""
    async with machine.life():
        web = await stopped_web(machine)
        machine.rules = structs.replace(machine.rules, mode=mode)
        stranger = PodReference(namespace="shop", name="web", uid="earlier")
        for uid, target, stands in (("1", stranger, True), ("2", web, False), ("3", web, False)):
            machine.say(Order(uid=uid, kind="Forget", target=target), FORGET)
            await asyncio.sleep(5)
            status = machine.retained(topics.ORDER_STATUS.at(NODE, name="forget"), OrderStatus)
            assert (status.order_uid, status.state) == (uid, "Finished")
            assert (RECORD in machine.bus.retained) is stands
    assert machine.runtime.starts == []


async def test_what_is_removed_is_down_no_more_once_it_was_missed_twice(machine: Machine) -> None:
    """Whoever makes it anew removes it first; asked at a bounded pace, while somebody observes."""
    async with machine.life():
        web = await stopped_web(machine)
        machine.runtime.remove("shop", "web")
        for number in range(1, 5):
            machine.say(observation(sequence=number), topics.OBSERVATION.at(NODE))
            await asyncio.sleep(1)
        assert RECORD in machine.bus.retained
        await asyncio.sleep(2)
        machine.say(observation(sequence=9), topics.OBSERVATION.at(NODE))
        await asyncio.sleep(1)
        assert RECORD not in machine.bus.retained
    assert web.name == "web"


async def test_what_is_missing_for_a_moment_is_kept(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with machine.life():
        await stopped_web(machine)
        answers = iter((False, True, False, None, False, True))

        async def keeps(*_: str) -> bool | None:
            return next(answers)

        monkeypatch.setattr(machine.runtime, "keeps", keeps)
        for number in range(1, 7):
            machine.say(observation(sequence=number), topics.OBSERVATION.at(NODE))
            await asyncio.sleep(6)
        assert RECORD in machine.bus.retained
        assert next(answers, "all were asked for") == "all were asked for"


async def test_a_failed_start_is_written_down_with_when_to_try_again(machine: Machine) -> None:
    """The pause doubles."""
    async with machine.life():
        web = await stopped_web(machine)
        machine.runtime.failure = "no such network"
        pauses = []
        for number in range(3):
            status = await answer(machine, order(web, str(number)))
            record = machine.stopped()
            assert record is not None
            assert record.next_try_time is not None
            assert status.finished is not None
            pauses.append((record.next_try_time - status.finished.time).total_seconds())
        assert [round(pause) for pause in pauses] == [60, 120, 240]
