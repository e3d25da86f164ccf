"""What belongs to somebody else, and how the kernel's files of each layout are read."""

import os
from pathlib import Path

import pytest

from evictd.core.duty import StartResult
from evictd.runtimes import Listing, hierarchies
from evictd.runtimes.cgroup import CgroupRuntime, Places, owners
from evictd.runtimes.settings import WorkloadSettings

STAT = "{pid} (a ) name) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 0 0"


class Tree:
    """A machine's files below one folder; a v2 tree unless said otherwise."""

    def __init__(self, root: Path) -> None:
        self.places = Places(cgroup=root / "cgroup", proc=root / "proc", run=root / "run")
        self.places.cgroup.mkdir()
        (self.places.cgroup / "cgroup.controllers").write_text("memory pids\n")
        (root / "proc" / "sys" / "kernel" / "random").mkdir(parents=True)
        (root / "proc" / "sys" / "kernel" / "random" / "boot_id").write_text("boot\n")
        (root / "proc" / "stat").write_text("cpu 1\nbtime 1764489600\n")

    def group(self, path: str, *pids: int, ticks: int = 100, **files: str) -> Path:
        """A group with processes of one age."""
        folder = self.places.cgroup / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in pids))
        for name, text in files.items():
            (folder / name.replace("_", ".", 1)).write_text(text)
        for pid in pids:
            (self.places.proc / str(pid)).mkdir(exist_ok=True)
            stat = self.places.proc / str(pid) / "stat"
            stat.write_text(STAT.format(pid=pid, ticks=ticks + pid))
        return folder

    def runtime(self, parent: str = "/pods", own: int = 1) -> CgroupRuntime:
        return CgroupRuntime(parent, own_process_id=own, places=self.places)


def listed(runtime: CgroupRuntime) -> Listing:
    """What `list` does in a thread."""
    return runtime._read()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/docker", "docker"),
        ("/system.slice/docker-abc.scope", "systemd"),
        ("/e2e/docker-abc.scope", "docker"),
        ("/libpod_parent", "podman"),
        ("/machine.slice", "machined"),
        ("/kubepods.slice/kubepods-burstable.slice", "kubelet"),
        ("/kubepods/besteffort", "kubelet"),
        ("/containerd", "containerd"),
        ("/user.slice/user-1000.slice", "systemd"),
        ("/init.scope", "systemd"),
        ("/lxc.payload.web", "machined"),
        ("/buildkit", "docker"),
        ("/pods/web", None),
        ("/pods/dockerish", None),
        ("/pods/system", None),
    ],
)
def test_what_engines_and_managers_keep_is_known_by_name(path: str, owner: str | None) -> None:
    assert owners.owner_of(path, systemd_runs=False) == owner


def test_units_are_systemds_only_where_it_runs(tmp_path: Path) -> None:
    """A folder that merely ends like a unit is a workload on a machine without systemd."""
    assert not owners.systemd_runs(tmp_path)
    assert owners.owner_of("/pods/web.service", systemd_runs=False) is None
    (tmp_path / "systemd" / "system").mkdir(parents=True)
    assert owners.systemd_runs(tmp_path)
    assert owners.owner_of("/pods/web.service", systemd_runs=True) == "systemd"


def test_each_populated_child_of_the_parent_is_a_workload(tree: Tree) -> None:
    """Its processes may be further down; engines' groups and empty ones are left out."""
    tree.group("pods/web", 7, memory_max="67108864\n", memory_low="1048576\n")
    tree.group("pods/batch", 8, memory_max="max\n", memory_low="0\n")
    tree.group("pods/deep/inside", 9)
    tree.group("pods/idle")
    tree.group("pods/docker", 10)
    tree.group("elsewhere", 11)
    listing = listed(tree.runtime())
    pods = {found.pod.name: found.pod for found in listing.workloads}
    assert sorted(pods) == ["batch", "deep", "web"]
    assert (pods["web"].limits, pods["web"].requests) == (
        {"memory": 67108864},
        {"memory": 1048576},
    )
    assert (pods["batch"].limits, pods["batch"].requests) == ({}, {})
    assert {pod.namespace for pod in pods.values()} == {"pods"}


@pytest.mark.parametrize(
    ("files", "request_mib"),
    [
        ({"memory.low": "1048576\n", "memory.min": "67108864\n"}, 64),
        ({"memory.low": "134217728\n", "memory.min": "67108864\n"}, 128),
        ({"memory.low": "0\n", "memory.min": "67108864\n"}, 64),
        ({"memory.low": "max\n", "memory.min": "67108864\n"}, 64),
        ({"memory.soft_limit_in_bytes": "33554432\n"}, 32),
        ({"memory.soft_limit_in_bytes": "9223372036854771712\n"}, None),
    ],
)
def test_the_request_is_the_most_that_the_kernel_leaves_to_it(
    tree: Tree, files: dict[str, str], request_mib: int | None
) -> None:
    folder = tree.group("pods/web", 7)
    for name, text in files.items():
        (folder / name).write_text(text)
    (web,) = listed(tree.runtime()).workloads
    assert web.pod.requests == ({} if request_mib is None else {"memory": request_mib << 20})


