"""From a configuration to workers that run: the one place that knows all of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from evictd.cli.alive import runtime_folder
from evictd.cli.broker import state_folder_of
from evictd.cli.machine import boot_id, home_node, identity
from evictd.collector.service import Collector
from evictd.controller.service import Controller
from evictd.core.duty import Duty, Effect
from evictd.core.effects import ControllerEffect
from evictd.core.errors import HostError
from evictd.core.protocol.case import Case
from evictd.core.rules import Rules
from evictd.core.signals.disks import places
from evictd.evaluator.service import Evaluator
from evictd.evictor.service import Evictor
from evictd.responder.holding import FILE_NAME as HOLD_FILE
from evictd.responder.room import Disks
from evictd.responder.service import DefaultResponder
from evictd.runtimes import Runtime
from evictd.shell import logs
from evictd.shell.bus.address import Address
from evictd.shell.configuration import rules_for, served_patterns
from evictd.shell.process import Post, Process, run_workers
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import ALL, Role

ROLES = (Role.COLLECTOR, Role.EVALUATOR, Role.EVICTOR, Role.CONTROLLER, Role.RESPONDER)
"""The roles that one process fills, in the order of the way of the data."""
HANDS = frozenset((Role.COLLECTOR, Role.RESPONDER))
"""The roles that look at workloads, or stop them."""


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """What `up` and `run` start: a configuration, the home node, the roles to fill."""

    configuration: Configuration
    node: str
    roles: Sequence[Role]

    @property
    def worker(self) -> str:
        """The one role, or `all`; also the login at the broker."""
        return self.roles[0].value if len(self.roles) == 1 else ALL

    async def run(self, broker: Address) -> None:
        """Work until a signal comes. Raises what `run_workers` raises."""
        found = self._runtimes()
        async with AsyncExitStack() as stack:
            for runtime in found:
                stack.push_async_callback(runtime.close)
            await run_workers(self._process(broker), tuple(self._posts(found)))

    def _runtimes(self) -> tuple[Runtime, ...]:
        """Those that only decide touch no engine, and are spared its client."""
        if HANDS.isdisjoint(self.roles):
            return ()
        workloads = import_module("evictd.cli.workloads")
        return tuple(workloads.runtimes(self.configuration))

    def _process(self, broker: Address) -> Process:
        return Process(
            node=self.node,
            address=broker,
            rules=self._rules,
            state_folder=folder_of_state(self.configuration),
            runtime_folder=made(runtime_folder()),
            serves=tuple(served_patterns(self.configuration)),
            machine=identity(),
            version=version("evictd"),
        )

    @property
    def _rules(self) -> Callable[[str], Rules | None]:
        """Compiled once a node: a configuration does not change while it runs."""
        return cache(partial(rules_for, self.configuration, self.node))

    def _posts(self, found: Sequence[Runtime]) -> Iterator[Post]:
        sources = self.configuration.sources
        posts = (
            Post(
                role=Role.COLLECTOR,
                build=lambda outside: Collector(outside, sources, found),
                home_only=True,
            ),
            Post(role=Role.EVALUATOR, build=Evaluator),
            Post(role=Role.EVICTOR, build=Evictor),
            Post(
                role=Role.CONTROLLER,
                build=partial(Controller, boot_id=boot_id()),
                state=Case,
                effects=ControllerEffect,
            ),
            Post(
                role=Role.RESPONDER,
                build=lambda outside: DefaultResponder(
                    outside,
                    found,
                    hold_file=state_folder_of(self.configuration) / HOLD_FILE,
                    disks=Disks(places(sources.file_systems), outside.run_blocking),
                ),
                state=Duty,
                effects=Effect,
                home_only=True,
            ),
        )
        return (post for post in posts if post.role in self.roles)


def assembly(configuration: Configuration, roles: Sequence[Role] = ROLES) -> Assembly:
    """For this machine, its logs set up. Raises `InputError` where it has no name that lasts."""
    found = Assembly(configuration=configuration, node=home_node(configuration), roles=roles)
    logs.configure(worker=found.worker, node=found.node)
    return found


def folder_of_state(configuration: Configuration) -> Path:
    """The configured folder, or the one for this user; made where it is missing."""
    return made(state_folder_of(configuration))


def made(folder: Path) -> Path:
    """A folder of ours.

    Others may pass through, so that a broker of root's can be Mosquitto's own user; everything in
    it is for its owner alone.
    """
    try:
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    except OSError as error:
        raise HostError(f"{folder}: cannot be made: {error.strerror}") from error
    return folder
