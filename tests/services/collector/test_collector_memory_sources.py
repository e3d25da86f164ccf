"""Memory figures: captured files of real machines and what they mean. [kubelet-eviction 2.2]"""

from pathlib import Path
from typing import Any

import pytest

from evictd.collector.sources import cgroup_memory, files, meminfo, memory
from evictd.core.errors import HostError
from evictd.runtimes.hierarchies import locate

FIXTURES = Path(__file__).parents[2] / "fixtures"
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def captured(name: str) -> dict[str, int]:
    return meminfo.parse((FIXTURES / "meminfo" / name).read_text())


def test_huge_pages_of_every_size_are_subtracted() -> None:
    """Hugetlb is 12 GiB where pages of the default size are only 4."""
    machine = meminfo.machine_memory(captured("huge-pages-of-two-sizes.txt"))
    assert machine.huge_pages_bytes == 12 * GIB
    assert machine.available_bytes == machine.total_bytes - 12 * GIB


def test_an_old_kernel_counts_huge_pages_of_the_default_size() -> None:
    assert meminfo.huge_pages_bytes({"HugePages_Total": 2048, "Hugepagesize": 2 * MIB}) == 4 * GIB


def test_reserved_huge_pages_leave_two_of_sixty_four_gibibytes() -> None:
    """Working set 14 GiB beside 48 GiB of huge pages: 3.1 % is available, not 50 GiB."""
    figures = {"MemTotal": 64 * GIB, "MemAvailable": 3 * GIB, "Hugetlb": 48 * GIB}
    signals = memory.machine_signals(meminfo.machine_memory(figures), 14 * GIB)
    reading = signals["memory.available"]
    assert (reading.available, reading.capacity) == (2 * GIB, 64 * GIB)


@pytest.mark.parametrize(
    ("minimum_free", "available"), [(0, 629332 * KIB), (67584 * KIB, 437986 * KIB)]
)
def test_a_missing_available_line_is_estimated(minimum_free: int, available: int) -> None:
    """Free and file lists and slab, less watermarks; shared memory in the cache does not count."""
    machine = meminfo.machine_memory(
        captured("no-available-line.txt"), minimum_free_bytes=minimum_free
    )
    assert machine.estimated
    assert machine.available_bytes == available


def test_without_file_lists_the_cache_less_shared_memory_is_the_estimate() -> None:
    figures = {"MemFree": 10, "Cached": 100, "Buffers": 5, "Shmem": 60}
    assert meminfo.estimated_available_bytes(figures, 0) == 55


def test_a_truncated_file_names_the_missing_key() -> None:
    with pytest.raises(HostError, match="MemAvailable is missing"):
        meminfo.machine_memory(captured("two-lines-only.txt"))


def test_swap_is_a_signal_of_its_own() -> None:
    machine = meminfo.machine_memory(captured("swap-untouched.txt"))
    signals = memory.machine_signals(machine, None)
    assert signals["swap.available"].available == 6016076 * KIB
    assert signals["swap.available"].capacity == 6016076 * KIB
    assert signals["memory.available"].capacity == 6016080 * KIB
    assert signals["memory.available"].views["mem_available"] == 3134744 * KIB


def test_without_a_root_group_the_working_set_is_summed_from_meminfo() -> None:
    machine = meminfo.machine_memory(captured("swap-untouched.txt"))
    reading = memory.machine_signals(machine, None)["memory.available"]
    used = (1409928 + 1017988 + 195748 - 351472) * KIB
    assert reading.available == reading.views["working_set"] == 6016080 * KIB - used


def test_no_swap_is_no_signal_and_not_swap_used_up() -> None:
    machine = meminfo.machine_memory({"MemTotal": GIB, "MemAvailable": 1, "SwapTotal": 0})
    assert "swap.available" not in memory.machine_signals(machine, 0)


def test_swap_that_underflows_reads_as_used_up() -> None:
    """A container's private meminfo may say 2^64 less something."""
    figures = {"MemTotal": GIB, "MemAvailable": 1, "SwapTotal": 8, "SwapFree": (1 << 64) - 4096}
    assert meminfo.machine_memory(figures).swap_free_bytes == 0


def test_spare_arc_counts_as_available() -> None:
    """900 MB available and a cache of 5 GB that must keep 400 MB: 5.5 GB."""
    stats = "13 1 0x01\nname type data\nc_min 4 400000000\nsize 4 5000000000\n"
    spare = meminfo.spare_arc_bytes(stats)
    figures = {"MemTotal": 12_000_000_000, "MemAvailable": 900_000_000}
    machine = meminfo.machine_memory(figures, spare_arc_bytes=spare)
    assert machine.available_bytes == 5_500_000_000


def test_an_arc_without_its_minimum_gives_nothing() -> None:
    assert meminfo.spare_arc_bytes("size 4 5000\n") == 0


@pytest.mark.parametrize(
    "content",
    ["MemTotal: 0 kB\nMemAvailable: 1 kB\n", "MemTotal: 18446744073709551615 kB\n"],
)
def test_a_total_that_cannot_be_is_refused(content: str) -> None:
    with pytest.raises(HostError, match="MemTotal of"):
        meminfo.machine_memory(meminfo.parse(content))


def test_a_negative_figure_is_refused_by_name() -> None:
    with pytest.raises(HostError, match="MemAvailable: '-5' is not a number"):
        meminfo.parse("MemTotal: 4 kB\nMemAvailable: -5 kB\n")


def test_available_is_never_above_the_total() -> None:
    machine = meminfo.machine_memory({"MemTotal": 10, "MemAvailable": 25})
    assert machine.available_bytes == 10


