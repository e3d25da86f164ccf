"""Units of a real systemd: seen, stopped, spared and brought back through the real `systemctl`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.contract.runtime_contract import RuntimeContract
from tests.contract.systemd_double import Services, chosen

from evictd.core.duty import StartResult, StopResult
from evictd.runtimes import Workload
from evictd.runtimes.settings import WorkloadSettings
from evictd.runtimes.systemd import Manager, SystemdRuntime, lives

UNITS = Path("/run/systemd/system")
WILLING = "/bin/sleep 1000"
DEAF = "/bin/sh -c \"trap '' TERM; while :; do sleep 1; done\""
SERVICE = Path(__file__).parents[2] / "deploy" / "evictd.service"
CLOSED = frozenset(
    {
        "CapabilityBoundingSet",
        "NoNewPrivileges",
        "ProtectSystem",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
        "ProtectKernelTunables",
        "ProtectKernelModules",
        "ProtectKernelLogs",
        "ProtectClock",
        "ProtectHostname",
        "RestrictAddressFamilies",
        "RestrictNamespaces",
        "RestrictRealtime",
        "RestrictSUIDSGID",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "SystemCallArchitectures",
        "SystemCallFilter",
        "SystemCallErrorNumber",
        "TasksMax",
        "UMask",
    }
)
"""The settings of evictd's own unit that take rights away."""
CALL_SECONDS = 60

T = TypeVar("T")


def systemctl(*words: str) -> str:
    """By hand, and it must succeed."""
    finished = subprocess.run(
        ["systemctl", *words], capture_output=True, text=True, timeout=CALL_SECONDS, check=False
    )
    assert finished.returncode == 0, (words, finished.stderr)
    return finished.stdout


def make(name: str, command: str = WILLING, **settings: str) -> None:
    """A unit's file, known to systemd."""
    lines = "".join(f"{key}={value}\n" for key, value in settings.items())
    file = UNITS / name
    old = file.read_text() if file.exists() else ""
    if name.endswith(".slice"):
        new = f"[Slice]\n{lines}"
    else:
        new = f"[Service]\nExecStart={command}\n{lines}"
    if new != old:
        file.write_text(new)
        systemctl("daemon-reload")


def begin(name: str, command: str = WILLING, **settings: str) -> None:
    """Make it and start it."""
    make(name, command, **settings)
    systemctl("start", name)


def take_away() -> None:
    """Every unit of these stories."""
    files = sorted(UNITS.glob("story-*"))
    for file in files:
        subprocess.run(["systemctl", "kill", "-s", "KILL", file.name], check=False)
        subprocess.run(["systemctl", "stop", file.name], check=False)
        file.unlink()
    systemctl("daemon-reload")
    subprocess.run(["systemctl", "reset-failed"], check=False)


def state(name: str) -> str:
    """What systemd says of it."""
    return systemctl("show", "--property=ActiveState", "--value", name).strip()


@pytest.fixture
def units() -> Iterator[None]:
    """Nothing of a story is left."""
    UNITS.mkdir(parents=True, exist_ok=True)
    yield
    take_away()


def runtime(units: tuple[str, ...] = (), slices: tuple[str, ...] = ()) -> SystemdRuntime:
    """As it is configured on this machine."""
    return SystemdRuntime(chosen(units, slices), manager=Manager())


class SystemdBench:
    """Services made for a story."""

    def __init__(self) -> None:
        self.protected: set[str] = set()
        selection = chosen(("web", "api", "db", "slow", "quick", "other"))
        self.runtime = Services(SystemdRuntime(selection, settings_for=self._settings))

    def _settings(self, namespace: str, name: str) -> WorkloadSettings | None:
        assert namespace == "systemd"
        return WorkloadSettings(protect=True) if name in self.protected else None

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        if protected:
            self.protected.add(f"{name}.service")
        await anyio.to_thread.run_sync(begin, f"{name}.service", DEAF if deaf else WILLING)

    async def end(self, name: str) -> None:
        await anyio.to_thread.run_sync(self.finish, name)

    @staticmethod
    def finish(name: str) -> None:
        subprocess.run(["systemctl", "kill", "-s", "KILL", f"{name}.service"], check=False)
        systemctl("stop", f"{name}.service")

    def take_away(self) -> None:
        for name in ("web", "api", "db", "slow", "quick"):
            if (UNITS / f"{name}.service").exists():
                self.finish(name)
                (UNITS / f"{name}.service").unlink()
        systemctl("daemon-reload")
        subprocess.run(["systemctl", "reset-failed"], check=False)


