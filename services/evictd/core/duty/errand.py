"""The evictor's orders as the built-in responder answers them: what it refuses, and how it ended.

[contract 3, Order]
"""

from collections.abc import Sequence
from enum import StrEnum

from evictd.core.duty.response import forbidden
from evictd.core.rules import Rules
from evictd_schemas import Moment, Order, OrderStatus, StepOutcome


class OrderState(StrEnum):
    """How far an order is."""

    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"
    REFUSED = "Refused"


class OrderKind(StrEnum):
    """What an order asks for."""

    RECLAIM = "Reclaim"
    RESTORE = "Restore"


def answered(order: Order, held: OrderStatus | None) -> bool:
    """Whether this very order is over; one that was running when the responder ended is begun
    again, since a step that is repeated does no harm."""
    return held is not None and held.order_uid == order.uid and held.state != OrderState.RUNNING


def refusal(rules: Rules, order: Order) -> str | None:
    """Why nothing is done about it, None when it is carried out. The node's own mode counts,
    whoever asked. [design, law 8]"""
    if order.kind == OrderKind.RESTORE:
        return "this version restores nothing"
    return forbidden(rules) or ("the order is a dry run" if order.dry_run else None)


def running(order: Order) -> OrderStatus:
    """It has begun."""
    return OrderStatus(order_uid=order.uid, state=OrderState.RUNNING)


def refused(order: Order, why: str, at: Moment) -> OrderStatus:
    """It is over before it began."""
    return OrderStatus(order_uid=order.uid, state=OrderState.REFUSED, finished=at, message=why)


def finished(order: Order, steps: Sequence[StepOutcome], at: Moment) -> OrderStatus:
    """Each step with what it gave back; from `at` on a new observation shows it."""
    return OrderStatus(
        order_uid=order.uid, state=OrderState.FINISHED, steps=tuple(steps), finished=at
    )


def unsupported(step: str, runtimes: Sequence[str]) -> StepOutcome:
    """A step that no runtime here can take: the order goes on with the next one."""
    return StepOutcome(step=step, error=f"not supported by {', '.join(runtimes) or 'any runtime'}")
