"""What a message of others means to a decision: as what its step is given it.

Observations and Pressure are not among them; they are joined by `pairing`. [contract 3]
"""

from typing import Any

from evictd.core.decision import Answered, Fallen, Given, Ordered, Seen, Wished
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd_schemas import topics
from evictd_schemas.topics import Place


def given_of(topic: str, place: Place[Any], message: Any) -> Given | None:
    """None for what decides nothing; `message` None: the topic is gone."""
    names = place.names
    match place.kind:
        case topics.EVICTION:
            return Seen(namespace=names["namespace"], name=names["name"], eviction=message)
        case topics.REQUEST_STATUS if place.participant in PRESSURE_REQUESTERS:
            return Answered(topic=topics.REQUEST.at(place.node, **names), status=message)
        case topics.ORDER_STATUS:
            return Ordered(name=names["name"], status=message)
        case topics.STOPPED:
            return Fallen(namespace=names["namespace"], name=names["name"], stopped=message)
        case topics.WISH:
            return Wished(topic=topic, wish=message)
        case _:
            return None


def answers_us(given: Given) -> bool:
    """Whether it means nothing before our own requests and orders are known."""
    return isinstance(given, Answered | Ordered)