class TestSystemdRuntime(RuntimeContract):
    """All that every runtime promises, with real units."""

    @pytest.fixture
    async def bench(self) -> AsyncIterator[SystemdBench]:
        bench = SystemdBench()
        yield bench
        await bench.runtime.close()
        await anyio.to_thread.run_sync(bench.take_away)


async def one(runtime: SystemdRuntime) -> Workload:
    """The only one that is listed."""
    (found,) = (await runtime.list()).workloads
    return found


async def away(function: Callable[..., T], *words: object, **named: object) -> T:
    """What blocks."""
    return await anyio.to_thread.run_sync(partial(function, *words, **named))


async def test_systemd_is_found_to_manage_this_machine() -> None:
    assert await Manager().available()


async def test_a_unit_is_seen_with_its_figures_and_where_it_is_measured(units: None) -> None:
    await away(
        begin,
        "story-a.service",
        MemoryMin="8M",
        MemoryLow="16M",
        MemoryMax="64M",
        TimeoutStopSec="77",
    )
    found = await one(runtime(("story-*",)))
    assert (found.pod.requests, found.pod.limits) == ({"memory": 16 << 20}, {"memory": 64 << 20})
    assert found.pod.termination_grace_period_seconds == 77
    assert found.pod.start_time is not None
    assert found.whereabouts.memory_cgroup == found.whereabouts.unified_cgroup
    processes = await away((Path(str(found.whereabouts.memory_cgroup)) / "cgroup.procs").read_text)
    assert processes.split() == [str(found.whereabouts.main_process_id)]


async def test_escaped_and_instantiated_names_are_stopped_as_they_are(units: None) -> None:
    await away(make, "story-job@.service")
    name = r"story-job@a\x2db.service"
    await away(systemctl, "start", name)
    jobs = runtime(("story-job@*",))
    found = await one(jobs)
    assert found.pod.name == name
    assert (await jobs.stop(found.reference, None)).result is StopResult.GONE
    assert (await jobs.start("systemd", name, name)).result is StartResult.STARTED
    again = await one(jobs)
    assert again.pod.uid != found.pod.uid
    await jobs.stop(again.reference, None)
    await away((UNITS / "story-job@.service").unlink)
    await away(systemctl, "daemon-reload")
    assert (await jobs.start("systemd", name, name)).result is StartResult.NOT_FOUND


async def test_what_restarts_always_stays_down_after_a_stop(units: None) -> None:
    """Killed after a grace of nothing, too."""
    for name, command, grace in (("a", WILLING, None), ("b", DEAF, 0), ("c", WILLING, 0)):
        unit = f"story-{name}.service"
        await away(begin, unit, command, Restart="always", RestartSec="10ms")
        selected = runtime((unit,))
        outcome = await selected.stop((await one(selected)).reference, grace)
        assert outcome.result is StopResult.GONE
        await anyio.sleep(1)
        assert await away(state, unit) in ("inactive", "failed")


async def test_its_own_grace_is_systemds_to_keep(units: None) -> None:
    await away(begin, "story-a.service", DEAF, TimeoutStopSec="2")
    selected = runtime(("story-a",))
    began_seconds = anyio.current_time()
    outcome = await selected.stop((await one(selected)).reference, None)
    assert outcome.result is StopResult.GONE
    assert "SIGKILL" not in outcome.why
    assert anyio.current_time() - began_seconds >= 2


async def test_what_runs_after_the_stop_is_killed_when_the_grace_is_over(units: None) -> None:
    await away(begin, "story-a.service", DEAF, ExecStopPost="/bin/sleep 1000")
    selected = runtime(("story-a",))
    outcome = await selected.stop((await one(selected)).reference, 1)
    assert outcome.result is StopResult.GONE
    assert "SIGKILL after 1 s" in outcome.why


async def test_a_slice_goes_and_comes_back_as_a_whole(units: None) -> None:
    """Slices beneath it too, and what is deaf in them is killed after the grace."""
    await away(make, "story-low.slice")
    await away(begin, "story-a.service", Slice="story.slice")
    await away(begin, "story-b.service", DEAF, Slice="story-low.slice")
    await away(begin, "story-c.service")
    selected = runtime(("story-a",), ("story",))
    found = await one(selected)
    assert found.pod.name == "story.slice"
    outcome = await selected.stop(found.reference, 2)
    assert outcome.result is StopResult.GONE, outcome
    assert "SIGKILL after 2 s" in outcome.why
    states = [await away(state, f"story-{name}.service") for name in "abc"]
    assert states == ["inactive", "failed", "active"]
    assert (await selected.list()).workloads == ()
    outcome = await selected.start("systemd", "story.slice", "story.slice")
    assert outcome.result is StartResult.STARTED, outcome
    assert {await away(state, f"story-{name}.service") for name in "ab"} == {"active"}
    assert (await one(selected)).pod.uid != found.pod.uid


