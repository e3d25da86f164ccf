"""Whether evictd, its broker and the engine outlive the shortage that evictd is to end.

[design, law 9] [field cases L12, M22]
"""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem

SAFE_SCORE = -500
"""The engine's own; what is at or below it is killed after everything that is not protected."""
KIB_PER_MIB = 1024
NAMES_MAX = 10


class Guarded(Struct, frozen=True, kw_only=True):
    """A process that must outlive a shortage. `part`: evictd, the broker, the engine.

    None: could not be read. `reserved_bytes`: memory that its group keeps (MemoryMin, MemoryLow).
    """

    part: str
    pid: int
    oom_score_adj: int | None = None
    swapped_kib: int | None = None
    locked_kib: int | None = None
    reserved_bytes: int | None = None


class GuardFacts(Struct, frozen=True, kw_only=True):
    """All of them, and whether this machine has swap. `acts`: workloads are stopped here."""

    processes: tuple[Guarded, ...] = ()
    swap_total: int = 0
    acts: bool = False


REMEDIES = {
    "evictd": "OOMScoreAdjust=-900 in the unit (deploy/evictd.service does), or "
    "EVICTD_OOM_SCORE_ADJ=-900 for Compose",
    "broker": "OOMScoreAdjust=-900 in mosquitto.service, or oomScoreAdj of its container",
    "engine": "OOMScoreAdjust=-500 in docker.service, as its package has it",
}


def findings(facts: GuardFacts) -> Iterator[Finding]:
    """One line for all processes of a part that have the same score."""
    if not any(one.part == "evictd" for one in facts.processes):
        yield note(
            "protection of evictd",
            "it is not running here, as far as can be seen",
            remedy="`evictd up`, or `docker compose up -d`",
        )
    alike: dict[tuple[str, int | None], list[Guarded]] = {}
    for one in facts.processes:
        alike.setdefault((one.part, one.oom_score_adj), []).append(one)
    for (part, score), group in alike.items():
        yield _score(part, score, _names(group), acts=facts.acts)
    for one in facts.processes:
        yield from _memory(one, facts.swap_total)


def _names(group: list[Guarded]) -> str:
    several = "es" if len(group) > 1 else ""
    shown = ", ".join(str(one.pid) for one in group[:NAMES_MAX])
    rest = len(group) - NAMES_MAX
    return f"process{several} {shown}" + (f" and {rest} more" if rest > 0 else "")


def _score(part: str, score: int | None, names: str, *, acts: bool) -> Finding:
    check = f"protection of {part}"
    if score is None:
        return note(check, f"{names}: this user cannot look at it")
    text = f"{names}: oom_score_adj is {score}"
    if score <= SAFE_SCORE:
        return ok(check, text)
    means = "the kernel may kill it before the workload that fills the memory"
    if part == "evictd" and acts:
        return problem(check, text, means=means, remedy=REMEDIES[part])
    return note(check, text, means=means, remedy=REMEDIES[part])


def _memory(one: Guarded, swap_total: int) -> Iterator[Finding]:
    """Only of evictd: pages on a disk that thrashes come back too late."""
    if one.part != "evictd" or not swap_total:
        return
    if one.reserved_bytes or one.locked_kib:
        yield ok("memory of evictd", f"process {one.pid} has memory reserved")
        return
    out = f", {one.swapped_kib // KIB_PER_MIB} MiB of it is" if one.swapped_kib else ""
    yield note(
        "memory of evictd",
        f"process {one.pid} may be swapped out{out and out + ' now'}",
        means="in a machine that thrashes its decisions come late",
        remedy="MemoryLow=128M and MemorySwapMax=0 in the unit, or memswap_limit as mem_limit in "
        "Compose",
    )
