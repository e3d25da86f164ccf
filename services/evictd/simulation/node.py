"""One node with all its real workers over a router, around a simulated machine.

The demonstration and the tests on virtual time use it; nothing here decides.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from evictd.controller.service import Controller
from evictd.core.rules import Rules
from evictd.evaluator.service import Evaluator
from evictd.evictor.service import Evictor
from evictd.responder.service import DefaultResponder
from evictd.shell.blocking import inline
from evictd.shell.bus import Bus, Router
from evictd.shell.clock import Clock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import Journal, MemoryJournal
from evictd.shell.supervise import Outside
from evictd.simulation.machine import SimulatedMachine
from evictd_schemas.topics import Role

Worker = Evaluator | Evictor | Controller | DefaultResponder
BUILDERS: Mapping[Role, Callable[[Outside[Any, Any, Any], SimulatedMachine], Worker]] = {
    Role.CONTROLLER: lambda outside, _: Controller(outside),
    Role.EVICTOR: lambda outside, _: Evictor(outside),
    Role.EVALUATOR: lambda outside, _: Evaluator(outside),
    Role.RESPONDER: lambda outside, machine: DefaultResponder(outside, (machine,)),
}


@dataclass(kw_only=True)
class SimulatedNode:
    """Evaluator, evictor, controller and responder of one machine. Journals outlive the workers."""

    machine: SimulatedMachine
    rules: Callable[[str], Rules | None]
    clock: Clock
    bus: Bus = field(default_factory=Router)
    epoch: int = 1
    journals: dict[Role, Journal[Any, Any]] = field(default_factory=dict)

    def worker(self, role: Role) -> Worker:
        """A new life of one worker on its old journal; each life has a greater epoch."""
        self.epoch += 1
        inbox: Inbox[Any] = Inbox(self.clock)
        outside: Outside[Any, Any, Any] = Outside(
            node=self.machine.node,
            scope=self.machine.node,
            bus=self.bus,
            epoch=Epoch(self.epoch),
            inbox=inbox,
            clock=self.clock,
            journal=self.journals.setdefault(role, MemoryJournal()),
            run_blocking=inline,
            rules=self.rules,
        )
        return BUILDERS[role](outside, self.machine)

    async def run(self) -> None:
        """All four, until cancelled."""
        async with anyio.create_task_group() as workers:
            for role in BUILDERS:
                workers.start_soon(self.worker(role).run)
