"""Whether a person has said that a workload, or everything, is left alone for now.

One rule for who decides and for who stops, and the forms in which a person may write it into a
file. [contract 3, Wish]
"""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from evictd.core.moments import after, in_utc
from evictd.core.orders import Verb
from evictd.core.signals.durations import DurationError, parse_seconds
from evictd_schemas import Wish

FILE_HOLD_SECONDS_MAX = 86_400.0
"""So long after its last change a file holds that names no end: one that was forgotten must not
switch a machine's protection off for ever."""


def in_force(wish: Wish, utc: datetime) -> bool:
    """A Hold whose time is not over."""
    return wish.verb == Verb.HOLD and (wish.until is None or wish.until > utc)


def hold_on(wishes: Iterable[Wish], name: str, *, hard: bool, utc: datetime) -> Wish | None:
    """The Hold that keeps `namespace/name` from being stopped now.

    One that does not include hard evictions keeps it from soft ones only.
    """
    for wish in wishes:
        applies = in_force(wish, utc) and wish.target in (None, name)
        if applies and (wish.include_hard or not hard):
            return wish
    return None


def until_text(wish: Wish) -> str:
    """How long it holds, for people."""
    if wish.until is None:
        return "until taken back"
    return f"until {in_utc(wish.until):%Y-%m-%dT%H:%M:%SZ}"


def written(text: str, made: datetime) -> tuple[Wish, ...]:
    """The Holds that a file of that text and change time stands for.

    Empty: everything, until the file is removed. A time (RFC 3339) or a duration after the change:
    everything, until then. A Wish or a list of Wishes as JSON: those. What cannot be read was meant
    to hold something: it counts as empty.
    """
    latest = after(made, FILE_HOLD_SECONDS_MAX)
    wishes = _wishes(text.strip(), made)
    return tuple(
        structs.replace(wish, until=latest) if wish.until is None else wish
        for wish in wishes
        if wish.verb == Verb.HOLD
    )


def _wishes(text: str, made: datetime) -> tuple[Wish, ...]:
    if text.startswith(("{", "[")):
        try:
            found = msgspec.json.decode(text, type=Wish | tuple[Wish, ...])
        except (msgspec.MsgspecError, RecursionError):
            return (Wish(verb=Verb.HOLD),)
        return found if isinstance(found, tuple) else (found,)
    return (Wish(verb=Verb.HOLD, until=_end(text, made)),)


def _end(text: str, made: datetime) -> datetime | None:
    try:
        return after(made, parse_seconds(text))
    except (DurationError, OverflowError):
        pass
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
