"""No file of the kernel ends a collector: a reader gives figures that may travel, or a `HostError`
that says which file it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.damage import damages, ruins

from evictd.collector.sources import (
    filesystems,
    kills,
    memory,
    pids,
    pressure,
    storage,
    workloads,
)
from evictd.core.errors import HostError
from evictd.core.observations import problems
from evictd.runtimes import Whereabouts, Workload
from evictd.runtimes.hierarchies import locate
from evictd_schemas import Observation, Pod, SignalReading

if TYPE_CHECKING:
    from tests.services.collector.conftest import Host, SaidRuntime, Stage

NODE = "edge"
TIME = datetime(2026, 11, 30, tzinfo=UTC)
UID = "5f0c2f5e-7a57-4d8e-9a51-3d2c1b0a9f8e"
MOUNTS = (
    "21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"
    "30 21 0:26 / /proc rw,nosuid shared:12 - proc proc rw\n"
    "41 21 8:3 / /var/lib/my\\040data rw,relatime shared:20 - xfs /dev/sda3 rw\n"
)
STATUS = "Name:\tjob\nUmask:\t0022\nVmRSS:\t  5120 kB\nRssAnon:\t  4096 kB\nVmSwap:\t  0 kB\n"
ARCSTATS = "9 1 0x01 147 39984 1 2\nname type data\nsize 4 8589934592\nc_min 4 1073741824\n"


class Reader(Struct, frozen=True, kw_only=True):
    """What reads some files of a machine."""

    name: str
    files: tuple[str, ...]
    read: Callable[[Path], Any]


def signals(read: Callable[..., dict[str, SignalReading]], scope: str | None) -> Any:
    """A reader of signals, as the collector calls it."""

    def reading(root: Path) -> dict[str, SignalReading]:
        return read(root / "proc", locate(root / "cgroup"), scope)

    return reading


def measured(**places: Any) -> Callable[[Path], tuple[Pod, ...]]:
    """One workload; `places` are folders below the machine's, and a process."""

    def reading(root: Path) -> tuple[Pod, ...]:
        where = {
            name: str(root / place) if isinstance(place, str) else place
            for name, place in places.items()
        }
        pod = Pod(namespace="shop", name="web", uid=UID, runtime="said")
        workload = Workload(pod=pod, whereabouts=Whereabouts(**where))
        return tuple(look.pod for look in workloads.measure((workload,), root / "proc"))

    return reading


def mounted(root: Path) -> dict[str, str]:
    return filesystems.mounted_devices(
        {"nodefs": "/", "imagefs": "/var/lib/my data"}, root / "proc"
    )


READERS = (
    Reader(
        name="memory",
        files=(
            "proc/meminfo",
            "proc/self/mountinfo",
            "proc/spl/kstat/zfs/arcstats",
            "proc/sys/vm/min_free_kbytes",
            "cgroup/memory.stat",
            "cgroup/cgroup.controllers",
        ),
        read=signals(memory.read, None),
    ),
    Reader(
        name="memory of a group",
        files=tuple(
            f"cgroup/pods/{name}"
            for name in ("memory.stat", "memory.current", "memory.max", "memory.swap.max")
        ),
        read=signals(memory.read, "/pods"),
    ),
    Reader(
        name="memory of a group of the first version",
        files=tuple(
            f"first/memory/pods/{name}"
            for name in ("memory.stat", "memory.usage_in_bytes", "memory.limit_in_bytes")
        ),
        read=lambda root: memory.read(root / "proc", locate(root / "first"), "/pods"),
    ),
    Reader(
        name="process ids",
        files=("proc/loadavg", "proc/sys/kernel/pid_max", "proc/sys/kernel/threads-max"),
        read=signals(pids.read, None),
    ),
    Reader(
        name="process ids of a group",
        files=("cgroup/pods/pids.current", "cgroup/pods/pids.max"),
        read=signals(pids.read, "/pods"),
    ),
    Reader(
        name="stalls",
        files=("proc/pressure/memory", "proc/pressure/io", "proc/self/mountinfo"),
        read=signals(pressure.read, None),
    ),
    Reader(
        name="kernel kills",
        files=("proc/vmstat",),
        read=lambda root: kills.machine_count(root / "proc"),
    ),
    Reader(name="mounts", files=("proc/self/mountinfo",), read=mounted),
    Reader(
        name="file system",
        files=("proc/self/mountinfo",),
        read=lambda root: filesystems.signals("nodefs", filesystems.read(str(root), root / "proc")),
    ),
    Reader(
        name="workload in a group",
        files=tuple(
            f"cgroup/pods/{name}"
            for name in ("memory.stat", "memory.current", "memory.events", "pids.current")
        ),
        read=measured(
            memory_cgroup="cgroup/pods", pids_cgroup="cgroup/pods", unified_cgroup="cgroup/pods"
        ),
    ),
    Reader(
        name="workload without an account",
        files=("bare/cgroup.procs", "proc/7/status"),
        read=measured(memory_cgroup="bare", main_process_id=7),
    ),
    Reader(
        name="workload without a group",
        files=("proc/7/task/7/children", "proc/8/status"),
        read=measured(main_process_id=7),
    ),
)


