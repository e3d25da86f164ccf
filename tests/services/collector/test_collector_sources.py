"""Stalls, process ids, file systems, kernel kills and workloads, from files."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from evictd.collector.census import Census
from evictd.collector.sources import filesystems, kills, pids, pressure, storage, workloads
from evictd.core.errors import HostError
from evictd.core.signals import disks
from evictd.runtimes import Whereabouts, Workload
from evictd.runtimes.hierarchies import locate
from evictd_schemas.sources import FileSystemSources

FIXTURES = Path(__file__).parents[2] / "fixtures"
MIB = 1 << 20
TIME = datetime(2026, 1, 1, tzinfo=UTC)
MOUNTS = (
    "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
    "40 27 8:16 / /var/lib rw - ext4 /dev/sdb rw\n"
    "41 40 0:52 /@docker /var/lib/docker rw - btrfs /dev/sdc rw\n"
    "42 40 0:52 /@layers /var/lib/layers rw - btrfs /dev/sdc rw\n"
    "43 27 8:32 / /mnt/with\\040blank rw - ext4 /dev/sdd rw\n"
)


def test_stall_signals_are_what_is_left_of_a_hundred() -> None:
    averages = pressure.parse((FIXTURES / "pressure/memory-thrashing.txt").read_text())
    assert averages == {"some": 70.24, "full": 57.59}
    assert pressure.reading(57.59).available == 42.41


def test_the_machine_s_stalls_go_with_the_machine_s_memory(host: Any) -> None:
    host.pressure(some=12.5, full=3)
    signals = pressure.read(host.proc, locate(host.cgroups), None)
    assert {name: reading.available for name, reading in signals.items()} == {
        "psi.memory.some.avg10": 87.5,
        "psi.memory.full.avg10": 97.0,
        "psi.io.full.avg10": 97.0,
    }


def test_a_private_meminfo_has_no_stalls_of_its_scope(host: Any) -> None:
    """Inside a system container `/proc/pressure` is still the host's."""
    host.write("proc/self/mountinfo", f"50 22 0:40 /m {host.proc}/meminfo rw - fuse lxcfs rw\n")
    assert pressure.read(host.proc, locate(host.cgroups), None) == {}


def test_a_group_s_stalls_go_with_the_group_s_memory(host: Any) -> None:
    host.write("cgroup/pods/memory.pressure", "some avg10=40.00 avg60=0.00 avg300=0.00 total=9\n")
    signals = pressure.read(host.proc, locate(host.cgroups), "/pods")
    assert signals["psi.memory.some.avg10"].available == 60
    assert set(signals) == {"psi.memory.some.avg10"}


def test_a_group_without_stall_figures_has_no_stall_signals(host: Any) -> None:
    assert pressure.read(host.proc, locate(host.cgroups), "/pods") == {}


@pytest.mark.parametrize("line", ["some avg60=1.00", "some avg10=oops", "some avg10=170.00", "x"])
def test_a_pressure_file_that_says_something_else_is_refused(line: str) -> None:
    with pytest.raises(HostError, match="no average"):
        pressure.parse(line)


def test_the_smaller_of_both_kernel_limits_is_the_budget(host: Any) -> None:
    """pid_max is 4194304, threads-max 30000, 29500 threads run: five hundred are left."""
    host.write("proc/loadavg", "0.10 0.20 0.30 2/29500 4711\n")
    reading = pids.read(host.proc, locate(host.cgroups), None)["pid.available"]
    assert (reading.available, reading.capacity) == (500, 30000)


def test_more_threads_than_allowed_is_none_left(host: Any) -> None:
    host.write("proc/loadavg", "0.10 0.20 0.30 2/30100 4711\n")
    assert pids.read(host.proc, locate(host.cgroups), None)["pid.available"].available == 0


