"""Makes the bench beside these tests importable, and gives one to each test."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from tests.services.controller.bench import Bench  # noqa: E402 - importable since the line above


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A node without a running controller: virtual time counts only inside the test."""
    found = Bench()
    yield found
    await found.kill()
