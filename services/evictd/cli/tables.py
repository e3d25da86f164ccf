"""What people read: aligned columns, ages, and one row as a table, JSON, YAML or a name.

Data only; it knows no message and colours nothing, so that a pipe gets what a terminal gets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import click
import msgspec
import msgspec.yaml

from evictd.cli.options import Command
from evictd.core.signals.amounts import reading_text
from evictd.core.wording import on_one_line
from evictd_schemas import Number

NOTHING = "-"
GAP = "  "
MINUTE, HOUR, DAY = 60, 3_600, 86_400
UNITS = {1: "s", MINUTE: "m", HOUR: "h", DAY: "d"}
SCALES = ((HOUR, MINUTE, 1), (DAY, HOUR, MINUTE))
"""Below the first a duration is told in the other two; longer ones in days and hours."""


class Output(StrEnum):
    """How rows are written.

    JSON and YAML are the messages themselves, and a contract; the table is not.
    """

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass(frozen=True, kw_only=True)
class Item:
    """One row: `name` is what `describe` and `withdraw` take, `document` what programs read."""

    name: str
    cells: tuple[str, ...]
    wide: tuple[str, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)


def output_option(*outputs: Output) -> Callable[[Command], Command]:
    """`-o`, with these choices, or all."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([output.value for output in outputs or tuple(Output)]),
        default=Output.TABLE.value,
        help="How to write it. JSON and YAML are stable, the table is for people.",
    )


def written(
    items: Sequence[Item], head: Sequence[str], wide_head: Sequence[str], output: str
) -> Iterator[str]:
    """Everything in one piece; an empty list is valid JSON and YAML and no table."""
    match output:
        case Output.JSON:
            yield json_text([item.document for item in items])
        case Output.YAML:
            yield yaml_text([dict(item.document) for item in items])
        case Output.NAME:
            yield from (item.name for item in items)
        case Output.WIDE:
            rows = [(*item.cells, *item.wide) for item in items]
            yield from aligned((*head, *wide_head), rows)
        case _:
            yield from aligned(head, [item.cells for item in items])


def object_text(document: Mapping[str, Any], output: str) -> str:
    """One object as JSON or YAML."""
    return json_text(document) if output == Output.JSON else yaml_text(dict(document))


def json_text(document: object) -> str:
    """Over several lines, for programs and people alike."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def yaml_text(document: object) -> str:
    """Without the end of the last line."""
    return msgspec.yaml.encode(document).decode().rstrip("\n")


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Columns of one width each under their heads; nothing where there are no rows."""
    table = [plain(row) for row in (head, *rows)]
    if len(table) == 1:
        return
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        yield row_text(row, widths)


def plain(cells: Sequence[str]) -> tuple[str, ...]:
    """A row with nothing in it that would break or hide it: what others said stands in it."""
    return tuple(map(on_one_line, cells))


def row_text(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line, for rows that come one at a time: a cell that is too wide pushes the rest."""
    return GAP.join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def age(seconds: float) -> str:
    """A duration in two units at most, such as 42s, 5m3s, 2h10m, 9d4h; never negative."""
    whole = max(0, int(seconds))
    if whole < 2 * MINUTE:
        return f"{whole}s"
    larger, smaller = next(
        ((larger, smaller) for limit, larger, smaller in SCALES if whole < limit), (DAY, HOUR)
    )
    first, rest = divmod(whole, larger)
    second = rest // smaller
    return f"{first}{UNITS[larger]}" + (f"{second}{UNITS[smaller]}" if second else "")


def second(time: datetime) -> str:
    """A moment as the messages have it, to the second."""
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def ago(time: datetime | None, now: datetime) -> str:
    """How long ago, `-` for never."""
    return NOTHING if time is None else age((now - time).total_seconds())


def due(time: datetime | None, now: datetime) -> str:
    """How long until then, or for how long it has been over."""
    if time is None:
        return NOTHING
    rest_seconds = (time - now).total_seconds()
    return f"in {age(rest_seconds)}" if rest_seconds >= 0 else f"{age(-rest_seconds)} ago"


def amount_text(signal: str, amount: Number | None) -> str:
    """An amount of a signal, `-` where it is not known."""
    return NOTHING if amount is None else reading_text(signal, amount)


def listed(texts: Iterable[str]) -> str:
    """Several in one cell, `-` for none."""
    return ", ".join(texts) or NOTHING
