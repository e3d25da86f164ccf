"""The rules about values of what the evictor alone answers for: `pressure`, `stopped`, statuses of
orders and `wishes`. [contract 1, Rejection]"""

import re
from collections.abc import Iterator
from typing import Any

from evictd.core.problems import Problem
from evictd_schemas import OrderStatus, Pressure, Stopped, Wish

THRESHOLDS_MAX = 1_000
"""Thresholds of one Pressure: nine signals, hard and soft, are eighteen."""
STEPS_MAX = 100
"""Steps in the status of one order."""
ORDER_STATES = frozenset({"Running", "Finished", "Failed", "Refused"})
VERBS = frozenset({"Hold", "Restore", "Forget"})

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME = re.compile(r"[^/\s]+/[^/\s]+")


def rule_breaks(node: str, message: Any) -> tuple[Problem, ...]:
    """All broken rules of a message on a topic of that node; none for kinds that others judge."""
    match message:
        case Pressure():
            return tuple(_pressure(node, message))
        case OrderStatus():
            return tuple(_order_status(message))
        case Stopped():
            return tuple(_stopped(message))
        case Wish():
            return tuple(_wish(message))
        case _:
            return ()


def _pressure(node: str, pressure: Pressure) -> Iterator[Problem]:
    if pressure.node != node:
        reason = f"{pressure.node[:80]!r} is not the topic's node {node!r}"
        yield Problem(field="node", reason=reason)
    if pressure.sequence < 0:
        yield Problem(field="sequence", reason="it must not be negative")
    if len(pressure.thresholds) > THRESHOLDS_MAX:
        reason = f"{len(pressure.thresholds)} entries, at most {THRESHOLDS_MAX} are taken"
        yield Problem(field="thresholds", reason=reason)


def _order_status(status: OrderStatus) -> Iterator[Problem]:
    if status.state not in ORDER_STATES:
        yield _unknown("state", status.state, ORDER_STATES)
    if len(status.steps) > STEPS_MAX:
        reason = f"{len(status.steps)} entries, at most {STEPS_MAX} are taken"
        yield Problem(field="steps", reason=reason)


def _stopped(stopped: Stopped) -> Iterator[Problem]:
    if _UUID.fullmatch(stopped.uid) is None:
        yield Problem(field="uid", reason=f"{stopped.uid[:80]!r} is no lower-case UUID")
    if stopped.attempts < 0:
        yield Problem(field="attempts", reason="it must not be negative")


def _wish(wish: Wish) -> Iterator[Problem]:
    if wish.verb not in VERBS:
        yield _unknown("verb", wish.verb, VERBS)
    if wish.target is not None and _NAME.fullmatch(wish.target) is None:
        reason = f"{wish.target[:80]!r} is no namespace/name"
        yield Problem(field="target", reason=reason)
    if wish.target is None and wish.verb == "Forget":
        yield Problem(field="target", reason="it says whom to forget, as namespace/name")


def _unknown(field: str, word: str, known: frozenset[str]) -> Problem:
    return Problem(field=field, reason=f"{word[:80]!r} is none of {', '.join(sorted(known))}")
