"""The pause before a connection or a broker of ours is begun again."""

from evictd.shell.back_off import (
    FIRST_SECONDS,
    PAUSE_SECONDS_MAX,
    SETTLED_SECONDS,
    BackOff,
)


def test_the_pause_doubles_with_each_short_life_up_to_its_greatest() -> None:
    back_off = BackOff()
    pauses = [back_off.pause_seconds(SETTLED_SECONDS) for _ in range(9)]
    assert pauses[:3] == [FIRST_SECONDS, 2 * FIRST_SECONDS, 4 * FIRST_SECONDS]
    assert pauses[-2:] == [PAUSE_SECONDS_MAX, PAUSE_SECONDS_MAX]


def test_after_a_life_that_lasted_the_pause_is_the_first_one_again() -> None:
    back_off = BackOff()
    for _ in range(9):
        back_off.pause_seconds(0.0)
    assert back_off.pause_seconds(SETTLED_SECONDS + 1) == FIRST_SECONDS
    assert back_off.pause_seconds(0.0) == 2 * FIRST_SECONDS
