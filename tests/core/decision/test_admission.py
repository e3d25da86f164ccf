"""Values of the messages that the evictor alone answers for. [contract 1, Rejection]"""

from datetime import UTC, datetime
from typing import Any

import pytest

from evictd.core.decision.admission import STEPS_MAX, THRESHOLDS_MAX, rule_breaks
from evictd_schemas import (
    Observation,
    OrderStatus,
    Pressure,
    StepOutcome,
    Stopped,
    ThresholdStatus,
    Wish,
)

TIME = datetime(2026, 1, 1, tzinfo=UTC)
UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
THRESHOLD = ThresholdStatus(
    signal="memory.available", operator="LessThan", value="1Gi", grace_period_seconds=0
)


def pressure(**fields: Any) -> Pressure:
    base = {"node": "edge", "time": TIME, "sequence": 1, "conditions": (), "thresholds": ()}
    return Pressure(**{**base, **fields})


@pytest.mark.parametrize(
    "message",
    [
        pressure(),
        OrderStatus(order_uid="a", state="Finished"),
        Stopped(uid=UID, time=TIME),
        Wish(verb="Hold"),
        Wish(verb="Hold", target="shop/web"),
        Wish(verb="Forget", target="shop/web"),
        Observation(node="elsewhere", time=TIME, signals={}),
    ],
)
def test_what_keeps_the_rules_is_taken(message: Any) -> None:
    """Kinds that others judge are none of the evictor's business."""
    assert rule_breaks("edge", message) == ()


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (pressure(node="other", sequence=-1), ["node", "sequence"]),
        (pressure(thresholds=(THRESHOLD,) * (THRESHOLDS_MAX + 1)), ["thresholds"]),
        (OrderStatus(order_uid="a", state="Done"), ["state"]),
        (
            OrderStatus(
                order_uid="a", state="Failed", steps=(StepOutcome(step="x"),) * (STEPS_MAX + 1)
            ),
            ["steps"],
        ),
        (Stopped(uid="web", time=TIME, attempts=-1), ["uid", "attempts"]),
        (Wish(verb="Stop", target="a b"), ["verb", "target"]),
        (Wish(verb="Forget"), ["target"]),
    ],
)
def test_every_broken_rule_is_named(message: Any, fields: list[str]) -> None:
    assert [problem.field for problem in rule_breaks("edge", message)] == fields
