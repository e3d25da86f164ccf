"""The inbox: newest of a kind per key, in order, and timers on virtual time. [design, law 4]"""

import asyncio

import pytest

from evictd.core.effects import Tick
from evictd.shell.clock import LoopClock
from evictd.shell.inbox import KEYS_AT_ONCE, TIMER_RECHECK_SECONDS, Inbox

pytestmark = pytest.mark.looptime


async def test_a_newer_item_of_a_kind_replaces_the_older_one_of_the_same_key() -> None:
    inbox: Inbox[str] = Inbox(LoopClock())
    inbox.feed("a", "old")
    inbox.feed("b", "other")
    inbox.feed("a", "new")
    inbox.close()
    assert [batch async for batch in inbox] == [[("a", "new"), ("b", "other")]]


async def test_slots_of_one_key_are_kept_apart() -> None:
    inbox: Inbox[str] = Inbox(LoopClock())
    inbox.feed("a", "one", slot=1)
    inbox.feed("a", "two", slot=2)
    inbox.close()
    assert [batch async for batch in inbox] == [[("a", "one"), ("a", "two")]]


async def test_a_batch_is_bounded_and_what_waits_on_coalesces_on() -> None:
    """So that ten thousand keys at once hold nobody else up for seconds. A key is never split."""
    inbox: Inbox[str] = Inbox(LoopClock())
    keys = [f"key {number}" for number in range(2 * KEYS_AT_ONCE + 1)]
    for key in keys:
        inbox.feed(key, "old", slot=1)
        inbox.feed(key, "other", slot=2)
    batches = []
    async for batch in inbox:
        if not batches:
            inbox.feed(keys[0], "new", slot=1)
            inbox.feed(keys[-1], "new", slot=1)
            inbox.close()
        batches.append(batch)
    assert [len(batch) for batch in batches] == [2 * KEYS_AT_ONCE, 2 * KEYS_AT_ONCE, 3]
    assert batches[0][:2] == [(keys[0], "old"), (keys[0], "other")]
    assert batches[2] == [(keys[-1], "other"), (keys[-1], "new"), (keys[0], "new")]


async def test_a_pressing_key_is_taken_first_however_many_wait() -> None:
    inbox: Inbox[str] = Inbox(LoopClock())
    for number in range(2 * KEYS_AT_ONCE):
        inbox.feed(f"key {number}", "given")
    inbox.pressing |= {"hurry", "idle"}
    inbox.feed("hurry", "given")
    inbox.close()
    batches = [batch async for batch in inbox]
    assert batches[0][0] == ("hurry", "given")
    assert [len(batch) for batch in batches] == [KEYS_AT_ONCE, KEYS_AT_ONCE, 1]
    assert len({key for batch in batches for key, _ in batch}) == 2 * KEYS_AT_ONCE + 1


async def test_a_timer_feeds_a_tick_at_its_time_and_a_later_wish_replaces_it() -> None:
    clock = LoopClock()
    inbox: Inbox[str] = Inbox(clock)
    inbox.wake_at("a", clock.now().boot_seconds + 5)
    inbox.wake_at("a", clock.now().boot_seconds + 3 * TIMER_RECHECK_SECONDS)
    started = asyncio.get_running_loop().time()
    batch = await anext(aiter(inbox))
    assert batch == [("a", Tick())]
    assert asyncio.get_running_loop().time() - started == pytest.approx(3 * TIMER_RECHECK_SECONDS)


async def test_nothing_real_may_start_on_virtual_time() -> None:
    """The guard of these tests themselves."""
    with pytest.raises(AssertionError, match="under looptime"):
        await asyncio.to_thread(int)
