"""evictd as its own unit on a machine of systemd: what it is told is done to units, and undone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.guest.units import shown, systemctl

UNITS = Path("/run/systemd/system")
SETTINGS = Path("/etc/evictd/evictd.yaml")
SHIPPED = Path(__file__).parents[2] / "deploy" / "evictd.service"
LINE_MIB = 400
CONFIGURATION = f"""\
mode: act
node: guest
evictionHard: {{memory.available: {LINE_MIB}Mi}}
evictionPressureTransitionPeriod: 2s
sources:
  intervalSeconds: 2
  runtimes:
    systemd: {{units: ["story-*", "dbus*"]}}
workloads:
  "systemd/story-spared.service": {{protect: true}}
  "systemd/story-worthy.service": {{priority: 1000}}
  "systemd/story-*": {{priority: -10}}
  "systemd/dbus*": {{priority: -100}}
"""
EATS = "import time; eaten = b'x' * ({amount} << 20); time.sleep(10000)"
EATERS = {"spared": 60, "worthy": 60, "cheap": 100}
"""MiB of each unit that is there from the beginning."""
WAIT_SECONDS = 120.0
LOOK_SECONDS = 0.5


def available_mib() -> int:
    """What the kernel says of the machine."""
    (line,) = re.findall(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    return int(line) >> 10


def wait_for(what: Callable[[], bool], told: str) -> None:
    """Until it is so."""
    end_seconds = time.monotonic() + WAIT_SECONDS
    pause = ["sleep", str(LOOK_SECONDS)]
    while not what():
        log = subprocess.run(
            ["journalctl", "-u", "evictd", "-n", "40", "-o", "cat"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert time.monotonic() < end_seconds, f"{told}; {available_mib()} MiB free\n{log.stdout}"
        subprocess.run(pause, check=True)


def eater(amount_mib: int) -> subprocess.Popen[bytes]:
    """Somebody who is no workload."""
    return subprocess.Popen([sys.executable, "-c", EATS.format(amount=amount_mib)])


@pytest.fixture
def guarded() -> Iterator[None]:
    """The shipped unit with the guest's program, and some to guard against."""
    UNITS.mkdir(parents=True, exist_ok=True)
    SETTINGS.parent.mkdir(exist_ok=True)
    SETTINGS.write_text(CONFIGURATION)
    program = shutil.which("evictd")
    unit = re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={program}", SHIPPED.read_text())
    unit = unit.replace("[Service]\n", "[Service]\nEnvironment=PYTHONPATH=/job\n")
    (UNITS / "evictd.service").write_text(unit)
    for name, amount_mib in EATERS.items():
        command = f'{sys.executable} -c "{EATS.format(amount=amount_mib)}"'
        text = f"[Service]\nExecStart={command}\nRestart=always\n"
        (UNITS / f"story-{name}.service").write_text(text)
    systemctl("daemon-reload")
    systemctl("start", *(f"story-{name}" for name in EATERS))
    yield
    names = ("evictd", *(f"story-{name}" for name in EATERS))
    systemctl("stop", *names)
    for name in names:
        (UNITS / f"{name}.service").unlink()
    systemctl("daemon-reload")


def test_under_memory_pressure_the_cheapest_unit_goes_and_comes_back(guarded: None) -> None:
    """By the shipped unit with its few rights. `Restart=always` does not bring it back too soon,
    and neither who is worth more, nor who is protected, nor the bus is touched."""
    systemctl("start", "evictd")
    before = {name: shown(f"story-{name}", "InvocationID") for name in EATERS}
    bus = shown("dbus.service", "MainPID")
    wait_for(lambda: available_mib() > LINE_MIB, "the machine is too small for the story")
    others = eater(available_mib() - LINE_MIB + 40)
    try:
        wait_for(lambda: shown("story-cheap") in ("inactive", "failed"), "it was not stopped")
        wait_for(lambda: available_mib() > LINE_MIB, "its memory did not come free")
    finally:
        others.kill()
        others.wait()
    wait_for(lambda: shown("story-cheap") == "active", "it was not started again")
    after = {name: shown(f"story-{name}", "InvocationID") for name in EATERS}
    assert {name for name in EATERS if after[name] != before[name]} == {"cheap"}
    assert shown("dbus.service", "MainPID") == bus
