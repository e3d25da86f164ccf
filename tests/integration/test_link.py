"""The link against a broker that dies, stalls, forgets, and against others on our topics."""

import asyncio
import contextlib
import signal
from typing import Any

import msgspec
import pytest
from aiomqtt import Client, ProtocolVersion
from tests.integration.peers import (
    DECISION,
    NODE,
    STATUS,
    Ear,
    Process,
    outsider,
    running,
    status,
    wish,
)
from tests.waiting import until

from evictd.shell.bus import Delivery, Listing, intake, link
from evictd.shell.bus.address import address
from evictd.shell.bus.marks import Mark
from evictd.shell.bus.presence import NodeTaken, Replaced
from evictd_schemas import WorkerStatus, topics


async def test_birth_is_init_then_ready_and_the_orderly_end_is_disconnected(broker: Any) -> None:
    async with outsider(broker) as someone:
        async with running(Process(broker.url)):
            await until(lambda: (now := someone.status()) and now.status == "ready")
        await until(lambda: someone.status().status == "disconnected")
        said = [
            msgspec.json.decode(payload, type=WorkerStatus)
            for topic, payload in someone.history
            if topic == STATUS
        ]
        assert [one.status for one in said] == ["init", "ready", "disconnected"]
        assert {(one.epoch, one.connection) for one in said} == {(100, 1)}


async def test_everything_of_ours_is_there_again_after_the_broker_lost_it(broker: Any) -> None:
    """And then the list is not authoritative: what we knew of others stands. [design, law 5]"""
    async with running(Process(broker.url)) as process:
        async with outsider(broker) as someone:
            await someone.publish(wish("hold"), b'{"verb":"Hold"}')
            await until(lambda: process.ear.heard)
        process.publish(DECISION, b'{"epoch":100,"rev":1}')
        await process.link.outbox.drained()
        await asyncio.to_thread(broker.kill)
        await until(lambda: not process.link.connected.is_set())
        await asyncio.to_thread(broker.start)
        await until(process.link.connected.is_set)
        async with outsider(broker) as someone:
            await until(lambda: someone.seen.get(DECISION) == b'{"epoch":100,"rev":1}')
            assert someone.status().connection == 2
        lost = frozenset({wish("hold")})
        assert process.ear.lists[-1] == Listing(authoritative=False, unconfirmed=lost)
        assert process.router.retained[wish("hold")] == b'{"verb":"Hold"}'


async def test_what_an_authoritative_list_does_not_name_is_gone(broker: Any) -> None:
    """The broker kept its store; a wish was cleared while we were away."""
    await asyncio.to_thread(broker.kill)
    await asyncio.to_thread(lambda: broker.start(persistent=True))
    async with running(Process(broker.url)) as process:
        async with outsider(broker) as someone:
            await someone.publish(wish("hold"), b'{"verb":"Hold"}')
            await someone.publish(wish("kept"), b'{"verb":"Hold"}')
            await until(lambda: len(process.ear.heard) == 2)
        process.publish(DECISION, b'{"epoch":100,"rev":1}')
        await process.link.outbox.drained()
        broker.signal(signal.SIGTERM)
        await until(lambda: not process.link.connected.is_set())
        await asyncio.to_thread(broker.kill)
        # a broker in between, on the same store, where only the other one speaks
        process.link._address = address("mqtt://127.0.0.1:9")
        await asyncio.to_thread(lambda: broker.start(persistent=True))
        async with outsider(broker) as someone:
            await someone.publish(wish("hold"), b"")
        process.link._address = address(broker.url)
        await until(process.link.connected.is_set)
        await until(lambda: len(process.ear.lists) == 2)
        assert process.ear.lists[-1] == Listing(authoritative=True)
        gone = Delivery(topic=wish("hold"), payload=b"", listed=True)
        assert gone in process.ear.heard
        assert set(process.router.retained) & {wish("hold"), wish("kept")} == {wish("kept")}


async def test_what_was_unconfirmed_once_no_later_list_ends(broker: Any) -> None:
    async with running(Process(broker.url)) as process:
        async with outsider(broker) as someone:
            await someone.publish(wish("hold"), b'{"verb":"Hold"}')
            await until(lambda: process.ear.heard)
        process.publish(DECISION, b'{"epoch":100,"rev":1}')
        await process.link.outbox.drained()
        for count in (2, 3):
            await asyncio.to_thread(broker.kill)
            await until(lambda: not process.link.connected.is_set())
            await asyncio.to_thread(broker.start)
            await until(lambda number=count: len(process.ear.lists) == number)
        process.router.attach(late := Ear())
        await until(lambda: late.lists)
        assert wish("hold") in process.router.retained
        async with outsider(broker) as someone:
            await someone.publish(wish("hold"), b"")
            await until(lambda: wish("hold") not in process.router.retained)


async def test_after_a_restart_the_journal_tells_that_the_broker_lost_something(
    broker: Any,
) -> None:
    known = {DECISION: Mark(epoch=50, rev=9)}
    async with running(Process(broker.url, known=known)) as process:
        assert process.ear.lists == [Listing(authoritative=False)]


