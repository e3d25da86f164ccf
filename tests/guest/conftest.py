"""Each boot of the guest once, however many tests ask what it told."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

if (root := str(Path(__file__).parents[2])) not in sys.path:
    sys.path.insert(0, root)

from tests.guest.boots import BOOTS
from tests.guest.machine import Told, collected, start
from tests.lab.conftest import capped_cgroup  # noqa: F401  # for the stories


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each story, named as in the guest."""
    if "story" in metafunc.fixturenames:
        pairs = [(boot, story) for boot in BOOTS for story in collected(BOOTS[boot])]
        names = [f"{boot}-{story}" for boot, story in pairs]
        metafunc.parametrize(("boot", "story"), pairs, ids=names)


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Told]:
    """What a boot of this name told; the first to ask starts it and waits for its end."""

    @cache
    def started(name: str) -> Told:
        return start(BOOTS[name], tmp_path_factory.mktemp(name))

    return started
