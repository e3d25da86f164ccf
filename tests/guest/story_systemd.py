"""Units of a real systemd: seen, stopped, spared and brought back through the real `systemctl`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest
from tests.contract.runtime_contract import STARTS, RuntimeContract, killed_after
from tests.contract.systemd_double import Services, chosen
from tests.guest.units import away, shown, start, systemctl

from evictd.core.duty import StartResult, StopResult
from evictd.runtimes import Workload
from evictd.runtimes.settings import WorkloadSettings
from evictd.runtimes.systemd import Manager, Places, SystemdRuntime, lives

UNITS = Path("/run/systemd/system")
COMMANDS = Path("/run/stories")
NAMES = ("web", "api", "db", "slow", "quick", *STARTS)
"""All that the suite of all runtimes starts."""
WILLING = "exec sleep 1000\n"
DEAF = "trap '' TERM\nwhile :; do sleep 1; done\n"
FILES = {
    **{f"{name}.service": {"ExecStart": f"/bin/sh {COMMANDS}/{name}"} for name in NAMES},
    "story-willing@.service": {"ExecStart": "/bin/sleep 1000"},
    "story-deaf@.service": {"ExecStart": f"/bin/sh {COMMANDS}/deaf"},
    "story-figures.service": {
        "ExecStart": "/bin/sleep 1000",
        "MemoryMin": "8M",
        "MemoryLow": "16M",
        "MemoryMax": "64M",
        "TimeoutStopSec": "77",
    },
    "story-again.service": {
        "ExecStart": f"/bin/sh {COMMANDS}/deaf",
        "Restart": "always",
        "RestartSec": "10ms",
    },
    "story-brief.service": {"ExecStart": f"/bin/sh {COMMANDS}/deaf", "TimeoutStopSec": "2"},
    "story-after.service": {
        "ExecStart": f"/bin/sh {COMMANDS}/deaf",
        "ExecStopPost": "/bin/sleep 1000",
    },
    "story-in.service": {"ExecStart": "/bin/sleep 1000", "Slice": "story.slice"},
    "story-below.service": {
        "ExecStart": f"/bin/sh {COMMANDS}/deaf",
        "Slice": "story-low.slice",
    },
    "story-low.slice": {},
    "story-needed.service": {"ExecStart": "/bin/sleep 1000", "Restart": "always"},
    "story-needy.service": {"ExecStart": f"/bin/sh {COMMANDS}/deaf"},
    "story-part.service": {"ExecStart": "/bin/sleep 1000"},
    "story-false.service": {"ExecStart": "/bin/false", "Type": "oneshot"},
    "story-woken.service": {"ExecStart": "/bin/sleep 1000"},
    "story-woken.socket": {"ListenStream": "/run/stories/socket"},
    "story-masked.service": {"ExecStart": "/bin/sleep 1000"},
}
"""Everything that these stories start; a word to systemd about new files takes a second here."""
RELATIONS = {
    "story-needy.service": "Requires=story-needed.service\nAfter=story-needed.service\n",
    "story-part.service": "PartOf=story-needy.service\n",
}
SECTIONS = {".service": "Service", ".slice": "Slice", ".socket": "Socket"}
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


def take_away() -> None:
    """End every unit of these stories; those that are deaf, too."""
    patterns = ("story*", *(f"{name}.service" for name in NAMES))
    shown = systemctl("list-units", "--plain", "--no-legend", *patterns)
    up = [line.split()[0] for line in shown.splitlines()]
    with_processes = [name for name in up if name.endswith((".service", ".scope"))]
    if up:
        systemctl("stop", "--no-block", *up)
        kill = ["systemctl", "kill", "-s", "KILL", *with_processes]
        subprocess.run(kill, check=False, stderr=subprocess.DEVNULL)  # some have ended already
        systemctl("stop", *up)
        systemctl("reset-failed")


@pytest.fixture(scope="module", autouse=True)
def files() -> Iterator[None]:
    """Known to systemd, once for all stories."""
    UNITS.mkdir(parents=True, exist_ok=True)
    COMMANDS.mkdir()
    (COMMANDS / "deaf").write_text(DEAF)
    for name, settings in FILES.items():
        lines = "".join(f"{key}={value}\n" for key, value in settings.items())
        section = SECTIONS[Path(name).suffix]
        head = f"[Unit]\n{RELATIONS.get(name, '')}"
        (UNITS / name).write_text(f"{head}[{section}]\n{lines}")
    systemctl("daemon-reload")
    yield
    for name in FILES:
        (UNITS / name).unlink(missing_ok=True)
    shutil.rmtree(COMMANDS)
    systemctl("daemon-reload")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Each story begins on an idle machine."""
    yield
    take_away()


