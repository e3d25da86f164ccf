"""The evictor's orders as the built-in responder answers them: what it refuses, and how it ended.

[contract 3, Order]
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec import structs

from evictd.core.back_off import back_off_seconds
from evictd.core.duty.outcomes import StartOutcome, StartResult
from evictd.core.duty.response import forbidden
from evictd.core.moments import whole_second
from evictd.core.orders import OrderKind, OrderState, Restore
from evictd.core.pods import active
from evictd.core.rules import Rules
from evictd.core.wording import name_text
from evictd_schemas import (
    Moment,
    Order,
    OrderStatus,
    Pod,
    PodReference,
    StepOutcome,
    Stopped,
)


def answered(order: Order, held: OrderStatus | None) -> bool:
    """Whether this very order is over.

    One that was running when the responder ended is begun again, since a step that is repeated does
    no harm.
    """
    return held is not None and held.order_uid == order.uid and held.state != OrderState.RUNNING


def refusal(rules: Rules, order: Order) -> str | None:
    """Why nothing is done about it, None when it is carried out.

    The node's own mode counts, whoever asked. [design, law 8]
    """
    if order.kind not in set(OrderKind):
        return f"{order.kind[:80]!r} is none of {', '.join(OrderKind)}"
    if order.kind != OrderKind.RECLAIM and order.target is None:
        return f"it does not say whom to {order.kind.lower()}"
    if order.kind == OrderKind.FORGET:
        return None  # no workload is touched by it, so that the mode does not matter
    return forbidden(rules) or ("the order is a dry run" if order.dry_run else None)


def rehearsed(order: Order) -> bool:
    """Whether it asks only what would be taken, which is answered in every mode."""
    return order.kind == OrderKind.RECLAIM and order.dry_run


def running(order: Order) -> OrderStatus:
    """It has begun."""
    return OrderStatus(order_uid=order.uid, state=OrderState.RUNNING)


def refused(order: Order, why: str, at: Moment, steps: Sequence[StepOutcome] = ()) -> OrderStatus:
    """It is over before it began; `steps`: what it would have taken."""
    return OrderStatus(
        order_uid=order.uid,
        state=OrderState.REFUSED,
        steps=tuple(steps),
        finished=at,
        message=why,
    )


def finished(order: Order, steps: Sequence[StepOutcome], at: Moment) -> OrderStatus:
    """Each step with what it gave back; from `at` on a new observation shows it."""
    return OrderStatus(
        order_uid=order.uid, state=OrderState.FINISHED, steps=tuple(steps), finished=at
    )


def unsupported(step: str, runtimes: Sequence[str]) -> StepOutcome:
    """A step that no runtime here can take: the order goes on with the next one."""
    return StepOutcome(step=step, error=f"not supported by {', '.join(runtimes) or 'any runtime'}")


def not_ours(target: PodReference, record: Stopped | None) -> str | None:
    """Only what is down because of evictd is started, and only while that very life is the last."""
    if record is None or record.uid != target.uid:
        return f"{name_text(target)} is not down because of evictd"
    return None


def restored(
    order: Order, record: Stopped, outcome: StartOutcome, at: Moment
) -> tuple[OrderStatus, Stopped | None]:
    """How a start ended, and what stays of the record of what is down.

    Nothing once it runs or was removed. What cannot be started by us is left to its owner. A
    runtime that does not answer is no failure of the workload's.
    """
    if outcome.runs:
        return structs.replace(finished(order, (), at), message=outcome.why), None
    untried = outcome.result in (StartResult.REFUSED, StartResult.UNASKED)
    state = OrderState.REFUSED if untried else OrderState.FAILED
    status = OrderStatus(order_uid=order.uid, state=state, finished=at, message=outcome.why)
    if outcome.result is StartResult.NOT_FOUND:
        return status, None
    if outcome.result is StartResult.UNASKED:
        return status, record
    if outcome.result is StartResult.REFUSED:
        return status, structs.replace(record, restore=Restore.MANUAL)
    attempts = record.attempts + 1
    next_try_time = at.time + timedelta(seconds=back_off_seconds(attempts))
    return status, structs.replace(
        record, attempts=attempts, next_try_time=whole_second(next_try_time)
    )


def runs_again(record: Stopped, namespace: str, name: str, pods: Iterable[Pod]) -> bool:
    """Whether another life has the name of what was stopped, whoever began it."""
    return any(
        (pod.namespace, pod.name) == (namespace, name) and pod.uid != record.uid and active(pod)
        for pod in pods
    )
