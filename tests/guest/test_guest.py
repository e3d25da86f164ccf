"""What the guest told, story by story."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(2000)
"""The first test of a boot is the boot, which has a time limit of its own."""


def test_a_story_passes_in_the_guest(boot: str, story: str, told: Callable[[str], Any]) -> None:
    """The console is shown where it does not, since the guest is gone."""
    heard = told(boot)
    result = heard.stories.get(story)
    assert result is not None, f"the guest never began it\n{heard.end()}"
    assert result.passed, f"{result.outcomes}\n{result.said}\n{heard.end()}"
