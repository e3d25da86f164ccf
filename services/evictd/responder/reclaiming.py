"""Carrying out a reclaim: step after step, each measured on the file system that is short, until
there is enough. What it would take in a dry run.

The runtimes know what may be taken; the order knows how far. [contract 3, Order]
"""

from collections.abc import Callable, Collection, Sequence

import anyio
from msgspec import structs

from evictd.core.duty import errand
from evictd.responder.room import Disks, Room
from evictd.runtimes import Reclaimer, Runtime
from evictd_schemas import Order, StepOutcome

ORDER_SECONDS = 60.0
"""For an order without a deadline: images are deleted at tens of megabytes a second."""
IDLE_PIECES_MAX = 10
"""Pieces in a row after which a step ends when the file system got nothing back: what is taken lies
on another one, or is shared with what stays."""
SETTLE_SECONDS = 2.0
"""How long space that a runtime says it gave back is waited for: some file systems free it late."""
SETTLE_LOOK_SECONDS = 0.1


class Reclaiming:
    """`stopped`: the runtime ids of what is down because of evictd, None while nobody knows."""

    def __init__(
        self,
        runtimes: Sequence[Runtime],
        disks: Disks,
        stopped: Callable[[], Collection[str] | None],
    ) -> None:
        self._runtimes = tuple(runtimes)
        self._disks = disks
        self._stopped = stopped

    async def attend(self) -> None:
        """Let the runtimes keep up what their steps have to know, while this is awaited."""
        async with anyio.create_task_group() as tasks:
            for runtime in self._runtimes:
                if isinstance(runtime, Reclaimer):
                    tasks.start_soon(runtime.attend)

    async def carry_out(self, order: Order) -> tuple[StepOutcome, ...]:
        """The steps that were begun. None is begun once there is enough or no time is left."""
        seconds = order.deadline_seconds or ORDER_SECONDS
        deadline = anyio.current_time() + seconds
        outcomes: list[StepOutcome] = []
        for step in order.steps:
            before = await self._disks.room(order.signal)
            if _enough(before, order) or anyio.current_time() >= deadline:
                break
            outcomes.append(await self._step(step, order, before, deadline))
        return tuple(outcomes)

    async def rehearse(self, order: Order) -> tuple[StepOutcome, ...]:
        """What each step would take, in the runtimes' own figures; nothing is taken."""
        deadline = anyio.current_time() + (order.deadline_seconds or ORDER_SECONDS)
        return tuple([await self._rehearsed(step, deadline) for step in order.steps])

    async def _step(
        self, step: str, order: Order, before: Room | None, deadline: float
    ) -> StepOutcome:
        """By the first runtime that can; one that fails says so and the next step follows."""
        runtime = self._able(step)
        if runtime is None:
            return self._unsupported(step)
        going_on = GoingOn(self._disks, order, before)
        outcome = StepOutcome(step=step, error="not done in time")
        with anyio.CancelScope(deadline=deadline):
            outcome = await runtime.reclaim(step, stopped=self._stopped(), go_on=going_on.go_on)
        return await self._measured(outcome, order, before)

    async def _rehearsed(self, step: str, deadline: float) -> StepOutcome:
        runtime = self._able(step)
        if runtime is None:
            return self._unsupported(step)
        with anyio.CancelScope(deadline=deadline):
            return await runtime.rehearse(step, stopped=self._stopped())
        return StepOutcome(step=step, error="not told in time")

    async def _measured(
        self, outcome: StepOutcome, order: Order, before: Room | None
    ) -> StepOutcome:
        """With what the file system says; the runtime's own figure where that says nothing."""
        after = await self._disks.room(order.signal)
        if before is None or after is None:
            return structs.replace(outcome, freed_bytes=outcome.listed_bytes)
        with anyio.move_on_after(SETTLE_SECONDS if outcome.listed_bytes else 0):
            while after.bytes <= before.bytes:
                await anyio.sleep(SETTLE_LOOK_SECONDS)
                after = await self._disks.room(order.signal) or after
        return structs.replace(
            outcome,
            freed_bytes=max(0, after.bytes - before.bytes),
            freed_inodes=max(0, after.inodes - before.inodes),
        )

    def _able(self, step: str) -> Reclaimer | None:
        return next(
            (
                runtime
                for runtime in self._runtimes
                if isinstance(runtime, Reclaimer) and step in runtime.reclaim_steps
            ),
            None,
        )

    def _unsupported(self, step: str) -> StepOutcome:
        return errand.unsupported(step, [runtime.name for runtime in self._runtimes])


class GoingOn:
    """Whether one step goes on, asked before each of its pieces."""

    def __init__(self, disks: Disks, order: Order, before: Room | None) -> None:
        self._disks = disks
        self._order = order
        self._most = None if before is None else before.of(order.signal)
        self._idle_pieces = 0

    async def go_on(self) -> bool:
        """No once there is enough, or the last pieces have given nothing back."""
        room = await self._disks.room(self._order.signal)
        if room is None or self._most is None:
            return True
        if _enough(room, self._order):
            return False
        available = room.of(self._order.signal)
        self._idle_pieces = 0 if available > self._most else self._idle_pieces + 1
        self._most = max(self._most, available)
        return self._idle_pieces <= IDLE_PIECES_MAX


def _enough(room: Room | None, order: Order) -> bool:
    return room is not None and room.holds(order.signal, order.until_available)
