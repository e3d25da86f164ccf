"""The chain of an Eviction as people read it: a row a responder, first to run first."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from evictd.cli.tables import NOTHING, ago, aligned, due
from evictd.core.protocol.chain import entry_of, ordered
from evictd_schemas import ResponderStatus, TargetResponder

CHAIN_HEAD = (
    "  RESPONDER",
    "PRIORITY",
    "STATE",
    "STARTED",
    "HEARTBEAT",
    "DEADLINE",
    "COMPLETED",
    "REPORT",
)


def chain_lines(
    chain: Iterable[TargetResponder], entries: Sequence[ResponderStatus], now: datetime
) -> Iterator[str]:
    """A row a responder, first to run first."""
    yield "Chain:"
    rows = [_turn(item, entry_of(entries, item.name), now) for item in ordered(chain)]
    yield from aligned(CHAIN_HEAD, rows)
    if not rows:
        yield "  its target has not been observed yet"


def _turn(item: TargetResponder, entry: ResponderStatus | None, now: datetime) -> tuple[str, ...]:
    entry = entry or ResponderStatus(name=item.name)
    reason = f" ({entry.interrupted_reason})" if entry.interrupted_reason else ""
    return (
        f"  {item.name}",
        str(item.priority),
        f"{item.state}{reason}",
        ago(entry.start_time, now),
        ago(entry.heartbeat_time, now),
        due(entry.deadline_time, now),
        ago(entry.completion_time, now),
        _report(entry, now),
    )


def _report(entry: ResponderStatus, now: datetime) -> str:
    """What it said, whether it can be taken back, and when it tries again."""
    parts = [entry.message] if entry.message else []
    if entry.point_of_no_return:
        parts.append("[point of no return]")
    setback = entry.setback
    if setback is not None and setback.next_try_time is not None:
        parts.append(f"[tried again {due(setback.next_try_time, now)}]")
    return " ".join(parts) or NOTHING
