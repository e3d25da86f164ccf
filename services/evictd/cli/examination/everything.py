"""All facts about a machine, and what they amount to, in the order in which a person reads them."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from evictd.cli import checkup
from evictd.cli.broker import state_folder_of
from evictd.cli.checkup.broker import BrokerFacts
from evictd.cli.checkup.clock import ClockFacts
from evictd.cli.checkup.containers import OnBus, Twin
from evictd.cli.checkup.disks import ImageFacts, StateFacts
from evictd.cli.checkup.engine import EngineFacts
from evictd.cli.checkup.findings import Finding
from evictd.cli.checkup.kernel import CgroupFacts, Sysctls
from evictd.cli.checkup.killers import Killer
from evictd.cli.checkup.protection import GuardFacts
from evictd.cli.checkup.stalls import StallFacts
from evictd.cli.checkup.surroundings import SurroundingFacts
from evictd.cli.config import this_node
from evictd.cli.examination import broker, clock, disks, engine, kernel, processes, roles, rules
from evictd.cli.examination.processes import Process
from evictd.cli.examination.rules import Amounts
from evictd.cli.machine import identity
from evictd.core.protocol.vocabulary import THERE
from evictd.shell.configuration import rules_of
from evictd_schemas.configuration import Configuration

FIRST = Path("/proc/1")
"""Of this very container, where it is a worker's; of the machine, where it is none of ours."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Everything that was found out, as one value."""

    node: str
    identity: str
    amounts: Amounts
    surroundings: SurroundingFacts
    cgroups: CgroupFacts
    stalls: StallFacts
    sysctls: Sysctls
    engine: EngineFacts
    label_problems: tuple[str, ...]
    broker: BrokerFacts
    broker_file: tuple[str, str] | None
    state: StateFacts
    images: ImageFacts
    clock: ClockFacts
    guard: GuardFacts
    killers: tuple[Killer, ...]
    twins: tuple[Twin, ...]


def examined(file: Path | None, url: str | None, mosquitto: Path | None) -> Machine:
    """Look at this machine; some seconds where something does not answer.

    `file`: the configuration, `url`: the broker, `mosquitto`: a configuration of Mosquitto's.
    """
    known = rules.known(file, url, processes.process(FIRST))
    configuration = known.loaded.configuration
    node, sources = this_node(configuration), configuration.sources
    proc, cgroup = Path(sources.proc_path), Path(sources.cgroup_path)
    every = processes.processes(proc)
    surroundings = kernel.surroundings(sources)
    watches = roles.watches(configuration, surroundings.container)
    before = engine.reached(configuration, rules_of(configuration, node), surroundings.container)
    found, problems, reached = asyncio.run(_asked(configuration, before, every))
    information = found.sight.information
    guarded = tuple(processes.guarded(every, proc, cgroup))
    return Machine(
        node=node,
        identity=identity(),
        amounts=rules.amounts(known, node),
        surroundings=surroundings,
        cgroups=structs.replace(kernel.cgroups(sources), watches=watches),
        stalls=kernel.stalls(sources),
        sysctls=kernel.sysctls(proc),
        engine=found,
        label_problems=problems,
        broker=reached,
        broker_file=broker.broker_file(configuration, mosquitto, every),
        state=disks.state(state_folder_of(configuration), proc),
        images=disks.images(
            sources,
            None if information is None or not watches else information.docker_root_dir,
        ),
        clock=clock.clock(state_folder_of(configuration)),
        guard=GuardFacts(processes=guarded, swap_total=kernel.swap_total(proc), acts=before.acts),
        killers=processes.killers(every),
        twins=tuple(processes.twins(every)),
    )


async def _asked(
    configuration: Configuration, before: EngineFacts, every: Sequence[Process]
) -> tuple[EngineFacts, tuple[str, ...], BrokerFacts]:
    """Both sockets at once: each may be slow for a reason of its own."""
    return await asyncio.gather(
        engine.answered(before),
        engine.label_problems(configuration),
        broker.broker(configuration, every),
    )


def findings(machine: Machine) -> Iterator[Finding]:
    """Every check, a line or more each."""
    sight = machine.engine.sight
    yield from checkup.rules.findings(machine.amounts.facts)
    yield from checkup.surroundings.findings(machine.surroundings)
    yield from checkup.kernel.cgroup_findings(machine.cgroups)
    yield from checkup.stalls.findings(machine.stalls)
    yield from checkup.kernel.sysctl_findings(machine.sysctls)
    yield from checkup.engine.findings(machine.engine)
    yield from checkup.engine.kernel_findings(sight)
    yield from checkup.containers.label_findings(sight, machine.label_problems)
    yield from checkup.containers.healer_findings(sight)
    yield from checkup.containers.twin_findings(sight, machine.twins)
    yield from checkup.killers.findings(machine.killers, machine.amounts.ours)
    yield from checkup.protection.findings(machine.guard)
    yield from checkup.disks.state_findings(machine.state)
    yield from checkup.file_systems.findings(machine.amounts.watched)
    yield from checkup.disks.image_findings(machine.images)
    yield from checkup.clock.findings(machine.clock)
    yield from checkup.broker.findings(machine.broker)
    if machine.broker_file is not None:
        yield from checkup.broker_file.findings(*machine.broker_file)
    yield from _on_bus(machine)


def _on_bus(machine: Machine) -> Iterator[Finding]:
    """Who else says that it is this machine."""
    trial = machine.broker.trial
    if trial is not None and trial.failure is None:
        live = [
            OnBus(node=one.node, worker=one.worker, machine=one.machine)
            for one in trial.workers
            if one.status in THERE
        ]
        yield from checkup.containers.bus_findings(machine.node, machine.identity, live)
