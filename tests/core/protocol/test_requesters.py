"""Too many requesters of one target: who keeps a place. [eviction-request-api 5.5]"""

from datetime import UTC, datetime, timedelta

from evictd.core.protocol.requesters import REQUESTERS_MAX, merge
from evictd.core.protocol.vocabulary import NODE_PRESSURE
from evictd_schemas import EvictionRequest, EvictionRequestSpec, Metadata

FIRST = datetime(2026, 11, 30, 8, tzinfo=UTC)


def request(requester: str, minute: int) -> EvictionRequest:
    return EvictionRequest(
        metadata=Metadata(
            name=f"r{minute}",
            namespace="shop",
            creation_timestamp=FIRST + timedelta(minutes=minute),
        ),
        spec=EvictionRequestSpec(requester=requester, intent="Eviction"),
    )


def test_node_pressure_has_a_place_however_many_asked_before() -> None:
    """Else a budget that it ignores would be kept against it."""
    others = [request(f"acme.io/mover-{number}", number) for number in range(REQUESTERS_MAX + 5)]
    merged, changed = merge((), (*others, request(NODE_PRESSURE, REQUESTERS_MAX + 9)))
    assert merged[0].name == NODE_PRESSURE
    assert len(merged) == REQUESTERS_MAX
    assert changed


def test_who_asked_last_is_left_out_of_a_full_list() -> None:
    others = [request(f"acme.io/mover-{number}", number) for number in range(4)]
    merged, _ = merge((), others, limit=3)
    assert [item.name for item in merged] == [f"acme.io/mover-{number}" for number in range(3)]
