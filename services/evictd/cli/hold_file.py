"""The hold file of this machine, as `evictd hold` writes it.

What it means is a rule of the core; the responder reads it before each stop. [contract 3, Wish]
"""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from evictd.core.errors import HostError
from evictd.core.holds import in_force, written
from evictd.responder.holding import FILE_BYTES_MAX, FILE_NAME
from evictd.shell import whole_file
from evictd_schemas import Wish
from evictd_schemas.topics import Role

READABLE = 0o644
"""Holds are no secret, and the responder may be another user."""


def place(state_folder: Path) -> Path | None:
    """Where it belongs, None where no responder of this machine has its state there.

    Nor for a user who cannot see into that folder.
    """
    has_responder = os.access(state_folder / f"{Role.RESPONDER}.journal", os.F_OK)
    return state_folder / FILE_NAME if has_responder else None


def holds(path: Path, now: datetime) -> tuple[Wish, ...]:
    """What it holds now; nothing where it is not there. Raises `HostError`."""
    try:
        made = whole_file.changed_time(path)
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(FILE_BYTES_MAX)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise HostError(f"{path} cannot be read: {error.strerror}; try it with sudo") from error
    return tuple(wish for wish in written(text, made) if in_force(wish, now))


def add(path: Path, wish: Wish, now: datetime) -> None:
    """One more; an earlier one about the same workload is replaced. Raises `HostError`."""
    _write(path, (*_without(holds(path, now), lambda held: held.target == wish.target), wish))


def end(path: Path, target: str | None, now: datetime) -> tuple[Wish, ...]:
    """Those of one workload, or all, are over; which were. Raises `HostError`."""
    found = holds(path, now)
    over = tuple(wish for wish in found if target is None or about(wish, target))
    if over or path.exists():
        _write(path, _without(found, lambda held: held in over))
    return over


def about(wish: Wish, target: str) -> bool:
    """Whether a person means it by that name: `namespace/name`, or the name alone."""
    full = wish.target or ""
    return target in (full, full.partition("/")[2])


def _without(wishes: Iterable[Wish], gone: Callable[[Wish], bool]) -> tuple[Wish, ...]:
    return tuple(wish for wish in wishes if not gone(wish))


def _write(path: Path, wishes: tuple[Wish, ...]) -> None:
    """In one piece, so that a responder never reads half of it."""
    try:
        if not wishes:
            path.unlink(missing_ok=True)
            return
        whole_file.replace(path, msgspec.json.encode(wishes), READABLE)
    except OSError as error:
        raise HostError(f"{path} cannot be written: {error.strerror}; try it with sudo") from error