@pytest.mark.parametrize(("used", "expected"), [(57, (3, 60)), (1, (29500, 30000))])
def test_of_machine_and_parent_the_one_with_less_left_counts(
    host: Any, used: int, expected: tuple[int, int]
) -> None:
    host.write("cgroup/pods/pids.max", "60\n")
    host.write("cgroup/pods/pids.current", f"{used}\n")
    reading = pids.read(host.proc, locate(host.cgroups), "/pods")["pid.available"]
    assert (reading.available, reading.capacity) == expected


def test_a_parent_without_a_limit_adds_no_budget(host: Any) -> None:
    host.write("cgroup/pods/pids.max", "max\n")
    host.write("cgroup/pods/pids.current", "57\n")
    reading = pids.read(host.proc, locate(host.cgroups), "/pods")["pid.available"]
    assert reading.capacity == 30000


def test_a_loadavg_without_threads_is_refused() -> None:
    with pytest.raises(HostError, match="loadavg"):
        pids.thread_count("0.1 0.2 0.3\n")


def test_the_deepest_mount_tells_the_device() -> None:
    """Subvolumes of one pool are one device, whatever their folders' numbers say."""
    assert filesystems.device(MOUNTS, "/home") == "254:0"
    assert filesystems.device(MOUNTS, "/var/lib/dockerish") == "8:16"
    assert filesystems.device(MOUNTS, "/var/lib/docker/images") == "0:52"
    assert filesystems.device(MOUNTS, "/var/lib/layers") == "0:52"
    assert filesystems.device(MOUNTS, "/mnt/with blank/x") == "8:32"
    assert filesystems.device("", "/") is None


def test_the_last_of_two_mounts_on_one_place_counts() -> None:
    over = MOUNTS + "60 27 0:99 / /var/lib rw - tmpfs tmpfs rw\n"
    assert filesystems.device(over, "/var/lib/x") == "0:99"


@pytest.mark.parametrize(
    ("imagefs", "containerfs", "dedicated"),
    [("a", "a", (False, False)), ("b", "b", (True, False)), ("b", "a", (True, True))],
)
def test_the_layout_follows_from_devices(
    imagefs: str, containerfs: str, dedicated: tuple[bool, bool]
) -> None:
    devices = {"nodefs": "a", "imagefs": imagefs, "containerfs": containerfs}
    layout = filesystems.layout(devices)
    assert (layout.dedicated_image_fs, layout.dedicated_container_fs) == dedicated
    assert layout.error is None


def test_a_layout_that_is_not_known_yet_says_so() -> None:
    assert filesystems.layout({"nodefs": "a"}).error == "no answer from imagefs, containerfs yet"


def test_images_are_on_nodefs_and_layers_with_the_images_unless_said_otherwise() -> None:
    assert set(disks.places(FileSystemSources()).values()) == {"/"}
    places = disks.places(FileSystemSources(imagefs="/images"))
    assert (places["nodefs"], places["containerfs"]) == ("/", "/images")


def test_a_file_system_without_numbered_inodes_has_no_inode_signal() -> None:
    system = filesystems.FileSystem(
        device="1:1", available_bytes=5, capacity_bytes=9, inodes_free=0, inodes=0
    )
    assert set(filesystems.signals("imagefs", system)) == {"imagefs.available"}


def test_a_folder_that_is_missing_is_said_by_name(host: Any) -> None:
    with pytest.raises(HostError, match="/nowhere: No such file"):
        filesystems.read("/nowhere", host.proc)


