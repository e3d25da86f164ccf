"""What the containers here give away: mistakes of their owners, healers, a second evictd.

A label that was given as a variable of the environment does nothing, and nobody is told.
[field cases B20, I7]
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem
from evictd.runtimes.docker.labels import KNOWN
from evictd.runtimes.docker.naming import PROJECT
from evictd.runtimes.docker.rights import Container, Sight, environment

HEALERS: Mapping[str, tuple[str, str]] = {
    "autoheal": (
        "restarts containers that are unhealthy",
        "evictd.protect=true on what must not be stopped, or leave the healing to evictd's restore",
    ),
    "watchtower": (
        "makes containers anew at an update, and may start stopped ones",
        "leave WATCHTOWER_REVIVE_STOPPED and WATCHTOWER_INCLUDE_STOPPED off",
    ),
    "ouroboros": (
        "makes containers anew at an update",
        "let it update at hours of little load",
    ),
}
"""What an image's name gives away: what it does to a stopped container, and what to do about it."""
REVIVING = ("WATCHTOWER_REVIVE_STOPPED", "WATCHTOWER_INCLUDE_STOPPED")
LABEL_VARIABLES = frozenset(re.sub(r"[.-]", "_", name).upper() for name in KNOWN)
"""Labels as somebody writes them who thinks that they are variables."""
EVICTD_IMAGE = re.compile(r"(^|/)evictd([:@]|$)")
DECIDING = frozenset({"up", "responder"})
"""Words of the command of whoever stops workloads."""
NAMES_MAX = 10


class Twin(Struct, frozen=True, kw_only=True):
    """A process of evictd on this machine that stops workloads, and where it keeps its state."""

    pid: int
    node: str = ""
    state_folder: str = ""
    container: str = ""


class OnBus(Struct, frozen=True, kw_only=True):
    """A live worker on the bus."""

    node: str
    worker: str
    machine: str


def label_findings(sight: Sight, problems: Sequence[str]) -> Iterator[Finding]:
    """Labels as variables, and what the runtime found out about labels."""
    found = [
        (container, name)
        for container in sight.containers
        for name, _ in environment(container)
        if _variable(name) in LABEL_VARIABLES and not _is_evictd(container)
    ]
    for container, name in found[:NAMES_MAX]:
        label = _label(name)
        yield problem(
            "labels",
            f"container {container.name.strip('/')} has the variable {name}",
            means="labels are read from labels: this one does nothing",
            remedy=f"labels: {{{label}: …}} in the Compose file, or docker run --label {label}=…",
        )
    for text in problems[:NAMES_MAX]:
        yield problem(
            "labels",
            text,
            means="what it was meant to say does not hold",
            remedy="correct it, and make the container anew",
        )
    if sight.containers_left_out:
        yield note("labels", f"{sight.containers_left_out} containers were not looked at")
    if sight.containers and not found and not problems:
        yield ok("labels", f"nothing odd at {len(sight.containers)} containers")


def _variable(name: str) -> str:
    return re.sub(r"[.-]", "_", name).upper()


def _label(name: str) -> str:
    return next(label for label in KNOWN if _variable(label) == _variable(name))


def _is_evictd(container: Container) -> bool:
    return EVICTD_IMAGE.search(container.config.image) is not None


def healer_findings(sight: Sight) -> Iterator[Finding]:
    """Who may undo what evictd does."""
    for container in sight.containers:
        image = container.config.image.lower()
        healer = next((name for name in HEALERS if name in image), None)
        if healer is None or not container.state.running:
            continue
        does, remedy = HEALERS[healer]
        variables = dict(environment(container))
        name = container.name.strip("/")
        if any(variables.get(word, "").lower() in ("true", "1") for word in REVIVING):
            yield problem(
                f"healer {healer}",
                f"container {name} starts stopped containers",
                means="what evictd has stopped comes back at once, and counts as a failed victim",
                remedy=remedy,
            )
        else:
            yield note(f"healer {healer}", f"container {name} {does}", remedy=remedy)


def twin_findings(sight: Sight, twins: Sequence[Twin]) -> Iterator[Finding]:
    """More than one evictd that stops workloads of this engine."""
    places = {_place(container): container for container in sight.containers if _stops(container)}
    processes = {twin.state_folder or str(twin.pid): twin for twin in twins if not twin.container}
    every = [f"container {one.name.strip('/')}" for one in places.values()] + [
        f"process {one.pid}" + (f" (state in {one.state_folder})" if one.state_folder else "")
        for one in processes.values()
    ]
    if len(every) > 1:
        yield problem(
            "second evictd",
            f"{len(every)} stop workloads here: {', '.join(every[:NAMES_MAX])}",
            means="each counts only what it stopped itself: a shortage costs two workloads",
            remedy="end all but one",
        )
    else:
        yield ok("second evictd", every[0] + " alone" if every else "none is running here")


def _stops(container: Container) -> bool:
    """By image and command; a container that only shows or decides may be there twice."""
    words = (*(container.config.entrypoint or ()), *(container.config.cmd or ()))
    return container.state.running and _is_evictd(container) and not DECIDING.isdisjoint(words)


def _place(container: Container) -> str:
    """Containers of one Compose project are one evictd."""
    return (container.config.labels or {}).get(PROJECT) or container.id


def bus_findings(home: str, machine: str, every: Sequence[OnBus]) -> Iterator[Finding]:
    """The same machine under another name: two rows in the fleet, and one of them is a ghost."""
    others = sorted({one.node for one in every if one.machine == machine and one.node != home})
    if others:
        yield problem(
            "node name",
            f"this machine is on the bus as {home} and as {', '.join(others[:NAMES_MAX])}",
            means="two evictd act on one machine, or a former name was never cleared",
            remedy="give one name by EVICTD_NODE, end the other evictd, and clear its topics with "
            "an empty retained message",
        )
    elsewhere = sorted(
        {one.machine for one in every if one.node == home and one.machine not in ("", machine)}
    )
    if elsewhere:
        yield problem(
            "node name",
            f"{home} is served from another machine",
            means="evictd does not start here under this name (exit code 3)",
            remedy="give one of the two machines another name by EVICTD_NODE",
        )
    if not others and not elsewhere:
        yield ok("node name", f"{home} is this machine's alone")
