"""The rules about values of what the evictor alone answers for.

`pressure`, `stopped`, statuses of orders and `wishes`. [contract 1, Rejection]
"""

import re
from collections.abc import Iterator
from typing import Any

from evictd.core.admission import names
from evictd.core.admission.kinds import invalid, too_many
from evictd.core.admission.objects import word
from evictd.core.orders import OrderState, Verb
from evictd.core.problems import Problem
from evictd_schemas import OrderStatus, Pressure, Stopped, Wish

THRESHOLDS_MAX = 1_000
"""Thresholds of one Pressure: nine signals, hard and soft, are eighteen."""
STEPS_MAX = 100
"""Steps in the status of one order."""

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
        yield invalid("node", f"{pressure.node[:80]!r} is not the topic's node {node!r}")
    if pressure.sequence < 0:
        yield invalid("sequence", "it must not be negative")
    if len(pressure.thresholds) > THRESHOLDS_MAX:
        yield too_many("thresholds", len(pressure.thresholds), THRESHOLDS_MAX)


def _order_status(status: OrderStatus) -> Iterator[Problem]:
    yield from word("state", status.state, OrderState)
    if len(status.steps) > STEPS_MAX:
        yield too_many("steps", len(status.steps), STEPS_MAX)


def _stopped(stopped: Stopped) -> Iterator[Problem]:
    yield from names.uid("uid", stopped.uid)
    if stopped.attempts < 0:
        yield invalid("attempts", "it must not be negative")


def _wish(wish: Wish) -> Iterator[Problem]:
    yield from word("verb", wish.verb, Verb)
    if wish.target is not None and _NAME.fullmatch(wish.target) is None:
        yield invalid("target", f"{wish.target[:80]!r} is no namespace/name")
    if wish.target is None and wish.verb == Verb.FORGET:
        yield invalid("target", "it says whom to forget, as namespace/name")