@pytest.fixture
def machine(host: Host) -> Host:
    """Everything that any reader asks for."""
    host.fixture("proc/meminfo", "meminfo", "huge-pages-of-two-sizes.txt")
    host.write("proc/self/mountinfo", MOUNTS)
    host.write("proc/spl/kstat/zfs/arcstats", ARCSTATS)
    host.write("proc/sys/vm/min_free_kbytes", "67584\n")
    host.write("proc/7/task/7/children", "8 \n")
    for process in (7, 8):
        host.write(f"proc/{process}/status", STATUS)
    host.group("pods", usage_mib=300, inactive_mib=20)
    host.write("cgroup/pods/memory.max", "1073741824\n")
    host.write("cgroup/pods/memory.swap.max", "1073741824\n")
    host.write("cgroup/pods/memory.swap.current", "4096\n")
    host.write("cgroup/pods/pids.max", "1000\n")
    host.write("bare/cgroup.procs", "7\n8\n")
    host.write("first/memory/cgroup.procs", "")
    host.fixture("first/memory/pods/memory.stat", "cgroups", "v1-mostly-cache.txt")
    host.write("first/memory/pods/memory.usage_in_bytes", "1073741824\n")
    host.write("first/memory/pods/memory.limit_in_bytes", "9223372036854771712\n")
    return host


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_damaged_file_gives_figures_that_may_travel_or_is_named(
    machine: Host, reader: Reader
) -> None:
    for name, text in _damaged_files(machine, reader):
        _check(machine, reader, name, text)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_that_is_damaged_several_times_ends_nothing_either(
    machine: Host, reader: Reader, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(reader.files))
    whole = (machine.root / name).read_text()
    try:
        _check(machine, reader, name, data.draw(ruins(whole)))
    finally:
        machine.write(name, whole)


def _damaged_files(machine: Host, reader: Reader) -> Iterator[tuple[str, str]]:
    for name in reader.files:
        whole = (machine.root / name).read_text()
        for text in damages(whole):
            yield name, text
        machine.write(name, whole)


def _check(machine: Host, reader: Reader, name: str, text: str) -> None:
    machine.write(name, text)
    told = _told(reader, machine.root)
    if isinstance(told, HostError):
        assert any(part in str(told) for part in Path(name).parts[-2:]), told
    else:
        assert _travels(told), told


def _told(reader: Reader, root: Path) -> Any:
    try:
        return reader.read(root)
    except HostError as error:
        return error


def _travels(found: Any) -> bool:
    """Whether a worker that gets it as a part of an observation accepts that."""
    match found:
        case dict() if all(isinstance(value, SignalReading) for value in found.values()):
            fields: dict[str, Any] = {"signals": found}
        case tuple():
            fields = {"signals": {}, "pods": found}
        case _:
            return True
    whole = Observation(node=NODE, time=TIME, sequence=1, **fields)
    return problems(NODE, whole, None) == ()


