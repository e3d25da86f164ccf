"""What is written down of one that is down because of us."""

import pytest
from msgspec import structs
from tests.core.duty.stage import GONE, POD, UID, Responder, eviction

from evictd.core.duty import Assigned, Listed, StopEnded
from evictd.core.effects import Publish
from evictd_schemas import MemoryStatistics, PodStatistics, Stopped


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (MemoryStatistics(working_set_bytes=900, swap_bytes=600, rss_bytes=800), 1500),
        (MemoryStatistics(working_set_bytes=900, swap_bytes=0), 900),
        (MemoryStatistics(swap_bytes=600), None),
        (None, None),
    ],
)
def test_what_was_swapped_out_needs_room_again(
    memory: MemoryStatistics | None, expected: int | None
) -> None:
    """Short memory had made its working set small. [field case G5]"""
    responder = Responder()
    pod = structs.replace(POD, stats=PodStatistics(memory=memory))
    responder(Assigned(eviction=eviction()))
    responder(Listed(uid=UID, pod=pod))
    effects = responder(StopEnded(uid=UID, outcome=GONE), after=3)
    (record,) = (
        effect.message
        for effect in effects
        if isinstance(effect, Publish) and isinstance(effect.message, Stopped)
    )
    assert record.last_usage == expected
