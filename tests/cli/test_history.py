"""`evictd history`: what is over, from the journal alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import Result
from tests.cli.bus import DRAIN, EVICTED, NODE
from tests.cli.journals import evictions, journal_with

from evictd.cli import past
from evictd.core.errors import HostError
from evictd_schemas import Eviction

Run = Callable[..., Result]


def test_history_tells_what_when_why_by_whom_and_how_long(offline_run: Run, machine: Path) -> None:
    journal_with(machine, *evictions(*EVICTED))
    result = offline_run("history")
    assert result.exit_code == 0
    head, row = result.stdout.splitlines()
    cells = dict(zip(head.split("  "), row.split("  "), strict=False))
    assert cells["ENDED"].startswith("2026-11-30T08:09:40Z")
    assert row.split()[1:] == [
        NODE,
        "shop/web",
        "Evicted",
        "evictd.io/cli",
        DRAIN,
        "40s",
        "moving",
        "house",
    ]


def test_history_as_json_is_the_evictions_themselves(offline_run: Run, machine: Path) -> None:
    (eviction,) = evictions(*EVICTED)
    journal_with(machine, eviction)
    result = offline_run("history", "-o", "json")
    assert msgspec.json.decode(result.stdout, type=list[Eviction]) == [eviction]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("--workload", "shop/web"), 1),
        (("--workload", "web"), 1),
        (("--workload", "db"), 0),
        (("--node", NODE), 1),
        (("--node", "other"), 0),
        (("--evicted",), 1),
    ],
)
def test_history_may_be_asked_for_less(
    offline_run: Run, machine: Path, options: tuple[str, ...], count: int
) -> None:
    journal_with(machine, *evictions(*EVICTED))
    result = offline_run("history", "-o", "name", *options)
    assert len(result.stdout.splitlines()) == count
    assert result.stderr == ("" if count else "nothing that has ended is like that\n")


def test_without_a_journal_there_is_no_history(
    evictd_process: Callable[..., Any], tmp_path: Path
) -> None:
    result = evictd_process("history", EVICTD_STATEFOLDER=str(tmp_path / "none"))
    assert result.returncode == 4
    assert "no history yet" in result.stderr


def test_a_journal_that_is_not_for_this_user_is_told_as_such(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = journal_with(machine)

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(HostError, match="Permission denied; try it with sudo"):
        past.history(path)
