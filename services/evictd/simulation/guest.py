"""A simulated machine as a node on a real bus: its collector and its responder take part.

Everything about it is decided by the evictd that serves its node; it runs full and is relieved,
over and over. Collector and responder have a connection each: one process that is `all` of a node
would tell the others to keep away from it. [contract 1, Order]
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from evictd.core.duty import Duty, Effect
from evictd.core.rules import Rules
from evictd.responder.service import DefaultResponder
from evictd.shell.bus.address import Address
from evictd.shell.clock import SystemClock
from evictd.shell.ending import signalled
from evictd.shell.process import Post, Process, run_workers
from evictd.shell.supervise import Outside
from evictd.simulation.collector import SimulatedCollector
from evictd.simulation.machine import SimulatedMachine
from evictd_schemas.topics import Role


class GuestCollector:
    """The simulated collector as a worker of a process. Workloads begin with it."""

    def __init__(self, machine: SimulatedMachine, outside: Outside[Any, Any, Any]) -> None:
        self._collector = SimulatedCollector(machine, outside.bus, outside.clock)

    async def run(self) -> None:
        """Until cancelled."""
        await self._collector.run()


async def take_part(
    machine: SimulatedMachine,
    rules: Callable[[str], Rules | None],
    address: Address,
    state_folder: Path,
) -> None:
    """Run until SIGTERM. `rules` say what the responder may do; it looks at its own, last."""
    stopping = asyncio.Event()
    now_seconds = SystemClock().now().boot_seconds
    for workload in machine.workloads:
        workload.starts_at_seconds += now_seconds
    posts = (
        Post(role=Role.COLLECTOR, build=partial(GuestCollector, machine), home_only=True),
        Post(
            role=Role.RESPONDER,
            build=lambda outside: DefaultResponder(outside, (machine,)),
            state=Duty,
            effects=Effect,
            home_only=True,
        ),
    )
    process = Process(node=machine.node, address=address, rules=rules, state_folder=state_folder)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, stopping)
        for post in posts:
            tasks.start_soon(partial(run_workers, process, (post,), stopping=stopping))


async def _stop_on_signal(stopping: asyncio.Event) -> None:
    await signalled()
    stopping.set()