def runtime(
    units: tuple[str, ...] = (), slices: tuple[str, ...] = (), memory: Path | None = None
) -> SystemdRuntime:
    """As it is configured on this machine."""
    places = Places(memory=memory)
    return SystemdRuntime(chosen(units, slices), manager=Manager(), places=places)


class SystemdBench:
    """Services made for a story."""

    def __init__(self) -> None:
        self.protected: set[str] = set()
        selection = chosen((*NAMES, "other"))
        self.runtime = Services(SystemdRuntime(selection, settings_for=self._settings))

    def _settings(self, namespace: str, name: str) -> WorkloadSettings | None:
        assert namespace == "systemd"
        return WorkloadSettings(protect=True) if name in self.protected else None

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        if protected:
            self.protected.add(f"{name}.service")
        await away((COMMANDS / name).write_text, DEAF if deaf else WILLING)
        await away(start, f"{name}.service", deaf=deaf)

    async def end(self, name: str) -> None:
        await away(systemctl, "stop", f"{name}.service")


class TestSystemdRuntime(RuntimeContract):
    """All that every runtime promises, with real units."""

    @pytest.fixture
    async def bench(self) -> AsyncIterator[SystemdBench]:
        bench = SystemdBench()
        yield bench
        await bench.runtime.close()


async def one(runtime: SystemdRuntime) -> Workload:
    """The only one that is listed."""
    (found,) = (await runtime.list()).workloads
    return found


async def soon(runtime: SystemdRuntime) -> Workload:
    """The first that is listed."""
    with anyio.fail_after(60):
        while True:
            if listed := (await runtime.list()).workloads:
                return listed[0]
            await anyio.sleep(0.1)


async def test_systemd_is_found_to_manage_this_machine() -> None:
    assert await Manager().available()


async def test_a_unit_is_seen_with_its_figures_and_where_it_is_measured() -> None:
    await away(systemctl, "start", "story-figures")
    found = await one(runtime(("story-*",)))
    assert (found.pod.requests, found.pod.limits) == ({"memory": 16 << 20}, {"memory": 64 << 20})
    assert found.pod.termination_grace_period_seconds == 77
    assert found.pod.start_time is not None
    assert found.whereabouts.memory_cgroup == found.whereabouts.unified_cgroup
    processes = await away((Path(str(found.whereabouts.memory_cgroup)) / "cgroup.procs").read_text)
    assert processes.split() == [str(found.whereabouts.main_process_id)]


async def test_escaped_and_instantiated_names_are_stopped_as_they_are() -> None:
    name = r"story-willing@a\x2db.service"
    await away(systemctl, "start", name)
    jobs = runtime(("story-willing@*",))
    found = await one(jobs)
    assert found.pod.name == name
    assert (await jobs.stop(found.reference, None)).result is StopResult.GONE
    assert (await jobs.start("systemd", name, name)).result is StartResult.STARTED
    again = await one(jobs)
    assert again.pod.uid != found.pod.uid


async def test_a_template_that_vanished_is_not_started() -> None:
    outcome = await runtime(("*",)).start("systemd", "gone@7.service", "gone@7.service")
    assert outcome.result is StartResult.NOT_FOUND


