"""A simulated machine on virtual time with the real workers around it, and who hears of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup
from tests.ear import Ear

from evictd.core.rules import Rules
from evictd.shell.bus import Router
from evictd.shell.clock import LoopClock
from evictd.simulation.collector import SimulatedCollector
from evictd.simulation.machine import SimulatedMachine
from evictd.simulation.node import BUILDERS, SimulatedNode
from evictd_schemas.topics import Role

NODE = "edge-7"


class Witness(Ear):
    """It tells the events of each worker apart."""

    def reasons(self, worker: Role) -> list[str]:
        """The reasons one worker gave, in order, each event once."""
        seen = {event.id: event for event in self.events() if event.source.endswith(f"/{worker}")}
        return [str(event.data["reason"]) for event in seen.values()]


class World:
    """The machine, its bus and its time."""

    def __init__(self, machine: SimulatedMachine, rules: Rules) -> None:
        self.machine = machine
        self.router, self.clock, self.witness = Router(), LoopClock(), Witness()
        self.router.attach(self.witness)
        self._node = SimulatedNode(
            machine=machine,
            rules=lambda name: rules if name == machine.node else None,
            clock=self.clock,
            bus=self.router,
        )

    @asynccontextmanager
    async def running(self, *but: Role) -> AsyncIterator[TaskGroup]:
        """All workers but these, and the collector; at the end all of them die."""
        async with anyio.create_task_group() as tasks:
            for role in BUILDERS:
                if role not in but:
                    tasks.start_soon(self.life, role)
            tasks.start_soon(SimulatedCollector(self.machine, self.router, self.clock).run)
            yield tasks
            tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def running_after_a_death(self, role: Role, seconds: float) -> AsyncIterator[None]:
        """All workers, of which one has died so long after the beginning, and is back after one
        second more."""
        async with self.running(role) as tasks:
            with anyio.move_on_after(seconds):
                await self.life(role)
            await anyio.sleep(1)
            tasks.start_soon(self.life, role)
            yield

    async def life(self, role: Role) -> None:
        """One life of a worker, on the journal of the lives before it."""
        await self._node.worker(role).run()

    def retained(self, topic: str, kind: Any) -> Any:
        """What is on a topic now, None where nothing is."""
        payload = self.router.retained.get(topic)
        return None if payload is None else msgspec.json.decode(payload, type=kind)
