"""The command line in this process, and as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.bus import NODE

from evictd.cli import evictd

STATE = "EVICTD_STATEFOLDER"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Call a verb; no variable of ours from outside, and errors of the family come as they are.

    What an evictd that runs on this machine has left is nothing to these tests.
    """
    for name in [name for name in os.environ if name.startswith("EVICTD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(STATE, str(tmp_path / "no-state"))
    runner = CliRunner()

    def call(*arguments: str | Path) -> Result:
        return runner.invoke(evictd, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def evictd_process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same as a process, for its exit code and what it says."""

    def call(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "evictd", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=40,
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                STATE: str(tmp_path / "no-state"),
                **variables,
            },
        )

    return call


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which evictd has run; nothing runs now."""
    for name in ("config", "run", "state"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    return tmp_path


@pytest.fixture
def offline_run(
    run: Callable[..., Result], machine: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """A verb on that machine."""
    monkeypatch.setenv(STATE, str(machine / "state"))
    monkeypatch.setenv("EVICTD_NODE", NODE)
    return run
