"""Stalls of memory (PSI): offered, readable, of which scope, and how soon the kernel tells."""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem

ON = "psi=1"
WITHOUT = "the line on stalls is never met: a machine that thrashes with memory left is seen late"


class StallFacts(Struct, frozen=True, kw_only=True):
    """The pressure file of memory. `error`: why it cannot be read.

    `private_memory`: meminfo is not the machine's (lxcfs), while the pressure file always is.
    `group`: the configured group whose figures are used instead. `trigger_seconds`: the shortest
    window in which the kernel wakes us; None where it grants none.
    """

    place: str
    exists: bool = False
    error: str | None = None
    boot_word: str | None = None
    private_memory: bool = False
    group: str | None = None
    trigger_seconds: float | None = None


def findings(facts: StallFacts) -> Iterator[Finding]:
    """Whether stalls are seen, and how soon."""
    if not facts.exists or facts.error is not None:
        yield _absent(facts)
        return
    if facts.private_memory and facts.group is None:
        yield note(
            "stalls",
            f"{facts.place} is the whole machine's, and the memory figures are this container's",
            means=f"they are not used together: {WITHOUT}",
            remedy="run evictd on the machine itself, or name this container's group as "
            "sources.memory.cgroup",
        )
        return
    scope = "the whole machine's" if facts.group is None else f"those of the group {facts.group}"
    yield ok("stalls", f"are told in {facts.place}; they are {scope}")
    yield _trigger(facts)


def _absent(facts: StallFacts) -> Finding:
    words = f" ({facts.boot_word} is among the boot words)" if facts.boot_word else ""
    reason = "is not there" if not facts.exists else f"cannot be read: {facts.error}"
    kernel = "the kernel must be 4.20 or later, built with CONFIG_PSI"
    remedy = f"add `{ON}` to the kernel's boot words and restart the machine; {kernel}"
    return problem(
        "stalls",
        f"{facts.place} {reason}{words}",
        means=WITHOUT,
        remedy=f"{kernel}; in a container, mount its /proc" if facts.boot_word == ON else remedy,
    )


def _trigger(facts: StallFacts) -> Finding:
    seconds = facts.trigger_seconds
    if seconds is None:
        return note(
            "stall trigger",
            "the kernel does not wake this user at a stall",
            means="a stall is seen at the next look",
            remedy="run evictd as root, with CAP_SYS_RESOURCE, or with a kernel of 6.5 or later",
        )
    if seconds >= 2:
        return note(
            "stall trigger",
            f"granted with windows of {seconds:g} s only",
            means="a stall is told up to two seconds late",
            remedy="give evictd CAP_SYS_RESOURCE (deploy/evictd.service does)",
        )
    return ok("stall trigger", f"the kernel tells a stall within {seconds:g} s")
