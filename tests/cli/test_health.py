"""`evictd health`: the sign of life of a loop, asked cheaply."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., subprocess.CompletedProcess[str]]


def alive(folder: Path, worker: str, seconds_ago: float) -> None:
    """A worker's sign of life, so long ago."""
    now_seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
    (folder / f"{worker}.alive").write_text(f"{now_seconds - seconds_ago:.3f}")


@pytest.mark.parametrize("arguments", [(), ("collector",)])
def test_a_loop_that_came_round_lately_is_alive(
    evictd_process: Process, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    alive(tmp_path, "collector", 0)
    result = evictd_process("health", *arguments, RUNTIME_DIRECTORY=str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("collector: alive ")


def test_a_silent_loop_is_not(evictd_process: Process, tmp_path: Path) -> None:
    alive(tmp_path, "collector", 0)
    alive(tmp_path, "evictor", 100)
    result = evictd_process("health", RUNTIME_DIRECTORY=str(tmp_path))
    assert result.returncode == 1
    assert result.stderr.startswith("evictd: evictor has been silent for 10")


def test_a_worker_that_never_ran_is_named(evictd_process: Process, tmp_path: Path) -> None:
    result = evictd_process("health", "evictor", RUNTIME_DIRECTORY=str(tmp_path))
    assert result.returncode == 1
    assert result.stderr == f"evictd: evictor is not running: nothing in {tmp_path}\n"


def test_a_sign_from_before_the_last_boot_does_not_count(
    evictd_process: Process, tmp_path: Path
) -> None:
    alive(tmp_path, "collector", -1000)
    assert evictd_process("health", RUNTIME_DIRECTORY=str(tmp_path)).returncode == 1


def test_a_broken_sign_does_not_count(evictd_process: Process, tmp_path: Path) -> None:
    (tmp_path / "collector.alive").write_text("soon")
    assert evictd_process("health", RUNTIME_DIRECTORY=str(tmp_path)).returncode == 1


def test_asking_loads_nothing_heavy() -> None:
    probe = (
        "import sys; from evictd.cli import evictd; evictd.get_command(None, 'health'); "
        "heavy = {'msgspec', 'yaml', 'anyio', 'asyncio', 'aiomqtt', 'aiohttp', 'aiodocker', "
        "'structlog', 'sqlite3'}; print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
