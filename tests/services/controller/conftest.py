"""A bench for each test."""

from collections.abc import AsyncIterator

import pytest
from tests.services.controller.bench import Bench


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A node without a running controller: virtual time counts only inside the test."""
    found = Bench()
    yield found
    await found.kill()
