"""What a controller of the shop has written down: Evictions, and the journal that holds them."""

import asyncio
from pathlib import Path
from typing import Any

from tests.cli.bus import Stage

from evictd.core.effects import ControllerEffect, Keep
from evictd.core.protocol.case import Case
from evictd.shell.journal import Row
from evictd.shell.journal_sqlite import SqliteJournal
from evictd_schemas import Eviction, topics


def evictions(*conditions: Any) -> tuple[Eviction, ...]:
    """One of web as the controller has it."""
    stage = Stage()
    stage.evict(**({"conditions": conditions} if conditions else {}))
    return tuple(found.message for found in stage.mirror.objects(topics.EVICTION))


async def written(path: Path, *rows: Row[Case, ControllerEffect]) -> None:
    async with SqliteJournal(path, Case, ControllerEffect) as journal:
        await journal.commit(rows)


def journal_with(machine: Path, *ended: Eviction, running: tuple[Eviction, ...] = ()) -> Path:
    """A controller's journal."""
    path = machine / "state" / "controller.journal"
    keep = Row[Case, ControllerEffect](
        key="over", state=None, effects=[Keep(eviction=eviction) for eviction in ended]
    )
    at = Row[Case, ControllerEffect](key="now", state=Case(evictions=running), effects=())
    asyncio.run(written(path, keep, at))
    return path