def test_the_uid_follows_the_oldest_process(tree: Tree) -> None:
    """A younger one changes nothing; a group filled anew is another life."""

    def uid() -> str:
        return listed(tree.runtime()).workloads[0].pod.uid

    tree.group("pods/web", 7)
    first = uid()
    tree.group("pods/web", 7, 30)
    assert uid() == first
    tree.group("pods/web", 30, ticks=5000)
    assert uid() != first


def test_a_process_may_have_a_name_that_is_no_text(tree: Tree) -> None:
    """A long name is cut after 15 bytes, in the midst of a letter too."""
    tree.group("pods/web", 7)
    stat = tree.places.proc / "7" / "stat"
    stat.write_bytes(stat.read_bytes().replace(b"name", b"stra\xc3"))
    (tree.places.cgroup / "pods" / os.fsdecode(b"\xff")).mkdir()
    (workload,) = listed(tree.runtime()).workloads
    assert (workload.pod.name, workload.whereabouts.main_process_id) == ("web", 7)


def test_a_parent_that_belongs_to_somebody_else_is_refused(tree: Tree) -> None:
    """Nothing in it is taken, and the listing says so."""
    tree.group("docker/web", 7)
    listing = listed(tree.runtime("/docker"))
    assert listing.workloads == ()
    assert listing.problems == ("/docker belongs to docker: nothing in it is taken",)


def test_a_machine_without_control_groups_is_told(tmp_path: Path) -> None:
    """The listing is not complete: absence means nothing."""
    places = Places(cgroup=tmp_path / "none", proc=tmp_path, run=tmp_path)
    runtime = CgroupRuntime("/pods", own_process_id=1, places=places)
    listing = listed(runtime)
    assert not listing.complete
    assert listing.problems == (f"no control groups are mounted at {tmp_path / 'none'}",)


def test_our_own_group_is_protected_whatever_is_configured(tree: Tree) -> None:
    """Also when we are somewhere beneath it."""
    tree.group("pods/web", 7)
    tree.group("pods/tools/evictd", 42)
    runtime = CgroupRuntime(
        "/pods",
        own_process_id=42,
        places=tree.places,
        settings_for=lambda _, __: WorkloadSettings(protect=False, restore="auto"),
    )
    pods = {found.pod.name: found.pod for found in listed(runtime).workloads}
    assert pods["tools"].protected
    assert pods["tools"].managed_by == "evictd"
    assert pods["web"].labelled
    assert not pods["web"].protected
    assert pods["web"].restore == "never", "nothing here could start it"


def test_hierarchies_of_all_three_layouts_are_found(tmp_path: Path) -> None:
    """v2 alone, v1 alone, and both side by side."""
    v2, v1, hybrid = (tmp_path / name for name in ("v2", "v1", "hybrid"))
    for root in (v1, hybrid):
        for name in ("memory", "pids"):
            (root / name).mkdir(parents=True)
            (root / name / "cgroup.procs").touch()
    for root in (v2, hybrid / "unified"):
        root.mkdir(parents=True)
    (v2 / "cgroup.controllers").write_text("cpu memory pids")
    (hybrid / "unified" / "cgroup.controllers").write_text("hugetlb")
    assert hierarchies.locate(v2).roots == (v2,)
    assert hierarchies.locate(v1).roots == (v1 / "memory", v1 / "pids")
    assert hierarchies.locate(hybrid).roots == (
        hybrid / "memory",
        hybrid / "pids",
        hybrid / "unified",
    )


@pytest.fixture
def pods(tree: Tree) -> CgroupRuntime:
    """One group in which something runs."""
    tree.group("pods/web", 42)
    return tree.runtime()


async def test_a_control_group_cannot_be_started(pods: CgroupRuntime) -> None:
    """Of one that runs it is told, of a stranger nothing is known."""
    outcomes = {
        name: await pods.start(namespace, name, f"/{namespace}/{name}")
        for namespace, name in (("pods", "web"), ("pods", "ended"), ("shop", "other"))
    }
    assert {name: outcome.result for name, outcome in outcomes.items()} == {
        "web": StartResult.RUNNING,
        "ended": StartResult.REFUSED,
        "other": StartResult.NOT_FOUND,
    }
    assert outcomes["ended"].why == ("a control group cannot be started; whoever started it has to")
