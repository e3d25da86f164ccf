"""Control groups in a folder, for real processes of a plain user.

evictd reads them where it is told that the kernel's are, finds real processes in them and sends
them real signals. What the kernel would do, empty the group of a process that ended and free its
memory, is done here.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MIB = 1 << 20
CAPACITY_MIB = 1024
PARENT = "pods"
PROGRAM = """
import signal, sys
def told(number, frame):
    print("SIGTERM", flush=True)
    if sys.argv[1] != "deaf":
        sys.exit(0)
signal.signal(signal.SIGTERM, told)
print("ready", flush=True)
while True:
    signal.pause()
"""
"""Tells of each SIGTERM; a deaf one does nothing else about it."""


class Workload:
    """A process in a group of its own, and how much memory the group says that it uses."""

    def __init__(self, kernel: Kernel, name: str, *, deaf: bool = False) -> None:
        self.name = name
        self._kernel = kernel
        self._folder = kernel.parent / name
        self.memory_mib = 0
        self.signals = 0
        """How often SIGTERM reached it."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "deaf" if deaf else "willing"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        self._folder.mkdir()
        (self._folder / "memory.max").write_text("max\n")
        self.uses(0)
        (self._folder / "cgroup.procs").write_text(f"{self.process.pid}\n")
        self._thread = threading.Thread(target=self._attend)
        self._thread.start()

    @property
    def lives(self) -> bool:
        """Whether its process runs. Only its thread asks the kernel, since asking buries it."""
        return self._thread.is_alive()

    def uses(self, mib: int) -> None:
        """Say that it uses so much from now on."""
        self.memory_mib = mib
        _account(self._folder, mib)
        self._kernel.account()

    def end(self) -> None:
        """SIGKILL, and what the kernel does then."""
        self.process.kill()
        self._thread.join()

    def _attend(self) -> None:
        assert self.process.stdout is not None
        for _ in self.process.stdout:
            self.signals += 1
        self.process.stdout.close()
        # In the kernel's order: memory is free before the group is empty, and both before nobody
        # knows the process any more. Otherwise there is a moment of false shortage.
        self.uses(0)
        (self._folder / "cgroup.procs").write_text("")
        self.process.wait()


class Kernel:
    """The folder, with one parent group that stands for the whole machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cgroup"
        self.parent = self.folder / PARENT
        self.workloads: dict[str, Workload] = {}
        self._lock = threading.Lock()
        self.parent.mkdir(parents=True)
        (self.folder / "cgroup.controllers").write_text("memory pids\n")
        (self.folder / "cgroup.procs").write_text("")
        (self.parent / "cgroup.procs").write_text("")
        (self.parent / "memory.max").write_text(f"{CAPACITY_MIB * MIB}\n")
        self.account()

    @property
    def sources(self) -> dict[str, Any]:
        """Where the collector and the runtime look."""
        return {
            "cgroupPath": str(self.folder),
            "memory": {"cgroup": f"/{PARENT}"},
            "intervalSeconds": 0.5,
            "runtimes": {"docker": {"enabled": False}, "cgroup": {"parent": f"/{PARENT}"}},
        }

    def start(self, name: str, *, deaf: bool = False) -> Workload:
        """One more workload."""
        workload = self.workloads[name] = Workload(self, name, deaf=deaf)
        return workload

    def account(self) -> None:
        """The parent uses what its children use."""
        with self._lock:
            used = sum(workload.memory_mib for workload in tuple(self.workloads.values()))
            _account(self.parent, used)

    def end(self) -> None:
        """No process stays."""
        for workload in self.workloads.values():
            workload.end()


@contextmanager
def kernel(folder: Path) -> Iterator[Kernel]:
    """Every process is ended afterwards."""
    made = Kernel(folder)
    try:
        yield made
    finally:
        made.end()


def _account(folder: Path, mib: int) -> None:
    """Whole or not at all: a reader may come at any time."""
    for name, text in (
        ("memory.stat", f"anon {mib * MIB}\nfile 0\n"),
        ("memory.current", f"{mib * MIB}\n"),
    ):
        draft = folder / f"{name}.{threading.get_ident()}.new"
        draft.write_text(text)
        draft.replace(folder / name)
