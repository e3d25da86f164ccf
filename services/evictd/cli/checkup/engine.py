"""The engine: can it be reached, what does it or its proxy let us do, what can its kernel do.

`:ro` on a mounted socket protects nothing. [field case L4]
"""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.endpoints import UNTRIED, right
from evictd.cli.checkup.findings import Finding, note, ok, problem
from evictd.runtimes.docker.rights import Answer, Sight

SLOW_SECONDS = 1.0
"""A list that takes longer delays what is seen of the workloads."""
IMAGES_MANY = 100
"""More than anybody runs on one machine; those without a container are space to be had."""


class SocketFacts(Struct, frozen=True, kw_only=True):
    """The engine's socket as a file. `usable`: this user may write to it."""

    path: str
    exists: bool = False
    usable: bool = False
    group: str = ""


class EngineFacts(Struct, frozen=True, kw_only=True):
    """What is known before the engine is asked, and its answers in `sight`.

    `address` None: no engine is looked at. `wanted`: the configuration says that there is one;
    `named`: `DOCKER_HOST` names it. `images`, `containers`: unused images and dead containers are
    removed here. `user`: who asks; `stops`: who asks may have to stop workloads. `acts`: the mode
    is act, so that a refused stop is more than a remark.
    """

    address: str | None = None
    wanted: bool = False
    named: bool = False
    images: bool = False
    containers: bool = False
    socket: SocketFacts | None = None
    sight: Sight = Sight()
    user: str = ""
    acts: bool = False
    stops: bool = True


def findings(facts: EngineFacts) -> Iterator[Finding]:
    """Everything about the engine, the socket first."""
    if facts.address is None:
        yield from _without(facts)
        return
    first = facts.sight.answers[0] if facts.sight.answers else Answer(endpoint="GET /version")
    if first.status is None:
        yield _unreachable(facts, first)
        return
    yield _greeting(facts)
    for answer in facts.sight.answers:
        yield right(answer, acts=facts.acts, stops=facts.stops, images=facts.images)
    if facts.socket is None and facts.stops:
        yield UNTRIED
    yield from _slow(facts.sight)


def _without(facts: EngineFacts) -> Iterator[Finding]:
    place = "sources.runtimes.docker.socket"
    if facts.wanted:
        yield problem(
            "engine",
            "is configured, and there is no socket",
            means="no container is seen or stopped",
            remedy=f"start the engine, or give its socket as {place} or by DOCKER_HOST",
        )
        return
    where = "" if facts.socket is None else f" at {facts.socket.path}"
    yield note(
        "engine",
        f"none here{where}: containers are neither seen nor stopped",
        remedy=f"where there is one, give its socket as {place} or by DOCKER_HOST",
    )


def _unreachable(facts: EngineFacts, answer: Answer) -> Finding:
    """Which of the usual reasons it is."""
    socket, means = facts.socket, "no container is seen or stopped"
    if socket is not None and not socket.exists:
        return problem(
            "engine",
            f"{socket.path} is not there",
            means=means,
            remedy="start the engine"
            + ("; DOCKER_HOST names this socket" if facts.named else "")
            + "; in a container, mount the socket",
        )
    if socket is not None and not socket.usable:
        group = socket.group or "docker"
        return problem(
            "engine",
            f"{facts.user or 'this user'} may not use {socket.path}",
            means=means,
            remedy=f"run evictd as root, or make its user a member of the group {group} "
            f"(`usermod -aG {group} USER`, then log in again); whoever may use it is like root",
        )
    hint = "DOCKER_HOST names it; " if facts.named else ""
    return problem(
        "engine",
        f"{facts.address} does not answer: {answer.why or 'no reason given'}",
        means=means,
        remedy=f"{hint}see whether the engine or the proxy before it runs, and whether it hangs",
    )


def is_podman(sight: Sight) -> bool:
    """Podman says so among its components."""
    version = sight.version
    components = () if version is None else version.components or ()
    return any("podman" in component.name.lower() for component in components)


def _greeting(facts: EngineFacts) -> Finding:
    sight = facts.sight
    version = "" if sight.version is None else sight.version.version
    if is_podman(sight):
        return note(
            "engine",
            f"Podman {version} at {facts.address}",
            means="containers of a systemd unit or Quadlet are systemd's, and those of another "
            "user's Podman are not seen",
        )
    return ok("engine", f"Docker {version} at {facts.address}")


def _slow(sight: Sight) -> Iterator[Finding]:
    for answer in sight.answers:
        if answer.status is not None and answer.seconds > SLOW_SECONDS:
            yield note(
                "engine speed",
                f"{answer.endpoint} took {answer.seconds:g} s",
                means="workloads are seen late; memory is looked at without the engine",
            )


def kernel_findings(sight: Sight) -> Iterator[Finding]:
    """What the engine says about its kernel, whatever the socket allows."""
    found = sight.information
    if found is None:
        return
    if found.memory_limit is False:
        yield problem(
            "engine memory",
            "the engine says that the kernel keeps no account of memory (MemoryLimit false)",
            means="what a container uses is estimated from its processes, and limits do nothing",
            remedy="enable the memory cgroup at boot; see the line `memory cgroup`",
        )
    elif found.memory_limit:
        yield ok("engine memory", "memory of containers is accounted")
    if found.pids_limit is False:
        yield note(
            "engine pids",
            "the kernel keeps no account of processes",
            means="nobody can be ranked by process ids",
            remedy="enable the pids cgroup (`cgroup_enable=pids` at boot on older kernels)",
        )
    if found.swap_limit is False:
        yield note(
            "engine swap",
            "swap of containers is not accounted",
            means="what a container has swapped out does not count in its rank",
            remedy="swapaccount=1 at boot, on cgroup v1",
        )
    if found.images > max(IMAGES_MANY, 5 * found.containers):
        yield note(
            "engine images",
            f"{found.images} images for {found.containers} containers",
            means="images are the cheapest space to be had when the disk runs short",
            remedy="`docker image prune --all --filter until=168h` by hand, or let evictd do it",
        )
