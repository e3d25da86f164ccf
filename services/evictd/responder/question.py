"""What is put to whom no Python is written for: the body of a webhook, or a message on a topic."""

import msgspec

from evictd.core.protocol.vocabulary import State
from evictd.responder.author import Work
from evictd_schemas import Eviction


class Question(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One workload is to leave, or may stay after all.

    `eviction_uid`: by this questions are told apart; the same one again asks for nothing new.
    `state`: `Active`, or `Canceled` where what was done is to be undone. `resumed`: it was asked
    before, and that attempt was cut short.
    """

    eviction_uid: str
    node: str
    state: str
    resumed: bool
    eviction: Eviction


def asked(work: Work, state: State) -> bytes:
    """The question about this turn, as JSON."""
    question = Question(
        eviction_uid=work.eviction.metadata.uid,
        node=work.node,
        state=state,
        resumed=work.resumed,
        eviction=work.eviction,
    )
    return msgspec.json.encode(question)
