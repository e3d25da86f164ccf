"""Python's search for cycles is told where there are none, and goes on everywhere else."""

import gc
from collections.abc import Iterator

import pytest

from evictd.shell.garbage import NEW_OBJECTS, ROWS_MANY, building_states, search_less


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What a test changes is changed back."""
    threshold, searching = gc.get_threshold(), gc.isenabled()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()
    if searching:
        gc.enable()


def test_nothing_is_searched_while_states_are_read() -> None:
    """And again afterwards, whatever happened."""
    gc.enable()
    with building_states(1):
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="a row"), building_states(1):
        raise ValueError("a row that cannot be read")
    assert gc.isenabled()


def test_where_nobody_searches_nobody_begins_to() -> None:
    """Whoever switched it off had a reason."""
    gc.disable()
    with building_states(1):
        pass
    assert not gc.isenabled()


@pytest.mark.parametrize(("rows", "set_apart"), [(ROWS_MANY - 1, False), (ROWS_MANY, True)])
def test_only_many_states_are_set_apart(rows: int, set_apart: bool) -> None:
    """A small process has nothing to win."""
    gc.unfreeze()
    with building_states(rows):
        pass
    assert (gc.get_freeze_count() > 0) is set_apart


def test_a_process_searches_less_often() -> None:
    """Cycles are still found."""
    search_less()
    assert gc.get_threshold()[0] == NEW_OBJECTS
