"""Observations at the edge of what the wire can carry: refused with a reason, or judged."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from evictd.core.effects import Publish
from evictd.core.evaluation import Observed, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.observations import merge, problems
from evictd.core.rules import HOST, Rules
from evictd.core.signals.thresholds import Amount, Share, Threshold
from evictd_schemas import Observation

RULES = Rules(
    node="edge",
    profile=HOST,
    thresholds=(
        Threshold(signal="memory.available", value=Amount(quantity=2**30)),
        Threshold(
            signal="memory.available", value=Share(fraction=0.2, percent=20), grace_seconds=30
        ),
        Threshold(signal="nodefs.available", value=Share(fraction=0.1, percent=10)),
    ),
)
NOW = Now(boot_seconds=1.0, utc=datetime(2026, 1, 1, tzinfo=UTC))

TIMES = st.sampled_from(
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.000001+05:30",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59-23:59",
        "1969-12-31T23:59:59Z",
        "2026-01-01T00:00:00",
        "yesterday",
    ]
)
NUMBERS = st.sampled_from(
    [
        0,
        1,
        -1,
        0.1,
        2**31,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        2**64,
        1e300,
        5e-324,
        -0.0,
        "1",
        None,
        True,
    ]
)
READINGS = st.fixed_dictionaries(
    {"available": NUMBERS, "capacity": NUMBERS},
    optional={"time": TIMES, "views": st.dictionaries(st.just("mem_available"), NUMBERS)},
)
OBSERVATIONS = st.fixed_dictionaries(
    {
        "node": st.sampled_from(["edge", "", "\0", "other"]),
        "time": TIMES,
        "signals": st.dictionaries(
            st.sampled_from(
                ["memory.available", "nodefs.available", "", "a/b", "\u0000", "\ud800"]
            ),
            READINGS,
            max_size=3,
        ),
    },
    optional={
        "sequence": NUMBERS,
        "bootId": st.sampled_from(["boot", "", None, "other"]),
        "uptimeSeconds": NUMBERS,
        "intervalSeconds": NUMBERS,
        "layout": st.sampled_from([None, {}, {"dedicatedImageFs": True}, {"error": "broken"}]),
        "podsComplete": st.booleans(),
        "pods": st.sampled_from([None, [], [{}], [{"namespace": "a", "name": "b", "uid": "c"}]]),
    },
)
EARLY = {
    "node": "edge",
    "time": "0001-01-01T00:00:00+23:59",
    "sequence": 1,
    "intervalSeconds": 1,
    "signals": {"memory.available": {"available": 0, "capacity": 1}},
}
LATE = EARLY | {"time": "9999-12-31T23:59:59-23:59", "sequence": 2}


@given(st.lists(OBSERVATIONS, max_size=4))
@example([EARLY, LATE])
def test_whatever_arrives_is_refused_or_judged(documents: list[dict[str, Any]]) -> None:
    held: Observation | None = None
    watch = Watch()
    for document in documents:
        payload = json.dumps(document).encode()
        try:
            observation = msgspec.json.decode(payload, type=Observation)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if problems("edge", observation, held):
            continue
        held = merge(held, observation)
        watch, asked = evaluate(RULES, watch, Observed(observation=observation), NOW)
        for effect in asked:
            assert not isinstance(effect, Publish) or msgspec.json.encode(effect.message)


def test_what_is_published_is_in_utc_whatever_the_observation_was_written_in() -> None:
    """Of the observation, of a signal of its own time, of conditions. [contract 1: times]"""
    document = {
        "node": "edge",
        "time": "2026-01-01T05:30:00.5+05:30",
        "signals": {
            "memory.available": {"available": 0, "capacity": 1},
            "nodefs.available": {
                "available": 0,
                "capacity": 1,
                "time": "2026-01-01T02:00:00+02:00",
            },
        },
    }
    observation = msgspec.json.decode(json.dumps(document), type=Observation)
    _, asked = evaluate(RULES, Watch(), Observed(observation=observation), NOW)
    written = [msgspec.json.encode(asked_for) for asked_for in asked]
    assert any(b'"observationTime":"2026-01-01T00:00:00Z"' in text for text in written)
    assert any(b'"observationTime":"2026-01-01T00:00:00.500000Z"' in text for text in written)
    assert not [text for text in written if b"+05:30" in text or b"+02:00" in text]
