"""The parts of the link that need no broker: outbox, marks, presence, intake, addresses."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ear import Ear

from evictd.core.errors import InputError
from evictd.shell.bus import Delivery, Router, outbox
from evictd.shell.bus.address import Address, address
from evictd.shell.bus.intake import Intake
from evictd.shell.bus.marks import CLEARED_MAX, Ledger, Mark, read_mark
from evictd.shell.bus.outbox import Outbox
from evictd.shell.bus.presence import Member, NodeTaken, Presence, Verdict, written_by
from evictd.shell.bus.router import CLEARED_MAX as ROUTER_CLEARED_MAX
from evictd.shell.epoch import Epoch
from evictd_schemas import WorkerStatus, topics
from evictd_schemas.topics import ALL, Role

NODE = "edge-7"
DECISION = topics.DECISION.at(NODE)
OBSERVATION = topics.OBSERVATION.at(NODE)
REPORT = topics.REPORT.at(
    NODE, namespace="shop", name="web", domain="imperative-eviction.k8s.io", key="evictor"
)
WISH = topics.WISH.at(NODE, domain="acme.io", key="person", name="hold")
ALL_FILTERS = (f"{topics.ROOT}/#",)


async def taken(box: Outbox) -> list[tuple[str, bytes]]:
    found = []
    while len(box):
        outgoing = await box.take()
        found.append((outgoing.topic, outgoing.payload))
        box.confirm()
    return found


async def test_newer_state_takes_the_place_of_older_and_events_are_all_kept() -> None:
    box = Outbox()
    for number in (b"1", b"2"):
        box.put("state", number, retain=True)
        box.put("event", number, retain=False)
    assert await taken(box) == [("state", b"2"), ("event", b"1"), ("event", b"2")]


async def test_beyond_the_bound_the_oldest_event_is_dropped_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "EVENTS_MAX", 2)
    box = Outbox()
    for number in (b"1", b"2", b"3"):
        box.put("event", number, retain=False)
    box.put("state", b"s", retain=True)
    assert await taken(box) == [("event", b"2"), ("event", b"3"), ("state", b"s")]
    assert box.dropped == 1


async def test_what_was_given_back_goes_first_again_unless_newer_state_has_come() -> None:
    box = Outbox()
    box.put("event", b"1", retain=False)
    box.put("state", b"old", retain=True)
    first, second = await box.take(), await box.take()
    box.put("event", b"2", retain=False)
    box.put("state", b"new", retain=True)
    box.give_back(second)
    box.give_back(first)
    assert await taken(box) == [("event", b"1"), ("event", b"2"), ("state", b"new")]


@pytest.mark.looptime
async def test_drained_waits_for_what_is_in_flight() -> None:
    box = Outbox()
    await box.drained()
    box.put("state", b"1", retain=True)
    await box.take()
    waiting = asyncio.ensure_future(box.drained())
    await asyncio.sleep(1)
    assert not waiting.done()
    box.confirm()
    await waiting


@pytest.mark.parametrize(
    ("topic", "payload", "mark"),
    [
        (DECISION, b'{"epoch":3,"rev":4,"sequence":9}', Mark(epoch=3, rev=4)),
        (OBSERVATION, b'{"epoch":3,"sequence":9}', Mark(rev=9)),
        (OBSERVATION, b'{"sequence":null}', Mark()),
        (topics.WORKER.at(NODE, worker="all"), b'{"epoch":3,"connection":2}', Mark(epoch=3, rev=2)),
        (WISH, b'{"verb":"Hold"}', Mark()),
        (DECISION, b'{"epoch":"3"}', None),
        (DECISION, b'{"epoch":-1}', None),
        (DECISION, b'{"epoch":9223372036854775807}', None),
        (DECISION, b'{"epoch":99999999999999999999999}', None),
        (DECISION, b"[" * 200_000, None),
        (DECISION, b"\xff", None),
    ],
)
def test_the_order_of_a_payload_is_what_its_topic_says(
    topic: str, payload: bytes, mark: Mark | None
) -> None:
    place = topics.place(topic)
    assert place is not None
    assert read_mark(place, payload) == mark


@given(st.binary(max_size=200))
def test_no_payload_makes_reading_its_order_fail(payload: bytes) -> None:
    place = topics.place(DECISION)
    assert place is not None
    assert isinstance(read_mark(place, payload), Mark | None)


def test_a_list_is_authoritative_if_it_has_all_of_ours_or_newer_and_nothing_we_cleared() -> None:
    ledger = Ledger({DECISION: Mark(epoch=2, rev=5)})
    for payload, expected in (
        (b"", False),
        (b'{"epoch":2,"rev":4}', False),
        (b'{"epoch":2,"rev":5}', True),
        (b'{"epoch":3,"rev":1}', True),
        (b"{", False),
    ):
        ledger.connect()
        if payload:
            ledger.name(DECISION, payload)
        assert ledger.authoritative(ALL_FILTERS) is expected
    ledger.confirm(DECISION, b"")
    assert not ledger.authoritative(ALL_FILTERS)
    ledger.connect()
    assert ledger.authoritative(ALL_FILTERS)


def test_what_a_list_could_not_show_says_nothing_about_it() -> None:
    ledger = Ledger({DECISION: Mark(epoch=2, rev=5)})
    assert ledger.authoritative((topics.OBSERVATION.everywhere(),))


def test_memory_of_what_was_cleared_is_bounded() -> None:
    ledger, router = Ledger(), Router()
    for number in range(CLEARED_MAX + 10):
        topic = topics.EVICTION.at(NODE, namespace="shop", name=f"n{number}")
        ledger.confirm(topic, b"")
        router.publish(topic, b"", retain=True)
    assert len(ledger._cleared) == CLEARED_MAX
    assert len(router.own) == ROUTER_CLEARED_MAX


def member(worker: str = "evictor", machine: str = "aaaa") -> Member:
    roles = tuple(topics.WORKERS) if worker == ALL else (Role(worker),)
    return Member(
        node=NODE,
        worker=worker,
        roles=roles,
        start_time=datetime(2026, 1, 1, tzinfo=UTC),
        machine=machine,
    )


def status(**fields: str | int) -> bytes:
    return msgspec.json.encode({"worker": "evictor", **fields})


def test_a_greater_epoch_on_the_own_role_or_on_all_replaces() -> None:
    presence = Presence(member(), Epoch(5))
    own, everyone = member().rivals
    assert presence.judge(everyone, status(status="init", epoch=6)) is Verdict.REPLACED
    assert presence.judge(own, status(status="init", epoch=6)) is Verdict.REPLACED
    assert presence.judge(own, status(status="lost", epoch=5)) is Verdict.OVERWRITE
    assert presence.judge(own, status(status="ready", epoch=4)) is Verdict.OVERWRITE
    assert presence.judge(own, b"") is Verdict.OVERWRITE
    assert presence.judge(everyone, status(status="ready", epoch=4)) is Verdict.OTHER
    assert presence.judge(own, presence.say("ready")) is Verdict.ECHO


def test_a_process_of_all_workers_is_replaced_by_one_of_any_role() -> None:
    rivals = member(ALL).rivals
    assert rivals[0] == topics.WORKER.at(NODE, worker=ALL)
    assert set(rivals[1:]) == {topics.WORKER.at(NODE, worker=role) for role in topics.WORKERS}


def test_only_a_live_holder_of_another_machine_stops_a_newcomer() -> None:
    presence = Presence(member(), Epoch(5))
    for word, machine in (("lost", "bbbb"), ("disconnected", "bbbb"), ("ready", "aaaa")):
        presence.take_over([WorkerStatus(worker="all", status=word, epoch=7, machine=machine)])
    assert presence.epoch.epoch == 8
    with pytest.raises(NodeTaken, match=r"bbbb.*aaaa"):
        presence.take_over([WorkerStatus(worker="all", status="init", epoch=1, machine="bbbb")])


def test_each_role_lists_what_it_wrote() -> None:
    assert written_by(Role.EVALUATOR, "+") == (topics.PRESSURE.everywhere(),)
    assert topics.REPORT.everywhere(NODE) in written_by(Role.RESPONDER, NODE)
    assert topics.REQUEST_STATUS.everywhere() in written_by(Role.CONTROLLER, "+")


class Side:
    """A receiving side with a router behind it."""

    def __init__(self, *, stays: bool = True) -> None:
        self.router, self.box, self.ear = Router(), Outbox(), Ear(ALL_FILTERS)
        self.router.attach(self.ear)
        self.outranked: list[Mark] = []
        self.judged: list[Delivery] = []
        self.intake = Intake(
            self.router, Ledger(), self.box, None, self._outranked, judged=self.judged.append
        )
        self._stays = stays

    def _outranked(self, _place: topics.Place[object], mark: Mark) -> bool:
        self.outranked.append(mark)
        return self._stays

    def own(self, topic: str, payload: bytes) -> None:
        self.router.publish(topic, payload, retain=True, publisher=self.ear)

    def take(self, topic: str, payload: bytes, *, listed: bool = False) -> None:
        self.intake.take(topic, payload, listed=listed)


@pytest.mark.looptime
async def test_two_who_write_one_topic_do_not_flood_the_broker() -> None:
    side = Side()
    side.own(DECISION, b'{"epoch":1,"rev":1}')
    written = 0
    for _ in range(100):
        side.take(DECISION, b"rubbish")
        await asyncio.sleep(0.1)
        written += len(await taken(side.box))
    assert 9 <= written <= 11


@pytest.mark.looptime
async def test_what_others_write_on_ours_is_judged_and_reaches_nobody() -> None:
    """What the list holds may be older words of ours, and is not judged."""
    side = Side()
    side.own(DECISION, b'{"epoch":1,"rev":1}')
    side.take(DECISION, b'{"epoch":1,"rev":0}', listed=True)
    side.take(DECISION, b"rubbish")
    assert side.judged == [Delivery(topic=DECISION, payload=b"rubbish")]
    assert side.ear.heard == []


@pytest.mark.looptime
async def test_a_topic_that_another_writer_of_a_foreign_node_leads_is_left_to_it() -> None:
    side = Side(stays=False)
    side.own(DECISION, b'{"epoch":1,"rev":1}')
    side.take(DECISION, b'{"epoch":2,"rev":1}')
    await asyncio.sleep(5)
    assert side.outranked == [Mark(epoch=2, rev=1)]
    assert len(side.box) == 0


@pytest.mark.looptime
async def test_a_report_that_its_controller_collects_is_gone_and_not_written_again() -> None:
    """The one topic with a second writer. [contract 1]"""
    side = Side()
    side.own(REPORT, b'{"evictionUid":"u"}')
    side.take(REPORT, b"")
    await asyncio.sleep(5)
    assert len(side.box) == 0
    assert REPORT not in side.router.retained
    assert side.ear.heard == [Delivery(topic=REPORT, payload=b"")]


@pytest.mark.looptime
async def test_an_observation_by_hand_is_heard_beside_a_collector_that_goes_on_after_it() -> None:
    side = Side()
    side.own(OBSERVATION, b'{"sequence":5,"pods":[]}')
    side.take(OBSERVATION, b'{"sequence":4,"pods":[]}')
    side.take(OBSERVATION, b'{"sequence":9,"pods":[]}')
    assert [delivery.payload for delivery in side.ear.heard] == [b'{"sequence":9,"pods":[]}']


@pytest.mark.looptime
async def test_an_observation_without_pods_does_not_stand_for_the_whole() -> None:
    side = Side()
    side.take(OBSERVATION, b'{"sequence":4,"pods":[]}', listed=True)
    side.take(OBSERVATION, b'{"sequence":5}')
    assert side.router.retained[OBSERVATION] == b'{"sequence":4,"pods":[]}'
    assert len(side.ear.heard) == 2


@pytest.mark.looptime
async def test_a_list_never_overrides_what_this_process_published_or_cleared() -> None:
    side = Side()
    side.own(DECISION, b'{"epoch":2,"rev":1}')
    side.own(WISH, b"")
    side.take(DECISION, b'{"epoch":1,"rev":1}', listed=True)
    side.take(WISH, b'{"verb":"Hold"}', listed=True)
    side.intake.finish_list(ALL_FILTERS)
    assert side.ear.heard == []
    assert sorted(await taken(side.box)) == [(DECISION, b'{"epoch":2,"rev":1}'), (WISH, b"")]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mqtt://broker", Address(host="broker", port=1883)),
        ("mqtts://broker", Address(host="broker", port=8883, tls=True)),
        (
            "mqtt://ada:se%2Fcret@10.0.0.5:18830",
            Address(host="10.0.0.5", port=18830, username="ada", password="se/cret"),  # noqa: S106 - an example
        ),
        ("mqtt://[::1]:1", Address(host="::1", port=1)),
    ],
)
def test_an_address_is_one_url(url: str, expected: Address) -> None:
    assert address(url) == expected
    assert "cret" not in expected.url


@pytest.mark.parametrize(
    "url",
    [
        *("broker", "http://broker", "mqtt://", "mqtt://broker:port", ""),
        *("mqtt://me:secret@[bus", "mqtt://me:secret@bus:port", "http://me:secret@bus"),
    ],
)
def test_what_is_no_address_is_refused_and_no_password_told(url: str) -> None:
    with pytest.raises(InputError) as refused:
        address(url)
    assert "secret" not in str(refused.value)


def test_loopback_is_this_machine_only() -> None:
    hosts = ("localhost", "127.0.0.1", "127.9.9.9", "::1", "10.0.0.1", "broker")
    assert [Address(host=host).loopback for host in hosts] == [True] * 4 + [False] * 2
