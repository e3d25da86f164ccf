"""A responder of a simulated machine that saves a workload's work before it is stopped.

It takes part like any program would: it sees its own entry become Active, reports, and completes.
"""

from collections.abc import Sequence
from datetime import datetime

import anyio
import msgspec
from anyio.abc import TaskGroup

from evictd.core.protocol.vocabulary import State
from evictd.shell.bus import Bus, Delivery, Listing, attached
from evictd.shell.clock import Clock
from evictd_schemas import Eviction, Report, topics


class DrainResponder:
    """`domain/key` takes `steps` steps of `step_seconds` for each Eviction that makes it Active."""

    def __init__(
        self,
        node: str,
        name: str,
        bus: Bus,
        clock: Clock,
        *,
        steps: int = 3,
        step_seconds: float = 1.0,
    ) -> None:
        self._node = node
        self.name = name
        self._bus = bus
        self._clock = clock
        self._steps = steps
        self._step_seconds = step_seconds
        self._at_work: dict[str, anyio.CancelScope] = {}
        self._tasks: TaskGroup | None = None

    @property
    def filters(self) -> Sequence[str]:
        return (topics.EVICTION.everywhere(self._node),)

    def deliver(self, delivery: Delivery) -> None:
        place = topics.place(delivery.topic)
        if place is None or self._tasks is None:
            return
        eviction = (
            msgspec.json.decode(delivery.payload, type=Eviction) if delivery.payload else None
        )
        if eviction is not None and self._active(eviction):
            if eviction.metadata.uid not in self._at_work:
                self._at_work[eviction.metadata.uid] = anyio.CancelScope()
                self._tasks.start_soon(self._drain, eviction)
        elif eviction is not None and eviction.metadata.uid in self._at_work:
            self._at_work.pop(eviction.metadata.uid).cancel()

    def listed(self, listing: Listing) -> None:
        """Nothing to read back."""

    async def run(self) -> None:
        """Work until cancelled."""
        async with anyio.create_task_group() as self._tasks:
            with attached(self._bus, self):
                await anyio.sleep_forever()

    def _active(self, eviction: Eviction) -> bool:
        return any(
            entry.name == self.name and entry.state == State.ACTIVE
            for entry in eviction.status.target_responders
        )

    async def _drain(self, eviction: Eviction) -> None:
        with self._at_work[eviction.metadata.uid]:
            for step in range(1, self._steps + 1):
                await anyio.sleep(self._step_seconds)
                self._report(eviction, f"saved {step} of {self._steps} parts", None)
            self._report(eviction, "everything is saved", self._clock.now().utc)

    def _report(self, eviction: Eviction, message: str, completed: datetime | None) -> None:
        report = Report(
            eviction_uid=eviction.metadata.uid,
            heartbeat_time=self._clock.now().utc,
            completion_time=completed,
            message=message,
        )
        topic = topics.REPORT.at(
            self._node,
            namespace=eviction.metadata.namespace,
            name=eviction.metadata.name,
            **topics.levels(self.name),
        )
        self._bus.publish(topic, msgspec.json.encode(report), retain=True, publisher=self)