async def test_what_restarts_always_stays_down_after_a_stop() -> None:
    """Killed after no grace at all, too."""
    await away(start, "story-again", deaf=True)
    selected = runtime(("story-again",))
    outcome = await selected.stop((await one(selected)).reference, 0)
    assert outcome.result is StopResult.GONE
    await anyio.sleep(1)
    assert await away(shown, "story-again.service") in ("inactive", "failed")


async def test_its_own_grace_is_systemds_to_keep() -> None:
    await away(start, "story-brief", deaf=True)
    selected = runtime(("story-brief",))
    began_seconds = anyio.current_time()
    outcome = await selected.stop((await one(selected)).reference, None)
    assert outcome.result is StopResult.GONE
    assert "SIGKILL" not in outcome.why
    assert anyio.current_time() - began_seconds >= 2


async def test_what_runs_after_the_stop_is_killed_when_the_grace_is_over() -> None:
    await away(systemctl, "start", "story-after")
    selected = runtime(("story-after",))
    outcome = await selected.stop((await one(selected)).reference, 1)
    assert outcome.result is StopResult.GONE
    assert killed_after(outcome, 1)


async def test_a_slice_goes_and_comes_back_as_a_whole() -> None:
    """Slices beneath it too, and what is deaf in them is killed after the grace."""
    names = ("story-in", "story-below", "story-willing@1")
    for name in names:
        await away(start, name, deaf=name == "story-below")
    selected = runtime(("story-in",), ("story",))
    found = await one(selected)
    assert found.pod.name == "story.slice"
    outcome = await selected.stop(found.reference, 2)
    assert outcome.result is StopResult.GONE, outcome
    assert killed_after(outcome, 2)
    assert [await away(shown, name) for name in names] == ["inactive", "failed", "active"]
    assert (await selected.list()).workloads == ()
    outcome = await selected.start("systemd", "story.slice", "story.slice")
    assert outcome.result is StartResult.STARTED, outcome
    assert [await away(shown, name) for name in names] == ["active", "active", "active"]
    assert (await one(selected)).pod.uid != found.pod.uid


async def test_what_ran_in_a_slice_is_brought_back_by_the_next_life(tmp_path: Path) -> None:
    """By what the one that stopped it has written down; of any other it is not known."""
    names, memory = ("story-in", "story-below"), tmp_path / "companions"
    for name in names:
        await away(start, name, deaf=name == "story-below")
    selected = runtime(slices=("story",), memory=memory)
    assert (await selected.stop((await one(selected)).reference, 1)).result is StopResult.GONE
    for kept, result in ((None, StartResult.REFUSED), (memory, StartResult.STARTED)):
        next_life = runtime(slices=("story",), memory=kept)
        assert (await next_life.start("systemd", "story.slice", "story.slice")).result is result
    assert [await away(shown, name) for name in names] == ["active", "active"]


async def test_who_requires_a_unit_goes_and_comes_back_with_it() -> None:
    """systemd stops them first, and waits for those that are deaf."""
    names = ["story-needed.service", "story-needy.service", "story-part.service"]
    for name in names:
        await away(start, name, deaf=name == "story-needy.service")
    found = await one(runtime(("story-needed",)))
    assert found.pod.protected, "the others are not listed"
    selected = runtime(("story-*",))
    outcome = await selected.stop(found.reference, 1)
    assert outcome.result is StopResult.GONE, outcome
    assert outcome.why.endswith("with it story-needy.service, story-part.service")
    assert killed_after(outcome, 1)
    states = [await away(shown, name) for name in names]
    assert states[1:] == ["failed", "inactive"]
    assert states[0] in ("inactive", "failed")
    outcome = await selected.start("systemd", names[0], names[0])
    assert outcome.result is StartResult.STARTED, outcome
    assert [await away(shown, name) for name in names] == ["active", "active", "active"]


