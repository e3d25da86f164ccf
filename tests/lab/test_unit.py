"""The systemd unit, judged by systemd's own tools; no systemd has to run for it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "deploy" / "evictd.service"
EXPOSURE_TENTHS_MAX = 35  # 3.5 of 10: root with few capabilities cannot get much lower


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that exists here in the place of the installed one."""
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text()))
    return copy


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze."""
    return subprocess.run(
        ["systemd-analyze", *map(str, arguments)], check=False, capture_output=True, text=True
    )


def test_systemd_understands_every_line_of_the_unit(unit: Path) -> None:
    """A misspelt setting is only a warning to systemd, and then protects nothing."""
    verified = analyze("verify", "--man=no", unit)
    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_unit_gives_away_few_rights(unit: Path) -> None:
    """systemd's own measure stays below a line that only moves down."""
    judged = analyze("security", "--offline=true", f"--threshold={EXPOSURE_TENTHS_MAX}", unit)
    assert judged.returncode == 0, judged.stdout.splitlines()[-1]
