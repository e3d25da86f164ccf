"""Each boot of the guest once, however many tests ask what it told. [boots]"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.guest.boots import BOOTS
from tests.guest.machine import Guest, Told, collected
from tests.lab.conftest import capped_cgroup  # noqa: F401  # for the stories


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each story, named as in the guest."""
    if "story" in metafunc.fixturenames:
        pairs = [(boot, story) for boot in BOOTS for story in collected(BOOTS[boot])]
        names = [f"{boot}-{story}" for boot, story in pairs]
        metafunc.parametrize(("boot", "story"), pairs, ids=names)


@pytest.fixture(scope="session")
def guests(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Guest]]:
    """Every boot of which a test asks, all at once: a story waits more than it works."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    wanted = {item.callspec.params["boot"] for item in items if "told" in item.fixturenames}
    started: dict[str, Guest] = {}
    try:
        for name in sorted(wanted):
            started[name] = Guest(BOOTS[name], tmp_path_factory.mktemp(name))
        yield started
    finally:
        for guest in started.values():
            guest.end()


@pytest.fixture(scope="session")
def told(guests: dict[str, Guest]) -> Callable[[str], Told]:
    """What a boot told; the first to ask waits for its end."""
    return cache(lambda name: guests[name].told())
