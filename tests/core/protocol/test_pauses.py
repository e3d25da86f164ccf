"""How long a used-up chain rests before the next round."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from evictd.core.protocol.conditions import CANCELED, EXHAUSTED, Verdict, conclude
from evictd.core.protocol.patience import pause_end
from evictd.core.protocol.policy import (
    EVICTD,
    ROUND_PAUSE_SECONDS,
    ROUND_PAUSE_SECONDS_MAX,
    UPSTREAM,
)
from evictd_schemas import Eviction, EvictionStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ended(verdict: Verdict, number: int) -> Eviction:
    conditions, _ = conclude((), verdict, NOW)
    return Eviction(status=EvictionStatus(conditions=conditions, round=number))


@given(st.integers(0, 200))
def test_the_pause_doubles_up_to_its_bound(number: int) -> None:
    pause = pause_end(EVICTD, ended(EXHAUSTED, number)) - NOW
    wanted = min(ROUND_PAUSE_SECONDS * 2**number, ROUND_PAUSE_SECONDS_MAX)
    assert pause == timedelta(seconds=wanted)


def test_only_a_used_up_chain_rests_and_upstream_none() -> None:
    assert pause_end(EVICTD, ended(CANCELED, 3)) == NOW
    assert pause_end(UPSTREAM, ended(EXHAUSTED, 3)) == NOW
