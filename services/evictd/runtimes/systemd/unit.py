"""One unit as systemd shows it, read from the lines of `systemctl show`.

It starts no program. What a line says that cannot be read counts as not said.
"""

import re
from datetime import UTC, datetime

from msgspec import Struct

from evictd.runtimes.hierarchies import bounded_bytes
from evictd.shell.kernel_text import PROCESS_ID_MAX, lines, number

SUFFIXES = (".service", ".scope", ".slice")
"""The kinds in which processes run; all others are plumbing."""
STARTERS = (".socket", ".timer", ".path")
"""The kinds that start others."""
NAME_CHARACTERS_MAX = 255
NAME = re.compile(r"[A-Za-z0-9:_.\\@-]+")
"""What systemd allows in a name: no glob, so that one name is never taken for several units."""

RUNNING = frozenset({"active", "reloading", "refreshing", "activating", "deactivating"})
WITHOUT_PROCESSES = frozenset({"exited", "elapsed", "auto-restart", "auto-restart-queued"})
"""Sub-states of services that are up, or about to be, while nothing runs in them."""

PROPERTIES = (
    "Id",
    "Names",
    "LoadState",
    "ActiveState",
    "SubState",
    "InvocationID",
    "MainPID",
    "ControlGroup",
    "MemoryMin",
    "MemoryLow",
    "MemoryMax",
    "TimeoutStopUSec",
    "ActiveEnterTimestamp",
    "ActiveEnterTimestampMonotonic",
    "SliceOf",
    "RequiredBy",
    "RequisiteOf",
    "BoundBy",
    "ConsistsOf",
    "PropagatesStopTo",
    "TriggeredBy",
    "Requires",
    "Wants",
    "RefuseManualStop",
    "RefuseManualStart",
    "Transient",
)
"""Asked for in one call. A kind of unit that has no such property leaves it out."""

DEPENDANTS = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")
"""Who is stopped when a unit is stopped."""
CONTENTS = ("SliceOf", "RequiredBy")
"""What is in a slice; an older systemd says it by the second alone."""

SPAN = re.compile(r"(\d+(?:\.\d+)?)(y|month|w|d|h|min|s|ms|us)\b")
SPAN_SECONDS = {
    "y": 31_557_600.0,
    "month": 2_629_800.0,
    "w": 604_800.0,
    "d": 86_400.0,
    "h": 3_600.0,
    "min": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
}


class Unit(Struct, frozen=True, kw_only=True):
    """A unit in memory of systemd now. Bytes None: no such reservation or limit.

    `invocation_id` names one life of it. `stop_seconds` is its own time between SIGTERM and
    SIGKILL, None for no end or where it has none. `contents`: of a slice, the units directly in it.
    `dependants`: units that systemd stops with it.
    `needs`: what it requires or wants. `triggered_by`: sockets, timers and paths that start it.
    `is_transient`: it has no file, so that nothing of it is left once it is down.
    """

    id: str
    names: frozenset[str] = frozenset()
    load_state: str = ""
    active_state: str = ""
    sub_state: str = ""
    invocation_id: str = ""
    main_process_id: int | None = None
    control_group: str = ""
    memory_min_bytes: int | None = None
    memory_low_bytes: int | None = None
    memory_max_bytes: int | None = None
    stop_seconds: float | None = None
    active_since: datetime | None = None
    active_monotonic: str = ""
    contents: frozenset[str] = frozenset()
    dependants: frozenset[str] = frozenset()
    triggered_by: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    refuses_stop: bool = False
    refuses_start: bool = False
    is_transient: bool = False

    @property
    def is_slice(self) -> bool:
        """Whether it only holds other units."""
        return self.id.endswith(".slice")

    @property
    def is_up(self) -> bool:
        """Whether it would be stopped: one that is stopping counts until it is down."""
        return self.active_state in RUNNING

    @property
    def runs(self) -> bool:
        """Whether it is up and there may be processes in it."""
        idle = self.sub_state in WITHOUT_PROCESSES
        return self.is_up and not idle and self.id.endswith(SUFFIXES)

    @property
    def down(self) -> bool:
        """Whether systemd is done with this life of it."""
        return self.active_state in ("inactive", "failed")


