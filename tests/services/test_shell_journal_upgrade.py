"""Rows of earlier versions, as they were written in the midst of a stop: an upgrade loses nothing.

What fails here was renamed, moved or taken away. Give it its former name, or raise
`journal_store.FORMAT`, so that a start refuses such a file in words instead of forgetting.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evictd.core.duty import Duty, Effect
from evictd.core.effects import ControllerEffect
from evictd.core.protocol.case import Case
from evictd.shell.journal_codec import Codec
from evictd_schemas.topics import Role

FIXTURES = Path(__file__).parents[1] / "fixtures" / "journal"
KINDS: dict[Role, tuple[Any, Any]] = {
    Role.CONTROLLER: (Case, ControllerEffect),
    Role.RESPONDER: (Duty, Effect),
}


def lost(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """What was there and is not any more, or is another; what is new may be there besides."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            yield from lost(value, after.get(name), f"{place}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(one, other, f"{place}[{number}]")
    elif before not in (after, None, {}, [], "", False, 0):
        yield place


@pytest.mark.parametrize("role", KINDS)
def test_rows_of_an_earlier_version_are_read_whole(role: Role) -> None:
    rows = json.loads((FIXTURES / f"{role}.json").read_text())
    assert rows
    codec: Codec[Any, Any] = Codec(*KINDS[role])
    for row in rows:
        texts = (json.dumps(row[name]).encode() for name in ("state", "effects"))
        state, effects = codec.write(*codec.read(*texts))
        assert state is not None
        assert [*lost(row["state"], json.loads(state))] == []
        assert [*lost(row["effects"], json.loads(effects))] == []


def test_what_is_lost_would_be_told() -> None:
    assert [*lost({"a": {"b": 1}, "c": None}, {"a": {"bb": 1}})] == [".a.b"]
    assert [*lost([1, 2], [1])] == [""]