def test_a_file_system_that_claims_more_than_there_can_be_is_named(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would take an observation with its figures, and the others' would go with it."""
    truly = os.statvfs(host.root)
    claims = SimpleNamespace(f_blocks=2**63, f_frsize=4096, f_bavail=5, f_ffree=5, f_files=9)
    monkeypatch.setattr(os, "statvfs", lambda _: claims)
    with pytest.raises(HostError, match=f"^{host.root} is on a file system that claims "):
        filesystems.read(str(host.root), host.proc)
    claims.f_blocks, claims.f_frsize = truly.f_blocks, truly.f_frsize
    assert filesystems.read(str(host.root), host.proc).inodes == 9


PLACES = ("", "a\0b", "/no/a\0b/file", "/" + "x" * 5_000, "/dev/\udcff", "/dev/null")
"""What may stand where an engine or systemd tells where a workload is."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("field", ["memory_cgroup", "pids_cgroup", "unified_cgroup"])
def test_a_group_that_cannot_be_has_no_figures(host: Host, field: str, place: str) -> None:
    pod = Pod(namespace="shop", name="web", uid=UID, runtime="said")
    workload = Workload(pod=pod, whereabouts=Whereabouts(**{field: place}))
    (look,) = workloads.measure((workload,), host.proc)
    assert look.pod.stats is None
    assert msgspec.json.encode(look)


@pytest.mark.parametrize("place", PLACES[1:])
def test_a_layer_or_a_log_that_cannot_be_is_not_counted(place: str) -> None:
    pod = Pod(namespace="shop", name="web", uid=UID, runtime="said")
    for field in ("writable_layer", "log_file"):
        workload = Workload(pod=pod, whereabouts=Whereabouts(**{field: place}))
        counted = storage.measure(workload, TIME)
        assert counted is not None
        assert counted.layer is None


@pytest.mark.parametrize("place", ["", ".", "/", "web-json.log"])
def test_a_log_is_a_file_that_has_a_whole_name(place: str) -> None:
    """Else everything that lies in some folder would be its."""
    assert storage.log_files(Path(place), TIME) is None


@pytest.fixture
def unreadable(host: Host, request: pytest.FixtureRequest) -> None:
    """A folder in the place of a file, which nobody can read, whoever asks."""
    place = host.root / request.param
    place.unlink(missing_ok=True)
    place.mkdir(parents=True)


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("unreadable", "failing"),
    [
        ("proc/self/mountinfo", {"memory", "stalls", "mounts", "file system {root}"}),
        ("proc/sys/kernel/random/boot_id", set()),
        ("proc/vmstat", {"kernel kills"}),
        ("proc/pressure/memory", {"stalls"}),
        ("proc/loadavg", {"process ids"}),
        ("proc/meminfo", {"memory"}),
    ],
    indirect=["unreadable"],
)
@pytest.mark.usefixtures("unreadable")
async def test_a_collector_whose_file_cannot_be_read_looks_on_and_tells_it(
    host: Host, stage: Stage, failing: set[str]
) -> None:
    async with stage.running() as watcher:
        await anyio.sleep(60)
    assert len(watcher.observations) > 5
    told = stage.collector.sight.troubles()
    assert {name.split(": ")[0] for name in told} == {
        name.format(root=host.root) for name in failing
    }


@pytest.mark.looptime
@pytest.mark.parametrize("text", ["", "\n", "one\0two\n", "one\x1ctwo"])
async def test_a_boot_id_that_is_none_is_left_out(host: Host, stage: Stage, text: str) -> None:
    """With it nobody would take the observation."""
    host.write("proc/sys/kernel/random/boot_id", text)
    async with stage.running() as watcher:
        await anyio.sleep(15)
    assert watcher.last.boot_id is None


@pytest.fixture
def texts(machine: Host) -> dict[str, str]:
    """Every file of the machine."""
    names = {name for reader in READERS for name in reader.files}
    return {name: (machine.root / name).read_text() for name in sorted(names)}


@pytest.mark.looptime
@pytest.mark.parametrize("seed", range(6))
async def test_a_collector_looks_on_while_the_machine_s_files_are_damaged_again_and_again(
    machine: Host, stage: Stage, runtime: SaidRuntime, texts: dict[str, str], seed: int
) -> None:
    """What it publishes meanwhile whoever watches it would take; and then all is well again."""
    chance = Random(seed)  # noqa: S311 - examples, not secrets
    group = str(machine.root / "cgroup/pods")
    places = (
        Whereabouts(memory_cgroup=group, pids_cgroup=group, unified_cgroup=group),
        Whereabouts(memory_cgroup=str(machine.root / "bare"), main_process_id=7),
        Whereabouts(main_process_id=7),
    )
    runtime.workloads = tuple(
        Workload(
            pod=Pod(namespace="shop", name=f"w{index}", uid=f"{index}{UID[1:]}", runtime="said"),
            whereabouts=where,
        )
        for index, where in enumerate(places)
    )
    ruined = {name: damages(text) for name, text in texts.items()}
    async with stage.running() as watcher:
        for _ in range(40):
            for name in chance.sample(sorted(texts), 3):
                machine.write(name, chance.choice((texts[name], *chance.sample(ruined[name], 3))))
            await anyio.sleep(10)
        before = len(watcher.observations)
        for name, text in texts.items():
            machine.write(name, text)
        await anyio.sleep(30)
    assert before >= 40
    assert stage.collector.sight.troubles() == []
    assert watcher.last.pods_complete
    assert {pod.name for pod in watcher.last.pods or ()} == {"w0", "w1", "w2"}
    assert all(pod.stats is not None for pod in watcher.last.pods or ())
