"""Python's search for reference cycles, kept from going over what has none.

States are trees of frozen values: they hold no cycles and go with their last reference. While
thousands of them are built, Python goes over all of them again and again; with ten thousand
Evictions that took four times as long as everything else of a restart. [docs/performance.md]
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 50_000
"""A search begins after so many, instead of Python's 700: a few megabytes at most wait for it."""
ROWS_MANY = 1_000
"""Fewer rows are not worth setting apart."""


def search_less() -> None:
    """Once a process, before its workers begin."""
    gc.set_threshold(NEW_OBJECTS)


@contextmanager
def building_states(rows: int) -> Iterator[None]:
    """No search while so many states are read; those of a large journal are never gone over."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if rows >= ROWS_MANY:
            gc.freeze()
        if searching:
            gc.enable()
