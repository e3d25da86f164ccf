"""A kind of rows that can be asked for: the heads of its columns, and where the rows come from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from evictd.cli.tables import Item
from evictd.client import Mirror


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How one kind of thing is shown; `wide_head`: what `-o wide` has besides."""

    head: tuple[str, ...]
    wide_head: tuple[str, ...]
    items: Callable[[Mirror, datetime], Iterator[Item]]
    """All of them, from what is on the bus now."""
