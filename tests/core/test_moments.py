"""Times that others write, at the ends of what can be written. [contract 1, Conventions]"""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.moments import FIRST, LAST, after, in_utc


@pytest.mark.parametrize("hours", [-14, 0, 14])
def test_after_the_last_moment_there_is_none(hours: int) -> None:
    last = LAST.replace(tzinfo=timezone(timedelta(hours=hours)))
    assert after(last, 60) == LAST


@pytest.mark.parametrize(("end", "hours", "nearest"), [(LAST, -14, LAST), (FIRST, 14, FIRST)])
def test_what_utc_cannot_write_is_the_nearest_it_can(
    end: datetime, hours: int, nearest: datetime
) -> None:
    assert in_utc(end.replace(tzinfo=timezone(timedelta(hours=hours)))) == nearest


@given(st.datetimes(timezones=st.just(UTC)), st.floats(0, 1e9))
def test_a_moment_is_later_by_so_many_seconds_and_never_earlier(
    time: datetime, seconds: float
) -> None:
    moment = after(time, seconds)
    assert time <= moment
    assert moment == LAST or moment - time == timedelta(seconds=seconds)