def test_kernel_kills_are_counted_on_both_versions(host: Any) -> None:
    host.kills(7)
    assert kills.machine_count(host.proc) == 7
    assert kills.group_count(host.group("web", usage_mib=1, kills=2)) == 2
    host.write("v1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    assert kills.group_count(host.root / "v1") == 3
    assert kills.group_count(host.root / "nowhere") is None


def test_an_old_kernel_counts_no_kills(host: Any) -> None:
    host.write("proc/vmstat", "nr_free_pages 1\n")
    assert kills.machine_count(host.proc) is None


def test_a_workload_is_measured_in_its_group(host: Any, workload: Callable[..., Workload]) -> None:
    web = workload("web", host.group("web", usage_mib=100, inactive_mib=40))
    (look,) = workloads.measure([web], host.proc)
    assert look.pod.stats is not None
    assert look.pod.stats.memory is not None
    assert look.pod.stats.memory.usage_bytes == 100 * MIB
    assert look.pod.stats.memory.working_set_bytes == 60 * MIB
    assert look.pod.stats.process_stats is not None
    assert look.pod.stats.process_stats.process_count == 3
    assert look.pod.stats.containers[0].memory == look.pod.stats.memory


def test_on_a_hybrid_machine_each_figure_is_read_where_it_is(
    host: Any, workload: Callable[..., Workload]
) -> None:
    """Memory, kills and process ids from v1; the v2 group of the same path has none of them."""
    host.write("hybrid/memory/web/memory.usage_in_bytes", f"{100 * MIB}\n")
    statistics = f"total_rss {9 * MIB}\ntotal_inactive_file {40 * MIB}\n"
    host.write("hybrid/memory/web/memory.stat", statistics)
    host.write("hybrid/memory/web/memory.oom_control", "oom_kill_disable 0\noom_kill 2\n")
    host.write("hybrid/pids/web/pids.current", "3\n")
    host.write("hybrid/unified/web/cgroup.procs", "11\n")
    places = {
        f"{name}_cgroup": str(host.root / "hybrid" / name / "web")
        for name in ("memory", "pids", "unified")
    }
    web = structs.replace(workload("web"), whereabouts=Whereabouts(**places))
    (look,) = workloads.measure([web], host.proc)
    assert look.pod.stats is not None
    assert look.pod.stats.memory is not None
    assert look.pod.stats.memory.working_set_bytes == 60 * MIB
    assert look.pod.stats.memory.rss_bytes == 9 * MIB
    assert not look.pod.stats.memory.estimated
    assert look.pod.stats.process_stats is not None
    assert look.pod.stats.process_stats.process_count == 3
    assert look.kill_count == 2


def test_without_accounting_the_processes_are_summed_and_that_is_said(
    host: Any, workload: Callable[..., Workload]
) -> None:
    host.write("cgroup/web/cgroup.procs", "11\n")
    host.write("cgroup/web/inner/cgroup.procs", "12\n13\n")
    for process in (11, 12):  # 13 has ended meanwhile
        host.write(f"proc/{process}/status", "Name:\tx\nRssAnon:\t1024 kB\nVmSwap:\t512 kB\n")
    status = host.proc / "12" / "status"
    status.write_bytes(status.read_bytes().replace(b"x", b"\xc3"))  # a name that was cut short
    (look,) = workloads.measure([workload("web", host.cgroups / "web")], host.proc)
    assert look.pod.stats is not None
    assert look.pod.stats.memory is not None
    assert look.pod.stats.memory.estimated
    assert look.pod.stats.memory.rss_bytes == 2 * MIB
    assert look.pod.stats.memory.swap_bytes == MIB
    assert look.pod.stats.process_stats is not None
    assert look.pod.stats.process_stats.process_count == 3


def test_without_a_group_of_its_own_a_workload_is_its_process_and_all_that_it_started(
    host: Any, workload: Callable[..., Workload]
) -> None:
    """As with an engine without root on cgroup v1; each thread has children of its own."""
    for process in (11, 12, 13, 14):
        host.write(f"proc/{process}/status", "Name:\tx\nRssAnon:\t1024 kB\n")
    host.write("proc/11/task/11/children", "12 ")
    host.write("proc/11/task/15/children", "13 ")
    host.write("proc/13/task/13/children", "14 ")
    (look,) = workloads.measure([workload("web", main_process_id=11)], host.proc)
    assert look.pod.stats is not None
    assert look.pod.stats.memory is not None
    assert look.pod.stats.memory.estimated
    assert look.pod.stats.memory.rss_bytes == 4 * MIB
    assert look.pod.stats.process_stats is not None
    assert look.pod.stats.process_stats.process_count == 4


def test_a_writable_layer_is_counted_with_its_folders(tmp_path: Path) -> None:
    """Names of one file are one inode, links are not followed, a vanished folder is nothing."""
    layer = tmp_path / "layer"
    (layer / "deep").mkdir(parents=True)
    (layer / "deep" / "data").write_bytes(b"x" * 100_000)
    (layer / "again").hardlink_to(layer / "deep" / "data")
    (layer / "out").symlink_to("/")
    counted = storage.tree(layer, TIME)
    assert counted is not None
    assert counted.time == TIME
    assert counted.inodes_used == 3
    assert 100_000 <= (counted.used_bytes or 0) < 120_000


def test_a_layer_beyond_the_bound_has_no_figure(
    tmp_path: Path, workload: Callable[..., Workload], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "ENTRIES_MAX", 2)
    for number in range(3):
        (tmp_path / str(number)).touch()
    big = workload("big", writable_layer=str(tmp_path))
    occupied = storage.measure(big, TIME)
    assert occupied is not None
    assert occupied.layer is None
    assert "shop/big has over 2 entries" in (occupied.problem or "")


def test_a_log_counts_with_its_rotated_predecessors(
    tmp_path: Path, workload: Callable[..., Workload]
) -> None:
    for name in ("web-json.log", "web-json.log.1", "other.log"):
        (tmp_path / name).write_bytes(b"x" * 8192)
    web = workload("web", log_file=str(tmp_path / "web-json.log"))
    pod = storage.with_storage(web.pod, Census(10).round([web], TIME))
    assert pod.stats is not None
    assert pod.stats.containers[0].logs is not None
    assert pod.stats.containers[0].logs.inodes_used == 2
    assert pod.stats.ephemeral_storage is not None
    assert pod.stats.ephemeral_storage.used_bytes == pod.stats.containers[0].logs.used_bytes


def test_places_that_this_view_does_not_have_are_no_figures(
    host: Any, workload: Callable[..., Workload]
) -> None:
    """A collector in a container does not see the engine's folders."""
    web = workload("web", writable_layer="/nowhere/a", log_file="/nowhere/b.log")
    assert storage.with_storage(web.pod, Census(10).round([web], TIME)) == web.pod


def test_a_workload_that_vanished_is_dropped_quietly(
    host: Any, workload: Callable[..., Workload]
) -> None:
    gone = workload("gone", host.cgroups / "gone", main_process_id=99)
    assert workloads.measure([gone], host.proc) == ()


def test_a_workload_in_an_unknown_place_stays_without_statistics(
    host: Any, workload: Callable[..., Workload]
) -> None:
    """No statistics is not zero, and a folder that this view does not have is no end."""
    host.write("proc/99/status", "Name:\tx\n")
    running = workload("running", host.cgroups / "elsewhere", main_process_id=99)
    unknown = workload("unknown")
    looks = workloads.measure([running, unknown], host.proc)
    assert [look.pod.name for look in looks] == ["running", "unknown"]
    assert looks[1].pod.stats is None


def test_one_unreadable_workload_does_not_hide_the_others(
    host: Any, workload: Callable[..., Workload]
) -> None:
    odd = workload("odd", host.group("odd", usage_mib=5))
    host.write("cgroup/odd/memory.stat", "anon lots\n")
    fine = workload("fine", host.group("fine", usage_mib=5))
    looks = workloads.measure([odd, fine], host.proc)
    assert looks[0].pod.stats is None
    assert "shop/odd has no statistics" in (looks[0].problem or "")
    assert looks[1].pod.stats is not None
