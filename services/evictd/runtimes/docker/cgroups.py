"""Where a container can be measured.

Its control groups, by what the kernel says of its first process, or by the engine's driver and the
parent it was given.

Blocking: it reads `/proc` and looks for folders.
"""

from pathlib import Path

from evictd.runtimes.docker.inspection import Inspected
from evictd.runtimes.docker.layers import writable_layer
from evictd.runtimes.hierarchies import Hierarchies, text
from evictd.runtimes.interface import Whereabouts
from evictd.shell.kernel_text import lines


def whereabouts(
    container: Inspected, driver: str, hierarchies: Hierarchies, proc: Path
) -> Whereabouts:
    """Folders that are there; None for each that is not."""
    told = _told_by_kernel(container, proc)
    guesses = _by_driver(container, driver)

    def folder(root: Path | None, controller: str) -> str | None:
        if root is None:
            return None
        unified = root == hierarchies.unified
        paths = (told.get("" if unified else controller), *guesses)
        places = (root / path.strip("/") for path in paths if path is not None)
        return next((str(place) for place in places if place.is_dir()), None)

    return Whereabouts(
        memory_cgroup=folder(hierarchies.memory, "memory"),
        pids_cgroup=folder(hierarchies.pids, "pids"),
        unified_cgroup=folder(hierarchies.unified, ""),
        main_process_id=container.state.pid or None,
        writable_layer=writable_layer(container, proc),
        log_file=container.log_path or None,
    )


def _told_by_kernel(container: Inspected, proc: Path) -> dict[str, str]:
    """Controller (empty for v2) to path, as far as it names this container.

    What runs inside may have moved itself further down, and another name space shows paths that are
    not ours.
    """
    memberships = text(proc / str(container.state.pid) / "cgroup") or ""
    found: dict[str, str] = {}
    for line in lines(memberships):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        cut = _up_to_container(path, container.id)
        if cut is not None and not path.startswith("/.."):
            found |= dict.fromkeys(controllers.split(","), cut)
    return found


def _up_to_container(path: str, container_id: str) -> str | None:
    """The path to the level that carries the container's id."""
    levels = path.split("/")
    for depth, level in enumerate(levels):
        if container_id in level:
            return "/".join(levels[: depth + 1])
    return None


def _by_driver(container: Inspected, driver: str) -> tuple[str, ...]:
    """Where Docker and Podman put a container, with systemd's slices or plain folders."""
    parent = container.host_config.cgroup_parent or ""
    if driver == "systemd":
        slices = (_slice_path(parent),) if parent else ("system.slice", "machine.slice")
        scopes = (f"docker-{container.id}.scope", f"libpod-{container.id}.scope")
        return tuple(f"{at}/{scope}" for at in slices for scope in scopes)
    if parent:
        return (f"{parent}/{container.id}", f"{parent}/libpod-{container.id}")
    return (f"docker/{container.id}", f"libpod_parent/libpod-{container.id}")


def _slice_path(name: str) -> str:
    """`a-b.slice` is the folder `a.slice/a-b.slice`."""
    if not name.endswith(".slice"):
        return name
    words = name.removesuffix(".slice").split("-")
    slices = ("-".join(words[: depth + 1]) + ".slice" for depth in range(len(words)))
    return "/".join(slices)
