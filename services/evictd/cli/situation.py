"""What `rank` and `explain` look at: a node as it is on the bus, or an observation in a file."""

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import click
import msgspec

from evictd.cli.broker import operator_address, reached, state_folder_of
from evictd.cli.last_configuration import remembered
from evictd.cli.machine import home_node
from evictd.cli.options import Command, config_option, known_configuration
from evictd.client import Mirror
from evictd.core.decision import (
    Fallen,
    Given,
    Judged,
    Plan,
    Recalled,
    Retained,
    Seen,
    Wished,
    decide,
)
from evictd.core.decision.explanation import Situation
from evictd.core.errors import InputError
from evictd.core.evaluation import Observed, Watch, evaluate
from evictd.core.moments import Now
from evictd.core.observations import problems
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd.core.rules import Rules
from evictd.core.signals.names import SIGNALS, resource_of
from evictd.runtimes.settings import configured
from evictd.runtimes.workloads import settings_of
from evictd.shell import logs
from evictd.shell.causes import UNREADABLE
from evictd.shell.clock import SystemClock
from evictd.shell.configuration import rules_of
from evictd.shell.configuration.problems import meant
from evictd_schemas import Observation, Pod, Pressure, topics
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import segment_problem

EVERYWHERE = "+"
LIST_SECONDS = 3.0
"""Until everything on the bus is here: a person waits for it."""


class NotFoundError(InputError):
    """What was asked for is not there."""

    exit_code: ClassVar[int] = 4


def situation_options(command: Command) -> Command:
    """Where to look, and for what shortage."""
    for option in (
        click.option("--signal", help="Shortage of what. Default: what is short, else memory."),
        click.option(
            "--observation",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Look at an observation in a file instead of the bus.",
        ),
        click.option("--broker", help="Broker. Default: the configured one."),
        click.option("--node", help="Default: this machine."),
        partial(config_option, default="the one that evictd runs with here"),
    ):
        command = option(command)
    return command


def checked_signal(signal: str | None) -> str | None:
    """A shortage of it can be asked about. Raises `InputError` for one that nobody would go for."""
    acted_on = [name for name in SIGNALS if resource_of(name) is not None]
    if signal is not None and signal not in acted_on:
        raise InputError(f"{signal!r} is no signal that is acted on{meant(signal, acted_on)}")
    return signal


def situation(
    file: Path | None, node: str | None, broker: str | None, observation: Path | None
) -> Situation:
    """From a file where one is given, else from the bus.

    Raises `NotFoundError` for a node that nobody observes, `PeerError` without a broker.
    """
    configuration = running_configuration(file, broker)
    if observation is not None:
        return of_observation(configuration, read_observation(observation), node)
    if node is not None and (problem := segment_problem(node)) is not None:
        raise InputError(f"{node!r} is no node: {problem}")
    return asyncio.run(_of_bus(configuration, node or home_node(configuration)))


def running_configuration(file: Path | None, broker: str | None) -> Configuration:
    """That of a file, else the one that evictd runs with here."""
    configuration = known_configuration(file, broker=broker)
    if file is None and (running := remembered(state_folder_of(configuration))) is not None:
        return known_configuration(running, broker=broker)
    return configuration


def read_observation(file: Path) -> Observation:
    """As `mosquitto_sub` prints it. Raises `InputError`."""
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Observation)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UNREADABLE as error:
        raise InputError(f"{file}: is no observation: {error}") from error
    for problem in problems(found.node, found, None):
        raise InputError(f"{file}: {problem.field}: {problem.reason}")
    return found


def of_observation(
    configuration: Configuration, found: Observation, node: str | None = None
) -> Situation:
    """An observation alone: the pressure is what the evaluator makes of it."""
    rules = rules_of(configuration, node or found.node)
    found = as_configured(configuration, found)
    now = Now(boot_seconds=found.uptime_seconds or 0.0, utc=found.time)
    pressure = judged(rules, found, now)
    given = Judged(pressure=pressure, observation=found)
    return Situation(rules=rules, plan=Plan(), given=given, now=now)


def as_configured(configuration: Configuration, found: Observation) -> Observation:
    """With `workloads:` of this configuration over what the collector saw, which had its own."""
    settings_for = settings_of(configuration)

    def seen(pod: Pod) -> Pod:
        changed = configured(pod, settings_for(pod.namespace, pod.name))
        protected = pod.protected or changed.protected  # a runtime may have its reasons
        return msgspec.structs.replace(changed, protected=protected)

    pods = None if found.pods is None else tuple(seen(pod) for pod in found.pods)
    return msgspec.structs.replace(found, pods=pods)


def judged(rules: Rules, found: Observation, now: Now) -> Pressure:
    """The evaluator's first word about a node; empty where the layout cannot be told."""
    _, effects = evaluate(rules, Watch(), Observed(observation=found), now)
    for effect in effects:
        message: Any = getattr(effect, "message", None)
        if isinstance(message, Pressure):
            return message
    return Pressure(node=rules.node, time=now.utc, sequence=0, conditions=(), thresholds=())


async def _of_bus(configuration: Configuration, node: str) -> Situation:
    logs.configure(worker="reader", node=node, level=logging.CRITICAL)
    where = operator_address(configuration)
    async with reached(configuration, where, EVERYWHERE, LIST_SECONDS) as mirror:
        found = mirror.get(topics.OBSERVATION, node)
        pressure = mirror.get(topics.PRESSURE, node)
        givens = _givens(mirror, node)
    if found is None:
        raise NotFoundError(not_observed(mirror, node))
    found = as_configured(configuration, found)
    now = SystemClock().now()
    rules = rules_of(configuration, node)
    plan = Plan()
    for given in givens:
        plan, _ = decide(rules, plan, given, now)
    plan = plan.as_told(plan.decision)
    return Situation(
        rules=rules,
        plan=plan,
        given=Judged(
            pressure=judged(rules, found, now) if pressure is None else pressure,
            observation=found,
        ),
        now=now,
    )


def not_observed(mirror: Mirror, node: str) -> str:
    """What somebody is told who may have mistyped a node."""
    others = sorted({found.place.node for found in mirror.objects(topics.OBSERVATION)})
    known = f"; on the bus are {', '.join(others)}" if others else ""
    return f"nobody observes node {node}{known}"


def _givens(mirror: Mirror, node: str) -> list[Given]:
    """What the evictor would find after a start: its own words, evictions, who is down, wishes."""
    requests = tuple(
        Retained(topic=found.topic, request=found.message)
        for found in mirror.objects(topics.REQUEST, node)
        if found.place.participant in PRESSURE_REQUESTERS
    )
    return [
        Recalled(decision=mirror.get(topics.DECISION, node), requests=requests),
        *(
            Seen(
                namespace=found.place.names["namespace"],
                name=found.place.names["name"],
                eviction=found.message,
            )
            for found in mirror.objects(topics.EVICTION, node)
        ),
        *(
            Fallen(
                namespace=found.place.names["namespace"],
                name=found.place.names["name"],
                stopped=found.message,
            )
            for found in mirror.objects(topics.STOPPED, node)
        ),
        *(
            Wished(topic=found.topic, wish=found.message)
            for found in mirror.objects(topics.WISH, node)
        ),
    ]