def test_a_v1_group_full_of_cache_needs_little(tmp_path: Path) -> None:
    """The page-rounded "no limit" is no limit."""
    folder = tmp_path
    (folder / "memory.usage_in_bytes").write_text("2869575680\n")
    (folder / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    captured_stat = (FIXTURES / "cgroups/v1-mostly-cache.txt").read_text()
    (folder / "memory.stat").write_text(captured_stat)
    read = cgroup_memory.read(folder)
    assert read is not None
    assert read.working_set_bytes == 215773184
    assert (read.anonymous_bytes, read.swap_bytes, read.limit_bytes) == (675840, 0, None)
    assert read.usage_bytes - read.cache_bytes < 30_000_000


def test_a_v1_group_is_read_with_its_descendants() -> None:
    """`total_inactive_file` on v1, `inactive_file` on v2: one formula as the engine's own tool."""
    figures = {"inactive_file": 1, "total_inactive_file": 30}
    assert cgroup_memory.working_set_bytes(100, figures) == 70
    assert cgroup_memory.working_set_bytes(100, {"inactive_file": 30}) == 70
    assert cgroup_memory.working_set_bytes(20, {"inactive_file": 30}) == 0


def test_a_v2_group_heavy_with_cache(tmp_path: Path) -> None:
    usage = 2471755776 + 8532865024 + 2065149952
    (tmp_path / "memory.current").write_text(f"{usage}\n")
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.stat").write_text((FIXTURES / "cgroups/v2-cache-heavy.txt").read_text())
    read = cgroup_memory.read(tmp_path)
    assert read is not None
    assert read.working_set_bytes == 10_134_310_912
    assert (read.anonymous_bytes, read.shared_bytes) == (2471755776, 4096)
    assert 2_400_000_000 < read.usage_bytes - read.cache_bytes < 2_600_000_000
    assert read.limit_bytes is None


def test_a_v2_limit_is_the_tightest_of_the_ancestors(tmp_path: Path) -> None:
    child = tmp_path / "parent" / "child"
    child.mkdir(parents=True)
    (tmp_path / "parent" / "memory.max").write_text("5000\n")
    (child / "memory.max").write_text("max\n")
    (child / "memory.current").write_text("100\n")
    (child / "memory.stat").write_text("anon 100\n")
    read = cgroup_memory.read(child)
    assert read is not None
    assert read.limit_bytes == 5000


@pytest.mark.parametrize("written", ["max", "18446744073709551615", "9223372036854771712"])
def test_unlimited_is_no_number(tmp_path: Path, written: str) -> None:
    (tmp_path / "limit").write_text(written + "\n")
    assert files.limit(tmp_path / "limit") is None


def test_a_limit_is_one_up_to_half_of_the_greatest_number(tmp_path: Path) -> None:
    """A group whose limit exceeds 2^62 counts as unlimited. [kubelet-eviction 2.2]"""
    for amount, limit in ((0, 0), (1 << 61, 1 << 61), (1 << 62, 1 << 62), ((1 << 62) + 1, None)):
        (tmp_path / "limit").write_text(f"{amount}\n")
        assert files.limit(tmp_path / "limit") == limit


def test_the_machine_reads_the_root_group(host: Any) -> None:
    """v2's root has no usage file: anonymous and file pages are its usage."""
    reading = memory.read(host.proc, locate(host.cgroups), None)["memory.available"]
    assert reading.available == (4096 - 1200) * MIB
    assert reading.views == {"working_set": 2896 * MIB, "mem_available": 3000 * MIB}


def test_a_container_s_own_root_group_is_not_the_machine(host: Any) -> None:
    host.write("cgroup/cgroup.events", "populated 1\n")
    reading = memory.read(host.proc, locate(host.cgroups), None)["memory.available"]
    assert reading.views == {"mem_available": 3000 * MIB}
    assert reading.available == 3000 * MIB


def test_a_private_meminfo_is_not_mixed_with_the_machine_s_root_group(host: Any) -> None:
    host.write("proc/self/mountinfo", f"50 22 0:40 /m {host.proc}/meminfo rw - fuse lxcfs rw\n")
    reading = memory.read(host.proc, locate(host.cgroups), None)["memory.available"]
    assert "working_set" not in reading.views


def test_a_group_stands_for_the_node(host: Any) -> None:
    """The limit less the working set; what the kernel could drop is the other view's."""
    host.group("pods", usage_mib=700, inactive_mib=200)
    host.write("cgroup/pods/memory.max", f"{GIB}\n")
    reading = memory.read(host.proc, locate(host.cgroups), "/pods")["memory.available"]
    assert (reading.available, reading.capacity) == (524 * MIB, 1024 * MIB)
    assert reading.views["mem_available"] == 524 * MIB


def test_a_group_without_a_limit_may_take_the_machine(host: Any) -> None:
    host.group("pods", usage_mib=96)
    reading = memory.read(host.proc, locate(host.cgroups), "/pods")["memory.available"]
    assert (reading.available, reading.capacity) == (4000 * MIB, 4096 * MIB)


def test_a_group_has_its_own_swap_on_v2(host: Any) -> None:
    host.group("pods", usage_mib=96)
    host.write("cgroup/pods/memory.swap.max", "1000\n")
    host.write("cgroup/pods/memory.swap.current", "400\n")
    signals = memory.read(host.proc, locate(host.cgroups), "/pods")
    assert (signals["swap.available"].available, signals["swap.available"].capacity) == (600, 1000)


def test_a_group_that_is_missing_is_said_by_name(host: Any) -> None:
    with pytest.raises(HostError, match="no memory group /pods"):
        memory.read(host.proc, locate(host.cgroups), "/pods")
