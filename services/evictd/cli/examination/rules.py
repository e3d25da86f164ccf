"""The configuration that evictd runs with here, and what it amounts to on this machine."""

import os
from dataclasses import dataclass
from pathlib import Path

from evictd.cli.broker import state_folder_of
from evictd.cli.checkup.file_systems import FileSystemFacts
from evictd.cli.checkup.killers import OurLines
from evictd.cli.checkup.rules import RuleFacts
from evictd.cli.examination import file_systems
from evictd.cli.examination.processes import Process
from evictd.cli.figures import Figures, figures
from evictd.cli.last_configuration import remembered
from evictd.core.errors import InputError
from evictd.core.evaluation.judgement import judge_of, readings_of
from evictd.core.rules import Rules
from evictd.core.signals.names import MEMORY_AVAILABLE, SWAP_AVAILABLE
from evictd.core.signals.thresholds import Threshold
from evictd.shell.configuration import (
    ConfigurationError,
    Loaded,
    cautions_here,
    lines_here,
    load,
    rules_of,
)

ENGINES = frozenset({"docker", "podman"})
"""Runtimes whose failure has lines of its own."""
STALLS = "psi.memory.full.avg10"
MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was loaded; the defaults where nothing could be."""

    loaded: Loaded
    source: str
    errors: tuple[str, ...] = ()


def known(file: Path | None, broker: str | None, first: Process | None = None) -> Known:
    """The given file; else that of the evictd that ran here last; else defaults.

    `first`: the first process of this container, which may be a worker with a file of its own.
    """
    try:
        found = load(file, variables=os.environ, flags={"broker": broker})
        running = None
        if file is None:
            running = remembered(state_folder_of(found.configuration)) or _given_to(first)
        if running is not None:
            found = load(running, variables=os.environ, flags={"broker": broker})
        return Known(loaded=found, source=str(file or running or ""))
    except ConfigurationError as error:
        errors = tuple(str(error).splitlines())
    except InputError as error:
        errors = (str(error),)
    return Known(loaded=load(None), source=str(file or ""), errors=errors)


def _given_to(worker: Process | None) -> Path | None:
    """What it was started with, as far as that is a file."""
    if worker is None or not worker.evictd_verb:
        return None
    file = Path(worker.given("--config"))
    readable = os.access(file, os.R_OK)  # nor is anything said of a folder that is not for us
    return file if readable and file.is_absolute() and file.is_file() else None


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """What it amounts to here."""

    facts: RuleFacts
    ours: OurLines
    watched: tuple[FileSystemFacts, ...] = ()


def amounts(known: Known, node: str) -> Amounts:
    """Look at this machine once, with all that runs there, and compare."""
    loaded = known.loaded
    rules = rules_of(loaded.configuration, node)
    here = figures(loaded.configuration, node, with_workloads=True)
    lines = tuple(lines_here(rules, here.observation))
    warnings = (*loaded.warnings, *cautions_here(loaded, here.observation))
    facts = RuleFacts(
        source=known.source,
        errors=known.errors,
        warnings=tuple(map(str, warnings)),
        mode=rules.mode,
        lines=len(lines),
        failures={name: why for name, why in here.failures.items() if name not in ENGINES},
    )
    watched = file_systems.watched(loaded.configuration.sources, here.observation, lines)
    return Amounts(facts=facts, ours=our_lines(rules, here), watched=tuple(watched))


def our_lines(rules: Rules, here: Figures) -> OurLines:
    """The hard lines on memory and on stalls, the first that there are."""
    readings = readings_of(rules, here.observation)
    memory = readings.get(MEMORY_AVAILABLE)

    def percent(signal: str) -> float | None:
        threshold = _hard(rules, signal)
        reading = readings.get(signal)
        if threshold is None or reading is None or not reading.capacity:
            return None
        amount = judge_of(rules).absolute(threshold.value, reading.capacity)
        return round(100 * float(amount) / reading.capacity, 1)

    stalls = percent(STALLS)
    return OurLines(
        memory_percent=percent(MEMORY_AVAILABLE),
        memory_total_mib=None if memory is None else memory.capacity / MIB,
        stall_percent=None if stalls is None else round(100 - stalls, 1),
        swap=SWAP_AVAILABLE in readings,
    )


def _hard(rules: Rules, signal: str) -> Threshold | None:
    return next((one for one in rules.thresholds if one.hard and one.signal == signal), None)
