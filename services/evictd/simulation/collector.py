"""The collector of a simulated machine: publishes what the machine looks like, sooner when asked.

It keeps the manners of the real one: sequence numbers, `nextObservationSeconds`, and a look at once
when an Eviction or an order of its node changes.
"""

from collections.abc import Sequence
from contextlib import suppress

import anyio
import msgspec

from evictd.shell.bus import Bus, Delivery, Listing, attached
from evictd.shell.causes import UNREADABLE
from evictd.shell.clock import Clock
from evictd.simulation.machine import SimulatedMachine
from evictd_schemas import Pressure, topics

PERIOD_SECONDS_MIN = 0.25
"""Two looks are never closer: what a workload does in less is not worth a message."""


class SimulatedCollector:
    """A `Listener` that publishes the observations of one simulated machine until cancelled."""

    def __init__(self, machine: SimulatedMachine, bus: Bus, clock: Clock) -> None:
        self._machine = machine
        self._bus = bus
        self._clock = clock
        self._wanted = anyio.Event()
        self._next_seconds = machine.interval_seconds
        self._sequence = int(clock.now().utc.timestamp() * 1000)

    @property
    def filters(self) -> Sequence[str]:
        node = self._machine.node
        return (
            topics.PRESSURE.at(node),
            topics.EVICTION.everywhere(node),
            topics.ORDER_STATUS.everywhere(node),
        )

    def deliver(self, delivery: Delivery) -> None:
        if delivery.topic != topics.PRESSURE.at(self._machine.node):
            self._wanted.set()
        elif delivery.payload:
            with suppress(*UNREADABLE):  # it is asked again after the next look
                self._asked(msgspec.json.decode(delivery.payload, type=Pressure))

    def listed(self, listing: Listing) -> None:
        """Nothing to read back: a simulated machine begins anew."""

    def _asked(self, pressure: Pressure) -> None:
        asked = pressure.next_observation_seconds
        self._next_seconds = self._machine.interval_seconds if asked is None else asked

    async def run(self) -> None:
        """Look, publish, wait."""
        with attached(self._bus, self):
            while True:
                self.look()
                await self._rest()

    def look(self) -> None:
        """Publish one observation now."""
        self._sequence += 1
        observation = self._machine.observe(self._clock.now(), self._sequence)
        topic = topics.OBSERVATION.at(self._machine.node)
        self._bus.publish(topic, msgspec.json.encode(observation), retain=True, publisher=self)

    async def _rest(self) -> None:
        await anyio.sleep(PERIOD_SECONDS_MIN)
        rest_seconds = min(self._next_seconds, self._machine.interval_seconds) - PERIOD_SECONDS_MIN
        with anyio.move_on_after(max(0.0, rest_seconds)):
            await self._wanted.wait()
        self._wanted = anyio.Event()
