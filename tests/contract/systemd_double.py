"""A machine that systemd manages, as far as `systemctl` shows it: a folder with the program that
stands in for the real one, the units that it moves, and what the kernel keeps for them."""

import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial, wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from anyio import to_thread
from msgspec import structs

from evictd.core.duty import StartOutcome, StopOutcome
from evictd.runtimes import Change, Listing, Runtime, Workload
from evictd.runtimes.settings import WorkloadSettings
from evictd.runtimes.systemd import Manager, Places, Selection, Systemctl, SystemdRuntime
from evictd_schemas import PodReference
from evictd_schemas.sources import SystemdSource

PROGRAM = Path(__file__).with_name("systemctl_program.py")


P = ParamSpec("P")
T = TypeVar("T")


def away(
    method: Callable[Concatenate["SystemdDouble", P], T],
) -> Callable[Concatenate["SystemdDouble", P], Awaitable[T]]:
    """Away from the loop, since files block."""

    @wraps(method)
    async def called(machine: "SystemdDouble", *arguments: P.args, **named: P.kwargs) -> T:
        return await to_thread.run_sync(partial(method, machine, *arguments, **named))

    return called


class SystemdDouble:
    """Its units are files; each call runs a child process as in earnest."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run_path = root / "run"
        self.cgroup_path = root / "cgroup"
        self.own_process = root / "self"
        self.program = root / "systemctl"
        for folder in ("units", "run/systemd/system", "run/systemd/units", "cgroup", "self"):
            (root / folder).mkdir(parents=True)
        (self.cgroup_path / "cgroup.controllers").write_text("cpu memory pids\n")
        (self.own_process / "cgroup").write_text("0::/system.slice/guardian.service\n")
        self.program.write_text(f"#!{sys.executable} -IS\n{PROGRAM.read_text()}")
        self.program.chmod(0o755)
        self.systemctl = Systemctl(str(self.program))
        self.manager = Manager(self.systemctl, self.run_path)

    @away
    def unit(self, name: str, **properties: str) -> None:
        """A unit that is up, unless its properties say otherwise; another life of it each time."""
        life = uuid.uuid4().hex
        place = "batch.slice" if name.startswith("in-") else "system.slice"
        path = f"/{name}" if name.endswith(".slice") else f"/{place}/{name}"
        said = {
            "Id": name,
            "Names": name,
            "LoadState": "loaded",
            "ActiveState": "active",
            "SubState": "running",
            "InvocationID": life,
            "ControlGroup": path,
            "MemoryMin": "0",
            "MemoryLow": "0",
            "MemoryMax": "infinity",
            "TimeoutStopUSec": "1min 30s",
            "ActiveEnterTimestamp": "Mon 2026-11-30 06:00:00 UTC",
            "ActiveEnterTimestampMonotonic": "12345678",
            **properties,
        }
        text = "".join(f"{word}={value}\n" for word, value in said.items())
        (self.root / "units" / name).write_text(text)
        link = self.run_path / "systemd" / "units" / f"invocation:{name}"
        link.unlink(missing_ok=True)
        if said["ActiveState"] == "active":
            link.symlink_to(life)
            self.fill(said["ControlGroup"])

    def fill(self, path: str) -> Path:
        """The control group of a unit, with a process in it."""
        folder = self.cgroup_path / path.strip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
        return folder

    @away
    def state(self, name: str) -> str:
        """What `show` would say of it."""
        lines = (self.root / "units" / name).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)["ActiveState"]

    @away
    def gone(self, name: str) -> None:
        """It ends behind everybody's back, and its file with it."""
        (self.root / "units" / name).unlink()
        (self.run_path / "systemd" / "units" / f"invocation:{name}").unlink(missing_ok=True)

    @away
    def say(self, mode: str, text: str = "") -> None:
        """`hang`, `garbage` or `refuse` from now on."""
        (self.root / mode).write_text(text)

    @away
    def recover(self) -> None:
        """Answer as usual again."""
        for mode in ("hang", "garbage", "refuse"):
            (self.root / mode).unlink(missing_ok=True)

    @away
    def calls(self) -> list[str]:
        """Every call so far, without the options that all have."""
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []


def chosen(units: tuple[str, ...] = (), slices: tuple[str, ...] = ()) -> Selection:
    """As configured."""
    return Selection(SystemdSource(units=units, slices=slices))


EVERYTHING = chosen(units=("*.service", "*.scope"))


def runtime(
    machine: SystemdDouble,
    selected: Selection = EVERYTHING,
    *,
    protected: Iterable[str] = (),
    own_units: Iterable[str] = (),
    engine_listed: bool = False,
    memory: Path | None = None,
) -> SystemdRuntime:
    """Of a machine on which these units are listed."""

    def settings_for(namespace: str, name: str) -> WorkloadSettings | None:
        assert namespace == "systemd"
        return WorkloadSettings(protect=True) if name in protected else None

    return SystemdRuntime(
        selected,
        manager=machine.manager,
        own_units=own_units,
        engine_listed=engine_listed,
        places=Places(
            cgroup=machine.cgroup_path,
            run=machine.run_path,
            own_process=machine.own_process,
            memory=memory,
        ),
        settings_for=settings_for,
    )


class Services(Runtime):
    """The suite's short names are services."""

    def __init__(self, inner: SystemdRuntime) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    async def list(self) -> Listing:
        found = await self._inner.list()
        return structs.replace(found, workloads=tuple(map(_short, found.workloads)))

    def watch(self) -> AsyncIterator[Change]:
        return self._inner.watch()

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        whole = structs.replace(pod, name=f"{pod.name}.service")
        return await self._inner.stop(whole, grace_seconds)

    async def start(self, namespace: str, name: str, runtime_id: str) -> StartOutcome:
        return await self._inner.start(namespace, f"{name}.service", runtime_id)

    async def close(self) -> None:
        await self._inner.close()


def _short(workload: Workload) -> Workload:
    name = workload.pod.name.removesuffix(".service")
    return structs.replace(workload, pod=structs.replace(workload.pod, name=name))