def name_problem(name: str, suffixes: tuple[str, ...] = SUFFIXES) -> str | None:
    """Why this cannot be the name of one unit of these kinds, or None."""
    if len(name) > NAME_CHARACTERS_MAX:
        return f"it is longer than {NAME_CHARACTERS_MAX} characters"
    if not NAME.fullmatch(name):
        return "it holds what systemd allows in no name of a unit"
    if not name.endswith(suffixes):
        return f"it ends in none of {', '.join(suffixes)}"
    return None


def units(output: str) -> tuple[Unit, ...]:
    """Every block of lines that names a unit; what is no such block says nothing."""
    blocks = (_fields(block) for block in output.split("\n\n"))
    return tuple(_unit(fields) for fields in blocks if _is_name(fields.get("Id", "")))


def span_seconds(text: str) -> float | None:
    """`1min 30s` as seconds; None for `infinity` and for what is no span."""
    found = SPAN.findall(text)
    if SPAN.sub("", text).strip() or not found:
        return 0.0 if text.strip() == "0" else None
    return sum(float(amount) * SPAN_SECONDS[unit] for amount, unit in found)


def _fields(block: str) -> dict[str, str]:
    parts = (line.partition("=") for line in lines(block))
    return {name: value.strip() for name, separator, value in parts if separator}


def _unit(fields: dict[str, str]) -> Unit:
    words = {name: tuple(filter(_is_name, value.split())) for name, value in fields.items()}
    contents = CONTENTS if fields["Id"].endswith(".slice") else ()
    return Unit(
        id=fields["Id"],
        names=frozenset((fields["Id"], *words.get("Names", ()))),
        load_state=fields.get("LoadState", ""),
        active_state=fields.get("ActiveState", ""),
        sub_state=fields.get("SubState", ""),
        invocation_id=fields.get("InvocationID", ""),
        main_process_id=number(fields.get("MainPID", ""), PROCESS_ID_MAX) or None,
        control_group=_path(fields.get("ControlGroup", "")),
        memory_min_bytes=_bytes(fields.get("MemoryMin", "")),
        memory_low_bytes=_bytes(fields.get("MemoryLow", "")),
        memory_max_bytes=_bytes(fields.get("MemoryMax", "")),
        stop_seconds=span_seconds(fields.get("TimeoutStopUSec", "")),
        active_since=_moment(fields.get("ActiveEnterTimestamp", "")),
        active_monotonic=fields.get("ActiveEnterTimestampMonotonic", ""),
        contents=frozenset(word for name in contents for word in words.get(name, ())),
        dependants=frozenset(word for name in DEPENDANTS for word in words.get(name, ())),
        triggered_by=words.get("TriggeredBy", ()),
        needs=frozenset((*words.get("Requires", ()), *words.get("Wants", ()))),
        refuses_stop=fields.get("RefuseManualStop") == "yes",
        refuses_start=fields.get("RefuseManualStart") == "yes",
        is_transient=fields.get("Transient") == "yes" or fields["Id"].endswith(".scope"),
    )


def _is_name(word: str) -> bool:
    """Whether a unit may have it, so that it may be an argument of `systemctl` too."""
    return name_problem(word, suffixes=("",)) is None


def _path(text: str) -> str:
    return text if text.startswith("/") and "\0" not in text else ""


def _bytes(text: str) -> int | None:
    """`infinity`, zero and the greatest number of 64 bits all mean none."""
    amount = number(text)
    return None if amount is None else bounded_bytes(amount)


def _moment(text: str) -> datetime | None:
    """`Mon 2026-11-30 06:00:00 UTC`; it was asked for in that zone."""
    _, _, rest = text.partition(" ")
    try:
        return datetime.strptime(rest, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
