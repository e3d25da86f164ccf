"""Topics of others: what may be said and heard there, and how much of it."""

import pytest

from evictd.core.errors import InputError
from evictd.responder import Responder
from evictd.responder.author import nothing
from evictd.shell.bus import Listing, Router
from evictd.shell.bus.foreign import HEARD_BYTES_MAX, WAITING_MAX, Foreign

TOPIC = "plant/web/answer"


@pytest.mark.parametrize("wanted", ["#", "+/x", "evictd/v1/#", "evictd", "$SYS/#"])
def test_a_filter_that_takes_what_is_evictds_is_refused(wanted: str) -> None:
    with pytest.raises(ValueError, match="cannot be heard: it takes topics that are evictd's"):
        Foreign(Router(), (wanted,))
    with pytest.raises(InputError, match=r"responder 'acme\.io/x': hears"):
        Responder(name="acme.io/x", respond=nothing, hears=(wanted,))


@pytest.mark.parametrize("wanted", ["", "a\0b", "x" * 65_536])
def test_what_no_broker_takes_as_a_filter_is_refused(wanted: str) -> None:
    with pytest.raises(ValueError, match="it needs 1 to 65535 bytes, none of them NUL"):
        Foreign(Router(), (wanted,))


@pytest.mark.parametrize("wanted", ["a/b+", "a/#/b", "a/b#", "a#"])
def test_a_filter_that_mqtt_does_not_know_is_refused(wanted: str) -> None:
    with pytest.raises(ValueError, match="stands for one whole level"):
        Foreign(Router(), (wanted,))


@pytest.mark.parametrize("wanted", ["a", "a/+/b", "a/#", "a/$b"])
def test_any_other_filter_is_taken(wanted: str) -> None:
    assert Foreign(Router(), (wanted,)).filters == (wanted,)


@pytest.mark.parametrize(
    "topic", ["evictd/v1/edge-7/pressure", "evictd", "$SYS/x", "", "a\0b", "x" * 65_536]
)
def test_nothing_is_said_on_a_topic_of_evictd_or_on_what_is_none(topic: str) -> None:
    with pytest.raises(ValueError, match="is not a topic of others"):
        Foreign(Router(), ()).say(topic, b"{}")


async def test_of_many_messages_that_wait_the_oldest_go_and_are_counted() -> None:
    bus = Router()
    bus.attach(foreign := Foreign(bus, (TOPIC,)))
    with foreign.hear(TOPIC) as heard:
        for number in range(WAITING_MAX + 5):
            bus.publish(TOPIC, str(number).encode(), retain=False)
        assert await heard.take() == b"5"
        assert heard.dropped == 5


async def test_a_long_message_is_cut_one_byte_beyond_the_limit() -> None:
    bus = Router()
    bus.attach(foreign := Foreign(bus, (TOPIC,)))
    with foreign.hear(TOPIC) as heard:
        bus.publish(TOPIC, b"x" * (3 * HEARD_BYTES_MAX), retain=False)
        assert len(await heard.take()) == HEARD_BYTES_MAX + 1


async def test_who_has_ceased_to_listen_hears_nothing_and_others_go_on() -> None:
    bus = Router()
    bus.attach(foreign := Foreign(bus, (TOPIC,)))
    with foreign.hear(TOPIC) as first:
        with foreign.hear(TOPIC) as second:
            bus.publish(TOPIC, b"1", retain=False)
        bus.publish(TOPIC, b"2", retain=False)
        assert [await first.take(), await first.take()] == [b"1", b"2"]
    assert await second.take() == b"1"
    assert not foreign._ears


async def test_who_listens_is_told_that_the_broker_was_away_in_between() -> None:
    bus = Router()
    bus.attach(foreign := Foreign(bus, (TOPIC,)))
    with foreign.hear(TOPIC) as heard:
        bus.publish(TOPIC, b"1", retain=False)
        bus.listing(Listing(authoritative=True))
        bus.publish(TOPIC, b"2", retain=False)
        assert [await heard.take() for _ in range(3)] == [b"1", None, b"2"]
