"""Whether a person has said that a workload, or everything, is left alone for now.

One rule for who decides and for who stops. [contract 3, Wish]
"""

from collections.abc import Iterable
from datetime import datetime

from evictd.core.orders import Verb
from evictd_schemas import Wish


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
    return f"until {'taken back' if wish.until is None else wish.until.isoformat()}"
