"""What every bus does, the router alone as well as routers joined by a broker.

The fixture `pair` gives two ends of one bus; for the router alone both are the same.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from tests import ear
from tests.waiting import until

from evictd.shell.bus import Bus, Delivery, Listing, Router
from evictd.shell.bus.foreign import Foreign, Heard
from evictd_schemas import topics

NODE = "edge-7"
EVICTIONS = topics.EVICTION.everywhere(NODE)
EVENTS = topics.EVENT.everywhere(NODE)
BURST = 3_000
"""More than a broker with default limits keeps for one subscriber."""


@dataclass(eq=False)
class Ear(ear.Ear):
    """One that takes Evictions and events, unless it takes something else."""

    filters: Sequence[str] = (EVICTIONS, EVENTS)

    @property
    def newest(self) -> dict[str, bytes]:
        return {delivery.topic: delivery.payload for delivery in self.heard}


@dataclass
class Pair:
    near: Bus
    far: Bus

    async def retained_by_others(self, topic: str, payload: bytes) -> None:
        """Somebody else has said it before; who is no end of the bus says nothing again."""
        self.far.publish(topic, payload, retain=True)

    async def attached(self, bus: Bus, ear: Ear) -> Ear:
        bus.attach(ear)
        await until(lambda: bool(ear.lists))
        return ear


@pytest.fixture
def pair() -> Pair:
    router = Router()
    return Pair(router, router)


def eviction(name: str) -> str:
    return topics.EVICTION.at(NODE, namespace="shop", name=name)


def event(number: int) -> bytes:
    return b'{"number": %d}' % number


EVENT = topics.EVENT.at(NODE, worker="controller", reason="Evicted")


async def test_a_message_reaches_whoever_takes_its_topic_at_both_ends(pair: Pair) -> None:
    near = await pair.attached(pair.near, Ear())
    far = await pair.attached(pair.far, Ear())
    other = await pair.attached(pair.far, Ear((topics.OBSERVATION.everywhere(NODE),)))
    pair.near.publish(eviction("web"), b'{"rev":1}', retain=True)
    await until(lambda: bool(near.heard and far.heard))
    assert [near.payloads, far.payloads, other.payloads] == [[b'{"rev":1}'], [b'{"rev":1}'], []]


async def test_what_comes_live_is_not_marked_as_listed(pair: Pair) -> None:
    far = await pair.attached(pair.far, Ear())
    pair.near.publish(eviction("web"), b'{"rev":1}', retain=True)
    await until(lambda: bool(far.heard))
    assert [delivery.listed for delivery in far.heard] == [False]


async def test_a_publisher_does_not_get_its_own_back(pair: Pair) -> None:
    near = await pair.attached(pair.near, Ear())
    far = await pair.attached(pair.far, Ear())
    pair.near.publish(eviction("web"), b'{"rev":1}', retain=True, publisher=near)
    pair.near.publish(EVENT, event(1), retain=False, publisher=near)
    await until(lambda: len(far.heard) == 2)
    assert near.heard == []


async def test_state_is_listed_to_whoever_attaches_later(pair: Pair) -> None:
    first = await pair.attached(pair.far, Ear())
    pair.near.publish(eviction("web"), b'{"rev":1}', retain=True)
    pair.near.publish(eviction("web"), b'{"rev":2}', retain=True)
    await until(lambda: first.newest == {eviction("web"): b'{"rev":2}'})
    late = await pair.attached(pair.far, Ear())
    assert late.heard[0] == Delivery(topic=eviction("web"), payload=b'{"rev":2}', listed=True)
    assert late.lists[0] == Listing(authoritative=True)


async def test_an_event_is_not_listed(pair: Pair) -> None:
    first = await pair.attached(pair.far, Ear())
    pair.near.publish(EVENT, event(1), retain=False)
    await until(lambda: bool(first.heard))
    late = await pair.attached(pair.far, Ear())
    assert late.heard == []


async def test_the_empty_payload_says_gone_and_nothing_is_listed_after_it(pair: Pair) -> None:
    first = await pair.attached(pair.far, Ear())
    pair.near.publish(eviction("web"), b'{"rev":1}', retain=True)
    await until(lambda: first.payloads == [b'{"rev":1}'])
    pair.near.publish(eviction("web"), b"", retain=True)
    await until(lambda: first.payloads == [b'{"rev":1}', b""])
    late = await pair.attached(pair.far, Ear())
    assert late.heard == []


async def test_events_of_a_topic_arrive_all_and_in_order(pair: Pair) -> None:
    far = await pair.attached(pair.far, Ear())
    for number in range(500):
        pair.near.publish(EVENT, event(number), retain=False)
    await until(lambda: len(far.heard) == 500)
    assert far.payloads == [event(number) for number in range(500)]


async def test_state_of_a_topic_never_goes_back_and_ends_at_the_newest(pair: Pair) -> None:
    """Values in between may be left out."""
    far = await pair.attached(pair.far, Ear())
    numbers = list(range(1, 201))
    for number in numbers:
        pair.near.publish(eviction("web"), b'{"rev": %d}' % number, retain=True)
        await asyncio.sleep(0)
    await until(lambda: far.payloads[-1:] == [b'{"rev": 200}'])
    seen = [int(payload[8:-1]) for payload in far.payloads]
    assert seen == sorted(set(seen))


async def test_a_list_of_thousands_is_complete(pair: Pair) -> None:
    first = await pair.attached(pair.near, Ear())
    far = await pair.attached(pair.far, Ear())
    for number in range(BURST):
        pair.near.publish(eviction(f"pod-{number}"), event(number), retain=True, publisher=first)
    await until(lambda: len(far.heard) == BURST)
    late = await pair.attached(pair.far, Ear())
    assert late.newest == {eviction(f"pod-{number}"): event(number) for number in range(BURST)}


async def test_a_filter_is_no_topic(pair: Pair) -> None:
    for name in ("evictd/v1/+/observation", "evictd/v1/#"):
        with pytest.raises(ValueError, match="is a filter"):
            pair.near.publish(name, b"{}", retain=True)


async def test_attaching_again_lists_what_is_there_now(pair: Pair) -> None:
    witness = await pair.attached(pair.far, Ear())
    ear = await pair.attached(pair.far, Ear())
    pair.near.publish(eviction("kept"), b'{"rev":1}', retain=True)
    pair.near.publish(eviction("cleared"), b'{"rev":1}', retain=True)
    await until(lambda: len(ear.heard) == 2)
    pair.far.detach(ear)
    pair.near.publish(eviction("kept"), b'{"rev":2}', retain=True)
    pair.near.publish(eviction("cleared"), b"", retain=True)
    await until(lambda: len(witness.heard) == 4)
    assert len(ear.heard) == 2
    again = await pair.attached(pair.far, Ear())
    assert again.newest == {eviction("kept"): b'{"rev":2}'}


OUTSIDE = "plant/shop/web/evict/answer"


async def test_a_topic_of_others_is_heard_by_who_asked_for_it(pair: Pair) -> None:
    """Each message, in order, at both ends; and nobody else gets it."""
    near = await pair.attached(pair.near, Ear(("plant/+/+/evict/answer",)))
    far = await pair.attached(pair.far, Ear(("plant/+/+/evict/answer",)))
    other = await pair.attached(pair.far, Ear())
    for number in range(20):
        pair.near.publish(OUTSIDE, event(number), retain=False)
    await until(lambda: len(near.heard) == len(far.heard) == 20)
    assert near.payloads == far.payloads == [event(number) for number in range(20)]
    assert other.heard == []


async def test_what_others_have_retained_is_marked_as_listed(pair: Pair) -> None:
    first = await pair.attached(pair.far, Ear((OUTSIDE,)))
    pair.near.publish(OUTSIDE, b"before", retain=True)
    await until(lambda: bool(first.heard))
    late = await pair.attached(pair.far, Ear((OUTSIDE,)))
    await until(lambda: bool(late.heard))
    assert late.heard[0] == Delivery(topic=OUTSIDE, payload=b"before", listed=True)


async def said(heard: Heard) -> bytes:
    """The next message; that a list has come in between is told too."""
    while (payload := await heard.take()) is None:
        pass
    return payload


async def test_a_conversation_on_topics_of_others_goes_both_ways(pair: Pair) -> None:
    """What is said is not retained, and what was retained is not heard."""
    question, witness = "plant/shop/web/evict", await pair.attached(pair.far, Ear((OUTSIDE,)))
    await pair.retained_by_others(OUTSIDE, b"long ago")
    asker, workload = Foreign(pair.near, (OUTSIDE,)), Foreign(pair.far, (question,))
    pair.near.attach(asker)
    pair.far.attach(workload)
    retained = await pair.attached(pair.near, Ear((OUTSIDE,)))
    await until(lambda: retained.heard)
    await pair.attached(pair.far, Ear((question,)))
    async with asyncio.timeout(20):
        with asker.hear(OUTSIDE) as answers, workload.hear(question) as questions:
            asker.say(question, b"will you go?")
            assert await said(questions) == b"will you go?"
            workload.say(OUTSIDE, b"at once")
            assert await said(answers) == b"at once"
    late = await pair.attached(pair.far, Ear((question,)))
    assert late.heard == []
    assert all(delivery.topic == OUTSIDE for delivery in witness.heard)
