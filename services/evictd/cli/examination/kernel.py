"""The kernel's files about cgroups, stalls, settings, and what kind of place this is."""

import os
from collections.abc import Iterator
from pathlib import Path

from evictd.cli.checkup.kernel import BOOT_FILES, CgroupFacts, Sysctls, ThreadBudget
from evictd.cli.checkup.stalls import StallFacts
from evictd.cli.checkup.surroundings import SurroundingFacts
from evictd.collector.sources import meminfo, pressure
from evictd.collector.sources.groups import is_machine_root
from evictd.collector.stalls import STALL_MICROSECONDS, WINDOWS_MICROSECONDS
from evictd.core.errors import HostError
from evictd.runtimes import hierarchies
from evictd.runtimes.hierarchies import Hierarchies, is_there, text
from evictd.shell.kernel_text import number
from evictd_schemas.sources import Sources

MARKS = (("/.dockerenv", "docker"), ("/run/.containerenv", "podman"))
"""Files that engines leave in their containers."""


def cgroups(sources: Sources, folder: Path = Path("/")) -> CgroupFacts:
    """`folder`: where the boot files are looked for."""
    root, proc = Path(sources.cgroup_path), Path(sources.proc_path)
    found = hierarchies.locate(root)
    roots = found.roots
    boot_file = next((name for name in BOOT_FILES if is_there(folder / name[1:])), None)
    return CgroupFacts(
        version=_version(root, found),
        root=str(root),
        machine_root=not roots or any(map(is_machine_root, roots)),
        memory=found.memory is not None,
        pids=found.pids is not None,
        swap=_swap_accounting(found),
        swap_total=swap_total(proc),
        boot_words=boot_words(proc),
        boot_file=boot_file,
        thread_budgets=tuple(_thread_budgets(found.pids, sources)),
        model=(text(proc / "device-tree/model") or "").strip("\0"),
    )


def _version(root: Path, found: Hierarchies) -> str | None:
    if found.unified == root:
        return "v2"
    has_v1 = any(root.glob("*/release_agent")) or found.memory is not None
    if found.unified is not None:
        return "hybrid" if has_v1 else "v2"
    return "v1" if has_v1 or found.pids is not None else None


def _swap_accounting(found: Hierarchies) -> bool | None:
    """None where no group can tell."""
    if found.memory is None:
        return None
    if found.memory != found.unified:
        return is_there(found.memory / "memory.memsw.limit_in_bytes")
    groups = [*_children(found.memory)]
    if not groups:
        return None
    return any(is_there(group / "memory.swap.max") for group in groups)


def _thread_budgets(root: Path | None, sources: Sources) -> Iterator[ThreadBudget]:
    """Of the groups right below the root, where the whole of what runs there has one of its own."""
    machine = _number(Path(sources.proc_path) / "sys/kernel/pid_max")
    for file in () if root is None else sorted(root.glob("*/pids.max")):
        threads, group = _number(file), f"/{file.parent.name}"
        if threads is not None and (machine is None or threads < machine):
            watched = (sources.pids.cgroup or "").rstrip("/") == group
            yield ThreadBudget(group=group, threads=threads, watched=watched)


def _children(group: Path) -> Iterator[Path]:
    """Groups below that have an account of memory: the root itself has no limits."""
    try:
        below = [entry for entry in group.iterdir() if is_there(entry / "memory.current")]
    except OSError:
        return
    yield from below


def boot_words(proc: Path) -> tuple[str, ...]:
    """What the kernel was started with."""
    return tuple((text(proc / "cmdline") or "").split())


def swap_total(proc: Path) -> int:
    """In bytes; 0 where there is none or it cannot be told."""
    try:
        return meminfo.parse(text(proc / "meminfo") or "").get("SwapTotal", 0)
    except HostError:
        return 0


def sysctls(proc: Path) -> Sysctls:
    """The kernel's settings."""
    return Sysctls(
        panic_on_oom=_number(proc / "sys/vm/panic_on_oom"),
        overcommit_memory=_number(proc / "sys/vm/overcommit_memory"),
        oom_kill_allocating_task=_number(proc / "sys/vm/oom_kill_allocating_task"),
        pid_max=_number(proc / "sys/kernel/pid_max"),
    )


def _number(path: Path) -> int | None:
    return number((text(path) or "").strip())


def stalls(sources: Sources) -> StallFacts:
    """The pressure file of the scope that the memory figure has, and a trigger on it on trial."""
    root, proc = Path(sources.cgroup_path), Path(sources.proc_path)
    group = sources.memory.cgroup
    place = _stall_file(proc, root, group)
    words = [word for word in boot_words(proc) if word.startswith("psi=")]
    return StallFacts(
        place=str(place),
        exists=is_there(place),
        error=_reading_error(place),
        boot_word=words[-1] if words else None,
        private_memory=private_memory(proc),
        group=group,
        trigger_seconds=trigger_seconds(place),
    )


def _stall_file(proc: Path, root: Path, group: str | None) -> Path:
    """The machine's, where it cannot be told which one counts."""
    machine = proc / "pressure/memory"
    try:
        places = pressure.pressure_files(proc, hierarchies.locate(root), group)
    except HostError:
        return machine
    return places.get("memory", machine)


def _reading_error(place: Path) -> str | None:
    try:
        hierarchies.content(place)
    except OSError as error:
        return error.strerror
    return None


def trigger_seconds(place: Path) -> float | None:
    """The shortest window that the kernel grants; the trigger ends at once with its descriptor."""
    for window in WINDOWS_MICROSECONDS:
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            os.write(descriptor, f"some {STALL_MICROSECONDS} {window}\0".encode())
        except OSError:
            continue
        else:
            return window / 1_000_000
        finally:
            os.close(descriptor)
    return None


def private_memory(proc: Path) -> bool:
    """Whether meminfo is not the machine's; where that cannot be told it is."""
    try:
        return meminfo.is_private(proc)
    except HostError:
        return False


def surroundings(sources: Sources, folder: Path = Path("/")) -> SurroundingFacts:
    """`folder`: where the marks of engines are looked for."""
    proc = Path(sources.proc_path)
    return SurroundingFacts(
        container=container(folder),
        kernel_release=(text(proc / "sys/kernel/osrelease") or "").strip(),
        private_memory=private_memory(proc),
        group=sources.memory.cgroup,
        root=os.geteuid() == 0,
    )


def container(folder: Path) -> str:
    """What kind of container this is, "" for none."""
    told = text(folder / "run/systemd/container")
    if told is not None and told.strip():
        return told.strip()
    for mark, kind in MARKS:
        if is_there(folder / mark[1:]):
            return kind
    words = (text(folder / "proc/1/environ") or "").split("\0")  # root's alone to read
    return next((word.partition("=")[2] for word in words if word.startswith("container=")), "")
