"""Whether a foreign node is left to workers of its own: what their statuses say, in which order.

[contract 3, WorkerStatus] [contract 1, Order]
"""

import msgspec
import pytest

from evictd.core.rules import Rules
from evictd.shell.bus import Delivery
from evictd.shell.serving import Serving
from evictd_schemas import WorkerStatus, topics
from evictd_schemas.topics import Role

NODE = "demo-1"


@pytest.fixture
def serving() -> Serving:
    found = Serving("edge-7", lambda node: Rules(node=node, thresholds=()))
    say(found, status="ready", connection=3)
    return found


def say(serving: Serving, *, status: str, epoch: int = 5, connection: int) -> None:
    """A status of the node's evaluator."""
    message = WorkerStatus(worker="evaluator", status=status, epoch=epoch, connection=connection)
    deliver(serving, msgspec.json.encode(message))


def deliver(serving: Serving, payload: bytes) -> None:
    serving.deliver(Delivery(topic=topics.WORKER.at(NODE, worker="evaluator"), payload=payload))


def served(serving: Serving) -> bool:
    return serving.rules_of(Role.EVALUATOR)(NODE) is not None


def test_a_last_will_of_an_earlier_connection_does_not_count(serving: Serving) -> None:
    """The broker says it when it notices, which may be after the worker is back."""
    say(serving, status="lost", connection=2)
    assert not served(serving)
    say(serving, status="lost", connection=3)
    assert served(serving)


def test_what_an_earlier_life_said_is_ignored(serving: Serving) -> None:
    say(serving, status="disconnected", epoch=4, connection=9)
    assert not served(serving)
    say(serving, status="disconnected", connection=3)
    assert served(serving)


def test_an_end_that_is_newer_than_the_birth_we_know_counts(serving: Serving) -> None:
    """Of what was said while we were away a list shows only the last."""
    say(serving, status="lost", epoch=6, connection=1)
    assert served(serving)


def test_what_cannot_be_read_changes_nothing_and_what_is_cleared_is_gone(serving: Serving) -> None:
    deliver(serving, b"rubbish")
    assert not served(serving)
    deliver(serving, b"")
    assert served(serving)
    say(serving, status="ready", epoch=1, connection=1)
    assert not served(serving), "of what was cleared nothing is remembered"