async def test_after_a_restart_a_broker_that_kept_all_is_believed(broker: Any) -> None:
    async with outsider(broker) as someone:
        await someone.publish(DECISION, b'{"epoch":50,"rev":9}')
    known = {DECISION: Mark(epoch=50, rev=9)}
    async with running(Process(broker.url, known=known)) as process:
        assert process.ear.lists == [Listing(authoritative=True)]


async def test_a_stopped_broker_is_an_alarm_within_five_seconds_and_loses_nothing(
    broker: Any,
) -> None:
    async with running(Process(broker.url)) as process:
        broker.signal(signal.SIGSTOP)
        process.publish(DECISION, b'{"epoch":100,"rev":1}')
        assert link.WATCH_SECONDS + link.STALL_SECONDS <= 5
        await until(lambda: process.link.stalled)
        broker.signal(signal.SIGCONT)
        await until(lambda: not process.link.stalled)
        async with outsider(broker) as someone:
            await until(lambda: someone.seen.get(DECISION) == b'{"epoch":100,"rev":1}')


async def test_stopping_beside_a_stopped_broker_ends_within_the_deadline(broker: Any) -> None:
    process = Process(broker.url)
    task = asyncio.create_task(process.link.run())
    await until(process.link.connected.is_set)
    broker.signal(signal.SIGSTOP)
    process.link.stop()
    await asyncio.wait_for(task, 20)
    broker.signal(signal.SIGCONT)
    assert not process.link.connected.is_set()


async def test_stopping_while_a_broker_takes_no_login_ends_within_the_deadline(
    broker: Any,
) -> None:
    """And leaves neither a socket nor a task behind, which would be a warning."""
    broker.signal(signal.SIGSTOP)
    process = Process(broker.url)
    task = asyncio.create_task(process.link.run())
    await until(lambda: any("_misc_loop" in repr(task) for task in asyncio.all_tasks()))
    process.link.stop()
    await asyncio.wait_for(task, 20)
    broker.signal(signal.SIGCONT)
    await until(lambda: len(asyncio.all_tasks()) == 1)


async def test_a_newer_process_replaces_the_older_which_does_not_connect_again(
    broker: Any,
) -> None:
    older = Process(broker.url, epoch=100)
    ended = asyncio.create_task(older.link.run())
    await until(older.link.connected.is_set)
    async with running(Process(broker.url, epoch=200)) as newer:
        with pytest.raises(Replaced):
            await asyncio.wait_for(ended, 20)
        assert Replaced.exit_code == 9
        async with outsider(broker) as someone:
            await until(
                lambda: (now := someone.status()) and (now.epoch, now.status) == (200, "ready")
            )
        assert not newer.link.intake.replaced.is_set()


async def test_the_process_of_all_workers_replaces_one_of_a_role(broker: Any) -> None:
    older = Process(broker.url, epoch=100)
    ended = asyncio.create_task(older.link.run())
    await until(older.link.connected.is_set)
    async with outsider(broker) as someone:
        await someone.publish(
            topics.WORKER.at(NODE, worker="all"),
            msgspec.json.encode(WorkerStatus(worker="all", status="init", epoch=200)),
        )
        with pytest.raises(Replaced):
            await asyncio.wait_for(ended, 10)
        assert someone.status().status == "ready"  # neither will nor farewell


async def test_a_second_machine_of_the_same_node_ends_and_names_both(broker: Any) -> None:
    """And the holder does not notice."""
    async with running(Process(broker.url, machine="aaaa")) as holder:
        with pytest.raises(NodeTaken, match=r"aaaa.*bbbb"):
            await asyncio.wait_for(Process(broker.url, machine="bbbb").link.run(), 10)
        assert NodeTaken.exit_code == 3
        assert holder.link.connected.is_set()


async def test_a_machine_that_left_orderly_or_died_is_followed(broker: Any) -> None:
    async with outsider(broker) as someone:
        await someone.publish(STATUS, status(status="lost", epoch=500, machine="aaaa"))
        async with running(Process(broker.url, machine="bbbb")) as process:
            assert process.epoch.epoch == 501


async def test_the_late_will_of_an_older_connection_is_overwritten(broker: Any) -> None:
    async with running(Process(broker.url)) as process, outsider(broker) as someone:
        await until(lambda: (now := someone.status()) and now.status == "ready")
        await someone.publish(STATUS, status(status="lost", epoch=100, connection=0))
        await until(lambda: someone.status().status == "ready")
        await someone.publish(STATUS, status(status="lost", epoch=100, connection=1))
        await until(lambda: someone.status().status == "ready")
        assert process.link.connected.is_set()


