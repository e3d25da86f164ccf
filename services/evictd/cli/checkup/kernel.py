"""The kernel: cgroups and what they account, and settings that make a shortage worse."""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem

BOOT_FILES = ("/boot/firmware/cmdline.txt", "/boot/cmdline.txt")
"""Where a Raspberry Pi keeps its boot words, the place of today first."""
MEMORY_WORDS = "cgroup_enable=memory cgroup_memory=1"
"""What kernels of a Raspberry Pi want at boot, new and old ones."""
PIDS_FEW = 32_768
"""The kernel's default on a small machine; one container with threads can use it up."""


class ThreadBudget(Struct, frozen=True, kw_only=True):
    """A group of many workloads in which only so many threads may run, smaller than the machine's.

    `watched`: by the configuration.
    """

    group: str
    threads: int
    watched: bool = False


class CgroupFacts(Struct, frozen=True, kw_only=True):
    """`version`: `v1`, `hybrid`, `v2` or none mounted. None elsewhere: could not be found out.

    `root`: where control groups are mounted. `machine_root`: it is the machine's and not a
    container's own. `boot_file`: the file with the boot words, where this machine has one.
    `watches`: whoever is asked here is one who looks at the machine. `thread_budgets`: those of the
    groups right below the root.
    """

    version: str | None = None
    root: str = "/sys/fs/cgroup"
    machine_root: bool = True
    memory: bool = False
    pids: bool = False
    swap: bool | None = None
    swap_total: int = 0
    boot_words: tuple[str, ...] = ()
    boot_file: str | None = None
    model: str = ""
    watches: bool = True
    thread_budgets: tuple[ThreadBudget, ...] = ()


class Sysctls(Struct, frozen=True, kw_only=True):
    """None: could not be read."""

    panic_on_oom: int | None = None
    overcommit_memory: int | None = None
    oom_kill_allocating_task: int | None = None
    pid_max: int | None = None


def cgroup_findings(facts: CgroupFacts) -> Iterator[Finding]:
    """Version, controllers, swap accounting."""
    if facts.version is None:
        yield problem(
            "cgroups",
            f"none are mounted at {facts.root}",
            means="what a workload uses cannot be measured",
            remedy="mount them, or name the place as sources.cgroupPath; in a container mount the "
            "machine's /sys/fs/cgroup",
        )
        return
    yield ok("cgroups", f"{facts.version} at {facts.root}")
    if not facts.machine_root and not facts.watches:
        yield note(
            "cgroup scope",
            "this container does not look at the machine",
            remedy="ask where the collector is: docker compose exec collector evictd doctor",
        )
    elif not facts.machine_root:
        yield problem(
            "cgroup scope",
            f"{facts.root} shows this container's own groups only",
            means="no other workload can be measured",
            remedy="mount the machine's: -v /sys/fs/cgroup:/host/cgroup:ro and "
            "sources.cgroupPath: /host/cgroup (and /proc the same way)",
        )
    yield _memory(facts)
    if not facts.pids:
        yield problem(
            "pids cgroup",
            "is off",
            means="who has used up the process ids cannot be told",
            remedy=_boot_remedy(facts, "cgroup_enable=pids"),
        )
    yield from _swap(facts)
    yield from map(_budget, facts.thread_budgets)


def _budget(budget: ThreadBudget) -> Finding:
    """One that is used up first looks like a machine with room. [field case G4]"""
    check, text = "pids budget", f"{budget.group} may have {budget.threads} threads in all"
    if budget.watched:
        return ok(check, f"{text}, and is watched")
    return note(
        check,
        text,
        means="what runs below it cannot start threads any more while the machine still has room, "
        "and nobody sees that",
        remedy=f"sources: {{pids: {{cgroup: {budget.group}}}}}",
    )


def _memory(facts: CgroupFacts) -> Finding:
    if facts.memory:
        return ok("memory cgroup", "is on")
    off = next((word for word in facts.boot_words if word == "cgroup_disable=memory"), None)
    cause = f": {off} is among the boot words" if off else ""
    return problem(
        "memory cgroup",
        f"is off{cause}",
        means="what a workload uses is estimated from its processes, and limits do nothing",
        remedy=_boot_remedy(facts, MEMORY_WORDS),
    )


def _boot_remedy(facts: CgroupFacts, words: str) -> str:
    if facts.boot_file is not None or "raspberry" in facts.model.lower():
        file = facts.boot_file or BOOT_FILES[0]
        return f"add `{words}` at the end of the one line of {file}, and restart the machine"
    return f"add `{words}` to the kernel's boot words (GRUB_CMDLINE_LINUX), and restart the machine"


def _swap(facts: CgroupFacts) -> Iterator[Finding]:
    if facts.swap is False and facts.swap_total:
        yield note(
            "swap accounting",
            "is off",
            means="what a workload has swapped out does not count in its rank",
            remedy=_boot_remedy(facts, "swapaccount=1"),
        )


def sysctl_findings(facts: Sysctls) -> Iterator[Finding]:
    """Settings that decide before evictd can. [field case L8]"""
    found = [*_sysctls(facts)]
    known = [value for value in (facts.panic_on_oom, facts.pid_max) if value is not None]
    if not found and known:
        found = [ok("sysctls", "none that makes a shortage worse")]
    elif not known:
        found.append(note("sysctls", "cannot be read here"))
    yield from found


def _sysctls(facts: Sysctls) -> Iterator[Finding]:
    if facts.panic_on_oom:
        yield problem(
            "vm.panic_on_oom",
            f"is {facts.panic_on_oom}",
            means="the machine stops at the first shortage that evictd does not see coming"
            + (", even at a container's own limit" if facts.panic_on_oom == 2 else ""),
            remedy="sysctl vm.panic_on_oom=0, and in /etc/sysctl.d for the next boot",
        )
    if facts.overcommit_memory == 2:
        yield note(
            "vm.overcommit_memory",
            "is 2",
            means="programs are refused memory while much of it is free, so that a line below is "
            "never reached",
            remedy="sysctl vm.overcommit_memory=0 unless this is on purpose",
        )
    if facts.oom_kill_allocating_task:
        yield note(
            "vm.oom_kill_allocating_task",
            "is 1",
            means="the kernel kills whoever asks for memory last, whatever its oom_score_adj",
            remedy="sysctl vm.oom_kill_allocating_task=0",
        )
    if facts.pid_max is not None and facts.pid_max < PIDS_FEW:
        yield note(
            "kernel.pid_max",
            f"is {facts.pid_max}",
            means="one container with many threads can use it up",
            remedy=f"sysctl kernel.pid_max={4 * PIDS_FEW}",
        )
