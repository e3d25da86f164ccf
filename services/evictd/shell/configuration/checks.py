"""Rules about values: what must not be, each at its place. What is only odd is in `cautions`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec

from evictd.core.wording import without_logins
from evictd.shell.bus.address import PORT_MAX
from evictd.shell.configuration import budgets, cautions, reclaims, responders, units, workloads
from evictd.shell.configuration.defaults import OWNED, over
from evictd.shell.configuration.lines import (
    duration_remedy,
    lines_of,
    seconds_of,
)
from evictd.shell.configuration.problems import KeyPath, Note, Place, Problem, meant, nearest
from evictd.shell.configuration.profiles import profile_of
from evictd.shell.kernel_text import number
from evictd_schemas.configuration import Configuration, NodeSettings
from evictd_schemas.sources import Sources
from evictd_schemas.topics import segment_problem

NODES_MAX = 1000
"""Entries of `nodes`; each is compiled once a node."""
PATHS = frozenset(
    {"procPath", "cgroupPath", "cgroup", "nodefs", "imagefs", "containerfs", "socket", "parent"}
)
"""Keys of `sources` whose values are absolute paths."""
ENFORCED = (
    "none",
    "pods",
    "system-reserved",
    "kube-reserved",
    "system-reserved-compressible",
    "kube-reserved-compressible",
)
"""Words of `enforceNodeAllocatable`, of which only `pods` means something to evictions."""
NOWHERE = Place(source="defaults")


@dataclass
class Findings:
    """What a check found. Errors refuse the configuration, warnings are printed."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


def check(configuration: Configuration, places: Mapping[KeyPath, Place]) -> Findings:
    """All rules over a configuration whose types are right."""
    return Findings(
        errors=[placed(note, places) for note in _errors(configuration)],
        warnings=[placed(note, places) for note in _warnings(configuration)],
    )


def placed(note: Note, places: Mapping[KeyPath, Place]) -> Problem:
    """At the nearest place that was written: the value's own, else that of what holds it."""
    path, text = note
    return Problem(place=nearest(places, path) or NOWHERE, path=path, text=text)


def _scopes(configuration: Configuration) -> Iterator[tuple[KeyPath, NodeSettings]]:
    """The top level, then each entry of `nodes` with what it takes from the top level."""
    yield (), configuration
    for index, entry in enumerate(configuration.nodes):
        yield ("nodes", index), over(entry, configuration)


def _errors(configuration: Configuration) -> Iterator[Note]:
    yield from _broker(configuration.broker)
    yield from _names(configuration)
    yield from _sources(configuration.sources)
    yield from budgets.problems(configuration)
    yield from responders.problems(configuration)
    yield from reclaims.problems(configuration)
    for base, settings in _scopes(configuration):
        for path, text in _node(settings):
            yield given_at(configuration, base, path), text
    yield from workloads.problems(configuration)


def _warnings(configuration: Configuration) -> Iterator[Note]:
    yield from cautions.of_default_lines(configuration)
    yield from budgets.cautions(configuration)
    yield from workloads.cautions(configuration)
    yield from reclaims.cautions(configuration)
    for base, settings in _scopes(configuration):
        for path, text in cautions.of_node(settings):
            yield given_at(configuration, base, path), text
    yield from cautions.of_process(configuration)


def given_at(configuration: Configuration, base: KeyPath, path: KeyPath) -> KeyPath:
    """Where a setting of a scope was written: in its entry, or at the top level."""
    if not base:
        return path
    entry = msgspec.to_builtins(configuration.nodes[int(base[1])])
    return (*base, *path) if path[0] in entry else path


def _names(configuration: Configuration) -> Iterator[Note]:
    node = configuration.node
    if node is not None and (problem := segment_problem(node)) is not None:
        yield ("node",), f"{node!r} cannot be a level of a topic: {problem}"
    if len(configuration.nodes) > NODES_MAX:
        yield ("nodes",), f"more than {NODES_MAX} entries; patterns cover many nodes at once"
    for index, pattern in enumerate(configuration.serve or ()):
        if not pattern:
            yield ("serve", index), "an empty pattern matches nothing"


def _sources(sources: Sources) -> Iterator[Note]:
    if sources.interval_seconds <= 0:
        yield ("sources", "intervalSeconds"), "must be greater than 0"
    if not 0 < sources.minimum_interval_seconds <= sources.interval_seconds:
        text = "must be greater than 0 and not above intervalSeconds"
        yield ("sources", "minimumIntervalSeconds"), text
    yield from units.problems(sources.runtimes.systemd)
    for path, text in _leaves(("sources",), msgspec.to_builtins(sources)):
        if path[-1] in PATHS and not text.startswith("/"):
            yield path, f"{text!r} is no absolute path"


def _leaves(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves((*path, name), inner)
    else:
        yield path, value


def _node(settings: NodeSettings) -> Iterator[Note]:
    yield from lines_of(settings).problems
    period = settings.eviction_pressure_transition_period
    if period is not None:
        seconds = seconds_of(period)
        if seconds is None:
            yield (
                ("evictionPressureTransitionPeriod",),
                f"{period!r} is no duration{duration_remedy(period)}",
            )
        elif seconds < 0:
            yield ("evictionPressureTransitionPeriod",), "must not be negative"
    yield from _figures(settings)
    for index, word in enumerate(settings.enforce_node_allocatable or ()):
        if word not in ENFORCED:
            text = f"{word!r} is none of {', '.join(ENFORCED)}{meant(word, ENFORCED)}"
            yield ("enforceNodeAllocatable", index), text
    for index, requester in enumerate(settings.hard_requesters or ()):
        domain, _, key = requester.partition("/")
        if segment_problem(domain) or segment_problem(key):
            yield (
                ("hardRequesters", index),
                f"{requester!r} is no requester; one is named like acme.io/mover",
            )


def _figures(settings: NodeSettings) -> Iterator[Note]:
    profile = profile_of(settings)
    maximum = settings.eviction_max_pod_grace_period or 0
    if maximum < 0 and not profile.switches.negative_soft_cap_is_own:
        text = f"must not be negative in profile {profile.defaults.profile}"
        yield ("evictionMaxPodGracePeriod",), text
    if (settings.eviction_hard_grace_period or 0) < 0:
        yield ("evictionHardGracePeriod",), "must not be negative"
    if (settings.settle_seconds or 0) < 0:
        yield ("settleSeconds",), "must not be negative"


def _broker(broker: str | None) -> Iterator[Note]:
    if broker is None:
        return
    word, _, port = broker.partition(":")
    if word == OWNED:
        if port and not _is_port(port):
            yield ("broker",), f"{port!r} is no port; did you mean owned:1883?"
        return
    if (text := _address_problem(broker)) is not None:
        yield ("broker",), text


def _address_problem(broker: str) -> str | None:
    shown = without_logins(broker)
    if "://" not in broker:
        return f"{broker!r} is no address; did you mean mqtt://{broker}?"
    try:
        parts = urlsplit(broker)
        port = parts.port
    except ValueError:
        return f"{shown!r} has no port that can be; one is written like mqtt://host:1883"
    if parts.scheme not in ("mqtt", "mqtts"):
        return f"{parts.scheme!r} is no protocol of ours; did you mean mqtt?"
    if not parts.hostname or port == 0 or parts.path not in ("", "/"):
        return f"{shown!r} names no broker; one is written like mqtt://host:1883"
    return None


def _is_port(text: str) -> bool:
    return bool(number(text, PORT_MAX))