async def test_a_lost_connection_is_told_by_the_will(broker: Any) -> None:
    """The process is killed as far as the broker can see."""
    async with outsider(broker) as someone:
        process = Process(broker.url)
        async with running(process):
            await someone.publish("evictd/unused", b"{}")
            broker_side = Client(
                "127.0.0.1",
                broker.port,
                identifier="evictd-edge-7-evictor",
                protocol=ProtocolVersion.V5,
            )
            async with broker_side:  # takes the name over, so that the broker drops the link
                await until(
                    lambda: any(
                        topic == STATUS and b'"lost"' in text for topic, text in someone.history
                    )
                )
            await until(lambda: (now := someone.status()) and now.connection >= 2)
            await until(lambda: someone.status().status == "ready")


async def test_foreign_state_on_a_topic_of_ours_is_overwritten(
    broker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "OVERWRITE_SECONDS", 0.05)
    async with running(Process(broker.url)) as process, outsider(broker) as someone:
        process.publish(DECISION, b'{"epoch":100,"rev":2}')
        await until(lambda: someone.seen.get(DECISION) == b'{"epoch":100,"rev":2}')
        for rubbish in (b"", b"{", b'{"epoch":100,"rev":1}', b'{"epoch":"a"}', b"[" * 200_000):
            await someone.publish(DECISION, rubbish)
            await until(lambda: someone.seen.get(DECISION) == b'{"epoch":100,"rev":2}')
        assert process.outranked == []
        assert process.router.retained[DECISION] == b'{"epoch":100,"rev":2}'


async def test_a_greater_pair_on_a_topic_of_ours_raises_the_epoch(broker: Any) -> None:
    async with running(Process(broker.url)) as process, outsider(broker) as someone:
        process.publish(DECISION, b'{"epoch":100,"rev":2}')
        await until(lambda: someone.seen.get(DECISION))
        await someone.publish(DECISION, b'{"epoch":300,"rev":1}')
        await until(lambda: process.outranked)
        assert (process.outranked, process.epoch.epoch) == ([Mark(epoch=300, rev=1)], 301)


async def test_a_retained_ghost_of_ours_in_the_list_is_overwritten(broker: Any) -> None:
    async with outsider(broker) as someone:
        await someone.publish(DECISION, b'{"epoch":99,"rev":7}')
        process = Process(broker.url)
        process.publish(DECISION, b'{"epoch":100,"rev":1}')
        async with running(process):
            await until(lambda: someone.seen.get(DECISION) == b'{"epoch":100,"rev":1}')
            assert process.router.retained[DECISION] == b'{"epoch":100,"rev":1}'


async def test_hostile_payloads_reach_the_worker_and_the_pump_survives(broker: Any) -> None:
    hostile = [b"[" * 200_000, b"\xff\xfe", b"{}" * 1_000_000, b"0", b"null", b'{"verb":1e999}']
    async with running(Process(broker.url)) as process, outsider(broker) as someone:
        for number, payload in enumerate(hostile):
            await someone.publish(wish(f"w{number}"), payload)
        await someone.publish("evictd/v1/x/y/z/not/ours", b"{}")
        await until(lambda: len(process.ear.heard) == len(hostile))
        assert [delivery.payload for delivery in process.ear.heard] == hostile
        assert process.link.connected.is_set()


async def test_a_message_of_ours_that_is_too_large_is_counted_and_not_sent(broker: Any) -> None:
    async with running(Process(broker.url)) as process, outsider(broker) as someone:
        process.publish(DECISION, b'"' + b"x" * (1 << 20) + b'"')
        process.publish(wish("after"), b'{"verb":"Hold"}')
        await until(lambda: wish("after") in someone.seen)
        assert (process.link.outbox.oversized, DECISION in someone.seen) == (1, False)


async def test_events_wait_for_the_broker_and_arrive_in_order(broker: Any) -> None:
    event = topics.EVENT.at(NODE, worker="evictor", reason="Restored")
    async with running(Process(broker.url)) as process:
        await asyncio.to_thread(broker.kill)
        await until(lambda: not process.link.connected.is_set())
        for number in range(100):
            process.router.publish(event, b"%d" % number, retain=False, publisher=process.ear)
        process.link._address = address("mqtt://127.0.0.1:9")
        await asyncio.to_thread(broker.start)
        async with outsider(broker) as someone:
            process.link._address = address(broker.url)
            await until(lambda: len([1 for topic, _ in someone.history if topic == event]) == 100)
            texts = [payload for topic, payload in someone.history if topic == event]
        assert texts == [b"%d" % number for number in range(100)]


async def test_cancelling_the_link_ends_it_orderly(broker: Any) -> None:
    async with outsider(broker) as someone:
        process = Process(broker.url)
        task = asyncio.create_task(process.link.run())
        await until(process.link.connected.is_set)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await until(lambda: someone.status().status == "disconnected")
        assert task.cancelled()


async def test_a_broker_that_is_not_there_yet_is_waited_for(broker: Any) -> None:
    process = Process("mqtt://127.0.0.1:9")
    task = asyncio.create_task(process.link.run())
    await asyncio.sleep(0)
    process.link._address = address(broker.url)
    await until(process.link.connected.is_set)
    process.link.stop()
    await task
    assert process.link.intake.complete.is_set()
