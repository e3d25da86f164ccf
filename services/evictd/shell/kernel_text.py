"""What the kernel writes as text, and programs that write as it does: numbers, lives of processes.

It opens no file. Whoever reads names the place, for the error where a text makes no sense.
"""

from msgspec import Struct

from evictd.core.errors import HostError

COUNTER_MAX = 2**64 - 1
"""The greatest number that the kernel writes; some of its limits are that, and mean none."""
PROCESS_ID_MAX = 2**31 - 1
"""Ids of processes are signed numbers of 32 bits to every call that takes one."""
DIGITS_MAX = 20
"""Of the greatest number. Python refuses to read very long ones, and reading those takes time."""
SHOWN_CHARACTERS_MAX = 40
"""Of what is no number, in an error."""
FIELDS = 20
"""Of a process's `stat` after its name, as far as they are read: state first, start time last."""


class ProcessStat(Struct, frozen=True, kw_only=True):
    """`start_ticks`: clock ticks after boot. With the id it names one life of a process."""

    state: str
    start_ticks: int


def lines(text: str) -> list[str]:
    """Lines as the kernel ends them.

    Python would end one at other characters too, which names of files and processes may hold.
    """
    return text.removesuffix("\n").split("\n")


def shown(place: object) -> str:
    """A path or a name for people, who may be far away: its bytes may be no text that travels."""
    return str(place).encode(errors="replace").decode()


def number(word: str, most: int = COUNTER_MAX) -> int | None:
    """A number that is not negative and not above `most`; None for every other text."""
    if not _is_number(word) or len(word) > DIGITS_MAX or int(word) > most:
        return None
    return int(word)


def whole_number(word: str, place: object, most: int = COUNTER_MAX) -> int:
    """The same. Raises `HostError` naming the place for every other text."""
    found = number(word, most)
    if found is None:
        told = word[:SHOWN_CHARACTERS_MAX]
        why = f"{told} is too large a number" if _is_number(word) else f"{told!r} is not a number"
        raise HostError(f"{shown(place)}: {why}")
    return found


def process_id(word: str, place: object) -> int:
    """The id of a process; 0: one that cannot be seen from here.

    Raises `HostError` naming the place.
    """
    return whole_number(word, place, PROCESS_ID_MAX)


def process_stat(text: str, place: object) -> ProcessStat:
    """Of `/proc/PID/stat`, counted after the name, which may hold blanks and brackets.

    Raises `HostError` naming the place. [proc(5), stat, fields 3 and 22]
    """
    fields = text.rpartition(")")[2].split()
    if len(fields) < FIELDS:
        raise HostError(f"{shown(place)}: it ends before the start time")
    start_ticks = whole_number(fields[FIELDS - 1], f"{place}: start time")
    return ProcessStat(state=fields[0], start_ticks=start_ticks)


def _is_number(word: str) -> bool:
    """In the kernel's own digits: Python knows others, and some of those are no number."""
    return word.isascii() and word.isdigit()
