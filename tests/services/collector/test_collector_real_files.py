"""Control groups as people have met them, from the kernel's files to the order of who goes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evictd.collector.sources import workloads
from evictd.core.decision.ranking import Place, rank
from evictd.core.rules import HOST
from evictd.runtimes import Workload
from evictd_schemas import Layout, Pod

MIB = 1 << 20


def heavy(host: Any) -> Path:
    """A service on cgroup v2 with 10 GiB of file pages and slab beside 2.3 GiB of its own."""
    host.write("cgroup/heavy/memory.current", f"{2471755776 + 8532865024 + 2065149952}\n")
    host.write("cgroup/heavy/memory.max", "max\n")
    place: Path = host.fixture("cgroup/heavy/memory.stat", "cgroups", "v2-cache-heavy.txt")
    return place.parent


def copied(host: Any) -> Path:
    """A container on cgroup v1 that has written one large file."""
    host.write("v1/memory/copied/memory.usage_in_bytes", "2869575680\n")
    host.write("v1/memory/copied/memory.limit_in_bytes", "9223372036854771712\n")
    place: Path = host.fixture("v1/memory/copied/memory.stat", "cgroups", "v1-mostly-cache.txt")
    return place.parent


def places(host: Any, *found: Workload) -> list[Place]:
    """The order of a plain host that is short of memory."""
    pods: list[Pod] = [look.pod for look in workloads.measure(found, host.proc)]
    return list(rank(HOST, "memory.available", Layout(), pods))


def test_what_a_stop_of_a_cache_heavy_service_frees_is_its_own_memory_and_no_file(
    host: Any, workload: Callable[..., Workload]
) -> None:
    """2.5 GB of 13: one that holds 3 GiB itself goes before it."""
    group = host.group("plain", usage_mib=3 * 1024)
    first, second = places(host, workload("heavy", heavy(host)), workload("plain", group))
    assert (first.pod.name, second.pod.name) == ("plain", "heavy")
    assert second.freed == 2471755776 + 4096
    assert second.usage == 10_134_310_912


def test_a_container_that_is_nearly_all_cache_goes_after_one_of_a_mebibyte(
    host: Any, workload: Callable[..., Workload]
) -> None:
    """It looks like 2.87 GB, and its own are 660 KiB; "no limit" is no number in any figure."""
    group = host.group("small", usage_mib=1)
    first, second = places(host, workload("copied", copied(host)), workload("small", group))
    assert (first.pod.name, second.pod.name) == ("small", "copied")
    assert second.freed == 675840
    assert second.pod.stats is not None
    assert second.pod.stats.memory is not None
    assert second.pod.stats.memory.available_bytes is None
