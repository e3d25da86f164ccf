"""What a JSON Schema alone tells an outsider: what has to be there, and which words there are.

Structs check types only and have defaults where admission reports a field as missing; the schemas
say it all the same. [contract 1, contract 3]
"""

import re
from typing import Any

import jsonschema
import pytest

from evictd.core.orders import OrderKind, OrderState, Verb
from evictd.core.protocol.vocabulary import Intent, PresenceStatus, RequestType
from evictd_schemas import (
    EvictionRequest,
    Observation,
    Order,
    OrderStatus,
    Registration,
    Wish,
    WorkerStatus,
    export,
    topics,
)

UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
REQUEST: dict[str, Any] = {
    "spec": {
        "target": {"pod": {"name": "web", "uid": UID}},
        "requester": "acme.io/mover",
        "intent": "Eviction",
    }
}


def problem(message: type, payload: dict[str, Any]) -> str | None:
    """What the schema has against a payload."""
    validator = jsonschema.Draft202012Validator(export.json_schema(message))
    found = next(validator.iter_errors(payload), None)
    return None if found is None else str(found.message)


def without(path: str) -> dict[str, Any]:
    """The request without one of its fields."""
    *parents, last = path.split(".")

    def cut(document: dict[str, Any], levels: list[str]) -> dict[str, Any]:
        if not levels:
            return {key: value for key, value in document.items() if key != last}
        return document | {levels[0]: cut(document[levels[0]], levels[1:])}

    return cut(REQUEST, parents)


@pytest.mark.parametrize(
    "path",
    [
        "spec",
        "spec.target",
        "spec.requester",
        "spec.intent",
        "spec.target.pod",
        "spec.target.pod.name",
        "spec.target.pod.uid",
    ],
)
def test_a_request_says_whom_who_and_what(path: str) -> None:
    assert problem(EvictionRequest, REQUEST) is None
    assert problem(EvictionRequest, without(path)) is not None


@pytest.mark.parametrize("name", ["a\tb", "a\x07b", "a\x00b", "a\x7fb", "a/b", "$a", "a b", ""])
def test_a_name_that_no_topic_can_carry_is_refused(name: str) -> None:
    """As the topics themselves refuse it."""
    assert topics.segment_problem(name) is not None
    observation = {"node": name, "time": "2026-11-30T08:00:00Z", "signals": {}}
    assert problem(Observation, observation) is not None


@pytest.mark.parametrize(
    ("message", "payload", "words"),
    [
        (EvictionRequest, lambda word: {"spec": REQUEST["spec"] | {"intent": word}}, Intent),
        (EvictionRequest, lambda word: {"spec": REQUEST["spec"] | {"type": word}}, RequestType),
        (Registration, lambda word: {"status": word}, PresenceStatus),
        (WorkerStatus, lambda word: {"worker": "collector", "status": word}, PresenceStatus),
        (Order, lambda word: {"uid": UID, "kind": word}, OrderKind),
        (OrderStatus, lambda word: {"orderUid": UID, "state": word}, OrderState),
        (Wish, lambda word: {"verb": word}, Verb),
    ],
    ids=lambda item: item.__name__ if isinstance(item, type) else "",
)
def test_the_words_are_those_of_the_rules(message: type, payload: Any, words: Any) -> None:
    assert [problem(message, payload(word)) for word in words] == [None for _ in words]
    assert "is not one of" in str(problem(message, payload("Perhaps")))


def test_descriptions_call_fields_by_their_names_on_the_wire() -> None:
    """Who reads them does not know those of Python."""
    texts = "".join(text for _, text in export.documents())
    assert "`lastResortTime`" in texts
    assert re.findall(r"`[a-z]+_[a-z_]+`", texts) == []
