"""The story of `evictd demo`, told on virtual time."""

import pytest

from evictd.shell.clock import LoopClock
from evictd.simulation import demo

ACTS = (
    ("NodeHasInsufficientMemory", ""),
    ("EvictionThresholdMet", "soft threshold"),
    ("ResponderActive", f"{demo.DRAIN} is to act on shop/batch"),
    ("ResponderCompleted", f"{demo.DRAIN} has completed its work on shop/batch"),
    ("Evicted", "shop/batch is gone"),
    ("NodeHasSufficientMemory", ""),
    ("EvictionThresholdMet", "hard threshold"),
    ("Evicted", "shop/cache is gone"),
    ("NodeHasSufficientMemory", ""),
    ("Restored", "shop/batch was started again"),
)


@pytest.mark.looptime
async def test_the_story_has_all_its_acts_in_order_and_ends_within_a_minute() -> None:
    """Soft with a save, hard without, and the return of the one that has room again."""
    told: list[str] = []
    clock = LoopClock()
    began_seconds = clock.now().boot_seconds
    await demo.tell(told.append, clock)
    assert clock.now().boot_seconds - began_seconds < 60
    rest = iter(told)
    for what, sentence in ACTS:
        assert any(f" {what} " in line and sentence in line for line in rest), what
    assert sum(" Restored " in line for line in told) == 1