async def test_what_keeps_the_machine_is_seen_as_protected_and_refused() -> None:
    """Everything that runs here is systemd's own or the bus."""
    everything = runtime(("*.service", "*.scope"), ("*",))
    listing = await everything.list()
    names = {item.pod.name for item in listing.workloads if item.pod.protected}
    assert "system.slice" in names or "-.slice" in names
    for item in listing.workloads:
        if item.pod.protected:
            outcome = await everything.stop(item.reference, 0)
            assert outcome.result is StopResult.REFUSED, item.pod.name
    for unit in ("systemd-journald.service", "dbus.service", "-.slice"):
        assert (await Manager().stop(unit, 0)).result is StopResult.REFUSED


async def test_what_is_transient_is_not_to_be_restored(units: None) -> None:
    command = ("systemd-run", "--unit=story-t", "--slice=story", "sleep", "1000")
    await away(subprocess.run, command, check=True, capture_output=True)
    selected = runtime(("story-t",))
    found = await one(selected)
    assert found.pod.restore == "never"
    assert (await selected.stop(found.reference, 5)).result is StopResult.GONE
    outcome = await selected.start("systemd", "story-t.service", "story-t.service")
    assert outcome.result is StartResult.NOT_FOUND


async def test_what_cannot_be_started_says_why(units: None) -> None:
    await away(make, "story-a.service", "/bin/false", Type="oneshot")
    await away(make, "story-b.service")
    await away(systemctl, "mask", "--runtime", "story-c.service")
    manager = Manager()
    failed = await manager.start("story-a.service")
    assert failed.result is StartResult.FAILED
    assert "story-a.service" in failed.why
    assert (await manager.start("story-b.service")).result is StartResult.STARTED
    masked = await manager.start("story-c.service")
    await away(systemctl, "unmask", "--runtime", "story-c.service")
    assert (masked.result, masked.why) == (StartResult.REFUSED, "it is masked")
    assert (await manager.start("story-d.service")).result is StartResult.NOT_FOUND


async def test_a_socket_that_may_start_it_again_is_named(units: None) -> None:
    await away((UNITS / "story-a.socket").write_text, "[Socket]\nListenStream=/run/story-a\n")
    await away(begin, "story-a.service")
    await away(systemctl, "start", "story-a.socket")
    selected = runtime(("story-a",))
    outcome = await selected.stop((await one(selected)).reference, None)
    assert outcome.why == "stopped by systemd; story-a.socket may start it again"


async def test_systemd_keeps_a_link_for_each_life(units: None) -> None:
    """By which it is told without a call whether units came or went."""
    run = Path("/run")
    await away(begin, "story-a.service", Slice="story.slice")
    first = await away(lives.lives, run)
    assert first is not None
    assert {"story-a.service", "story.slice"} <= set(first)
    await away(systemctl, "restart", "story-a.service")
    second = await away(lives.lives, run)
    assert second is not None
    assert second["story-a.service"] != first["story-a.service"]
    await away(systemctl, "stop", "story-a.service")
    third = await away(lives.lives, run)
    assert third is not None
    assert "story-a.service" not in third


async def test_many_units_are_one_call_of_milliseconds(units: None) -> None:
    for number in range(5):
        await away(begin, f"story-{number}.service")
    manager = Manager()
    began_seconds = anyio.current_time()
    shown = await manager.show(("story-*.service",))
    took_seconds = anyio.current_time() - began_seconds
    assert len(shown) == 5
    assert took_seconds < 2, took_seconds


async def test_the_rights_of_evictds_own_unit_suffice(units: None) -> None:
    """As `deploy/evictd.service` is closed off, it stops and starts a unit."""
    await away(begin, "story-a.service", DEAF)
    words = [
        f"--property={line}"
        for line in SERVICE.read_text().splitlines()
        if line.partition("=")[0] in CLOSED
    ]
    program = (
        "import asyncio;from evictd.runtimes.systemd import Manager;m=Manager();"
        "print(asyncio.run(m.available()));"
        "print(asyncio.run(m.stop('story-a.service', 1)).result.value);"
        "print(asyncio.run(m.start('story-a.service')).result.value)"
    )
    run = ("systemd-run", "--pipe", "--wait", "--quiet", *words, sys.executable, "-c", program)
    finished = await away(subprocess.run, run, capture_output=True, text=True, timeout=100)
    assert finished.stdout.split("\n")[:3] == ["True", "gone", "started"], finished.stderr