async def test_what_keeps_the_machine_is_seen_as_protected_and_refused() -> None:
    """Everything that runs here is systemd's own or the bus."""
    everything = runtime(("systemd-journal*", "dbus*", "init.scope"))
    found = (await everything.list()).workloads
    names = {"dbus.service", "init.scope", "systemd-journald.service"}
    assert names <= {item.pod.name for item in found if item.pod.protected}
    for item in found:
        outcome = await everything.stop(item.reference, 0)
        assert outcome.result is StopResult.REFUSED, item.pod.name
    for unit in ("systemd-logind.service", "system.slice", "-.slice"):
        assert (await Manager().stop(unit, 0)).result is StopResult.REFUSED


@pytest.mark.parametrize("kind", ["service", "scope"])
async def test_what_is_transient_is_not_to_be_restored(kind: str) -> None:
    options = ("--scope",) if kind == "scope" else ()
    command = ("systemd-run", *options, f"--unit=story-t.{kind}", "sleep", "1000")
    process = await away(subprocess.Popen, command, stderr=subprocess.DEVNULL)
    selected = runtime((f"story-t.{kind}",))
    found = await soon(selected)
    assert found.pod.restore == "never"
    assert (await selected.stop(found.reference, 5)).result is StopResult.GONE
    outcome = await selected.start("systemd", f"story-t.{kind}", f"story-t.{kind}")
    assert outcome.result is StartResult.NOT_FOUND
    await away(process.wait)


async def test_what_cannot_be_started_says_why() -> None:
    manager = Manager()
    failed = await manager.start("story-false.service")
    assert failed.result is StartResult.FAILED
    assert "story-false.service" in failed.why
    await away((UNITS / "story-masked.service").unlink)
    await away((UNITS / "story-masked.service").symlink_to, "/dev/null")
    await away(systemctl, "daemon-reload")
    masked = await manager.start("story-masked.service")
    assert (masked.result, masked.why) == (StartResult.REFUSED, "it is masked")
    assert (await manager.start("story-none.service")).result is StartResult.NOT_FOUND


async def test_a_socket_that_may_start_it_again_is_named() -> None:
    await away(systemctl, "start", "story-woken.socket", "story-woken.service")
    selected = runtime(("story-woken",))
    outcome = await selected.stop((await one(selected)).reference, None)
    assert outcome.why == "stopped by systemd; story-woken.socket may start it again"


async def test_systemd_keeps_a_link_for_each_life() -> None:
    """By which it is told without a call whether services came or went."""
    run, name = Path("/run"), "story-willing@1.service"
    seen = []
    for verb in ("start", "restart", "stop"):
        await away(systemctl, verb, name)
        up = await away(lives.lives, run)
        assert up is not None
        seen.append(up.get(name))
    assert None not in seen[:2]
    assert seen[0] != seen[1]
    assert seen[2] is None


async def test_many_units_are_shown_in_one_call() -> None:
    names = [f"story-willing@{number}.service" for number in range(20)]
    await away(systemctl, "start", *names)
    shown = await Manager().show(("story-willing@*.service",))
    assert {unit.id for unit in shown} == set(names)
    assert len({unit.invocation_id for unit in shown}) == 20


async def test_the_rights_of_evictds_own_unit_suffice() -> None:
    """As `deploy/evictd.service` is closed off, a unit is stopped and started."""
    name = "story-deaf@1.service"
    await away(systemctl, "start", name)
    lines = (await away(SERVICE.read_text)).splitlines()
    words = [f"--property={line}" for line in lines if line.partition("=")[0] in CLOSED]
    program = (
        "import asyncio; from evictd.runtimes.systemd import Manager; manager = Manager();"
        "print(asyncio.run(manager.available()));"
        f"print(asyncio.run(manager.stop({name!r}, 1)).result.value);"
        f"print(asyncio.run(manager.start({name!r})).result.value)"
    )
    command = ("systemd-run", "--pipe", "--wait", *words, sys.executable, "-c", program)
    finished = await away(subprocess.run, command, capture_output=True, text=True, timeout=100)
    assert finished.stdout.split("\n")[:3] == ["True", "gone", "started"], finished.stderr
