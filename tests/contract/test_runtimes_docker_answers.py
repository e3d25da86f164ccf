"""What is read of an engine's answers: names, the own container, control groups."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evictd.runtimes import hierarchies
from evictd.runtimes.docker import cgroups, layers
from evictd.runtimes.docker.inspection import Inspected, Summary
from evictd.runtimes.docker.naming import names
from evictd.runtimes.docker.ownership import own_container_id

FIXTURES = Path(__file__).parents[1] / "fixtures" / "docker"
ID = "ab" * 32


def test_composes_names_are_read_from_a_real_listing() -> None:
    """Project and service; the number only where there are several; one-off runs by their own."""
    listing = msgspec.convert(
        json.loads((FIXTURES / "containers-list-compose.json").read_text()), tuple[Summary, ...]
    )
    found = {f"{name.namespace}/{name.name}" for name in names(listing).values()}
    assert {"foo/words", "foo/db", "harbor/postgresql", "foo/job"} <= found
    first = listing[0]
    labels = first.labels or {}
    second = msgspec.structs.replace(
        first, id="9" * 64, labels={**labels, "com.docker.compose.container-number": "2"}
    )
    one_off = msgspec.structs.replace(
        first,
        id="8" * 64,
        names=("/foo-words-run-77",),
        labels={**labels, "com.docker.compose.oneoff": "True"},
    )
    plain = Summary(id="7" * 64, names=("/plain",))
    several = names((first, second, one_off, plain))
    assert [f"{name.namespace}/{name.name}" for name in several.values()] == [
        "foo/words-1",
        "_/plain",
        "foo/foo-words-run-77",
        "foo/words-2",
    ]


def test_the_machine_itself_is_in_no_container_although_it_sees_their_mounts() -> None:
    """Folders of containers are among a machine's mounts; only files mounted into us name us."""
    shared = f"1 2 3:4 / /var/lib/docker/containers/{ID}/mounts/shm rw - tmpfs shm rw"
    assert own_container_id({"mountinfo": shared, "cgroup": "0::/init.scope"}) is None
    assert own_container_id({"cgroup": f"4:memory:/docker/{ID}\n0::/"}) == ID


def container(**host: Any) -> Inspected:
    """An inspection with a main process."""
    return msgspec.convert(
        {"Id": ID, "State": {"Pid": 77, "Running": True}, "HostConfig": host}, Inspected
    )


@pytest.mark.parametrize(
    ("driver", "parent", "path"),
    [
        ("cgroupfs", "", f"docker/{ID}"),
        ("cgroupfs", "/e2e", f"e2e/{ID}"),
        ("cgroupfs", "", f"libpod_parent/libpod-{ID}"),
        ("systemd", "", f"system.slice/docker-{ID}.scope"),
        ("systemd", "", f"machine.slice/libpod-{ID}.scope"),
        ("systemd", "a-b.slice", f"a.slice/a-b.slice/docker-{ID}.scope"),
    ],
)
def test_control_groups_are_found_by_driver_and_parent(
    tmp_path: Path, driver: str, parent: str, path: str
) -> None:
    """When the first process cannot be seen."""
    (tmp_path / "cgroup.controllers").write_text("memory pids")
    (tmp_path / path).mkdir(parents=True)
    found = cgroups.whereabouts(
        container(CgroupParent=parent), driver, hierarchies.locate(tmp_path), tmp_path / "proc"
    )
    wanted = str(tmp_path / path)
    assert (found.memory_cgroup, found.pids_cgroup, found.unified_cgroup) == (wanted,) * 3


def test_the_kernels_word_on_the_first_process_wins(tmp_path: Path) -> None:
    """Both hierarchies of a hybrid machine, up to the container's own level."""
    for place in (f"memory/odd/{ID}", f"unified/other/{ID}"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "memory" / "cgroup.procs").touch()
    (tmp_path / "unified" / "cgroup.controllers").write_text("")
    (tmp_path / "proc" / "77").mkdir(parents=True)
    told = f"4:memory:/odd/{ID}\n0::/other/{ID}/inside\n"
    (tmp_path / "proc" / "77" / "cgroup").write_text(told)
    found = cgroups.whereabouts(
        container(), "cgroupfs", hierarchies.locate(tmp_path), tmp_path / "proc"
    )
    assert found.memory_cgroup == str(tmp_path / "memory" / "odd" / ID)
    assert found.unified_cgroup == str(tmp_path / "unified" / "other" / ID)
    assert found.pids_cgroup is None


ROOT_MOUNT = (
    "1250 1180 0:71 / / rw,relatime master:412 - overlay overlay rw,lowerdir=/s/41/fs:/s/2/fs,"
    "upperdir=/var/lib/a\\040b/snapshots/42/fs,workdir=/s/42/work,nouserxattr\n"
)


@pytest.mark.parametrize(
    ("driver", "told", "layer"),
    [
        (None, ROOT_MOUNT, "/var/lib/a b/snapshots/42/fs"),
        ({"Name": "vfs", "Data": None}, ROOT_MOUNT, "/var/lib/a b/snapshots/42/fs"),
        ({"Name": "overlay2", "Data": {"UpperDir": "/o/diff"}}, ROOT_MOUNT, "/o/diff"),
        (None, "1250 1180 8:1 / / rw - ext4 /dev/sda1 rw\n", None),
        (None, ROOT_MOUNT.replace(" / / ", " / /inside "), None),
        (None, ROOT_MOUNT.replace("upperdir=", "lowerdir+="), None),
        (None, "garbage\n - overlay\n", None),
        (None, "", None),
    ],
)
def test_where_the_engine_does_not_tell_the_writable_layer_the_kernel_does(
    tmp_path: Path, driver: dict[str, Any] | None, told: str, layer: str | None
) -> None:
    """An engine that keeps its images in containerd tells no place at all."""
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "mountinfo").write_text(told)
    found = msgspec.convert(
        {"Id": ID, "State": {"Pid": 77, "Running": True}, "GraphDriver": driver}, Inspected
    )
    assert layers.writable_layer(found, tmp_path) == layer


def test_of_a_process_that_is_not_to_be_seen_no_layer_is_known(tmp_path: Path) -> None:
    assert layers.writable_layer(container(), tmp_path) is None
    assert layers.writable_layer(Inspected(id=ID), tmp_path) is None
