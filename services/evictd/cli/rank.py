"""`evictd rank`: who would go, in which order, and each comparison that decided."""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from evictd.cli import disk_text
from evictd.cli.situation import checked_signal, situation, situation_options
from evictd.cli.tables import NOTHING
from evictd.core.decision.candidates import Verdict, may_go, victim
from evictd.core.decision.explanation import Explanation, Situation, explained
from evictd.core.signals.amounts import reading_text, rounded_text
from evictd.core.wording import name_text
from evictd_schemas import Number, RankedPod

HEAD = ("POD", "VERDICT", "PRIORITY", "USES", "ASKED FOR")


@click.command("rank")
@situation_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "config"]),
    default="table",
    help="A table, JSON, or a `workloads:` block to paste into the configuration.",
)
def command(output: str, signal: str | None, **where: Any) -> None:
    """Print who would go if something ran short, first to go first.

    The order is the one that the evictor would decide on now. Nothing is asked for.
    """
    found = situation(**where)
    explanation = explained(found, checked_signal(signal))
    match output:
        case "json":
            click.echo(msgspec.json.format(msgspec.json.encode(document(explanation))).decode())
        case "config":
            click.echo("\n".join(block(found, explanation)))
        case _:
            click.echo("\n".join(table(found, explanation)))


def situation_text(found: Situation, signal: str) -> Iterator[str]:
    """How much is left, what holds, and what the mode would make of it."""
    observation = found.given.observation
    reading = observation.signals.get(signal)
    left = "is not observed"
    if reading is not None:
        view = found.rules.profile.memory_view
        available = (
            reading.available if view is None else reading.views.get(view, reading.available)
        )
        left = f"is {reading_text(signal, available)} of {reading_text(signal, reading.capacity)}"
    held = [item.type for item in found.given.pressure.conditions if item.status == "True"]
    yield f"{found.rules.node}: {signal} {left}; {' and '.join(held) or 'nothing is short'}"
    yield f"mode is {found.rules.mode}; candidates: {found.rules.candidates}"


def table(found: Situation, explanation: Explanation) -> Iterator[str]:
    """One row a pod, and between two rows what decided."""
    yield from situation_text(found, explanation.signal)
    yield from disk_text.lines(found, explanation)
    yield ""
    if not explanation.ranking:
        yield "no workload is observed; `evictd doctor` tells whether an engine is seen here"
        return
    rows = [*_rows(explanation)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for index, row in enumerate(rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        if 0 < index <= len(explanation.between):
            yield f"{' ' * (widths[0] + 4)}{explanation.between[index - 1]}"
    if not may_go(explanation.ranking) and not victim(explanation.ranking):
        yield "nobody may go; `evictd rank -o config` prints a block that names candidates"


def document(explanation: Explanation) -> dict[str, Any]:
    """The rows as the Decision has them, and what put each before the next."""
    return {
        "signal": explanation.signal,
        **disk_text.document(explanation),
        "ranking": [
            {**msgspec.to_builtins(row), "beforeNext": why}
            for row, why in zip(explanation.ranking, (*explanation.between, None), strict=False)
        ],
    }


def block(found: Situation, explanation: Explanation) -> Iterator[str]:
    """Everybody with what holds now; a person moves priorities about and leaves lines out."""
    yield f"# Order of {found.rules.node} for {explanation.signal}, first to go first."
    yield "# Who is named here may go. A greater priority stays longer; protect: true never goes."
    if not explanation.ranking:
        yield "workloads: {}"
        return
    yield "workloads:"
    names = [f'"{name_text(row.pod)}":' for row in explanation.ranking]
    width = max(len(name) for name in names)
    for name, row in zip(names, explanation.ranking, strict=True):
        settings = f"priority: {row.priority}"
        if row.verdict == Verdict.PROTECTED and _is_protected(found, row):
            settings += ", protect: true"
        yield f"  {name.ljust(width)} {{{settings}}}  # {row.why}"


def _is_protected(found: Situation, row: RankedPod) -> bool:
    pods = found.given.observation.pods or ()
    return any(pod.protected for pod in pods if pod.uid == row.pod.uid)


def _rows(explanation: Explanation) -> Iterator[tuple[str, ...]]:
    """The head, and a row a pod; what each writes only where that decides."""
    spared = explanation.spared
    yield ("", *HEAD, *((disk_text.WRITES,) if spared else ()))
    for place, row in enumerate(explanation.ranking, 1):
        writes = (disk_text.written(explanation, row.pod.uid),) if spared else ()
        yield (*_cells(explanation.signal, place, row), *writes)


def _cells(signal: str, place: int, row: RankedPod) -> tuple[str, ...]:
    return (
        f"{place}.",
        name_text(row.pod),
        str(row.verdict),
        str(row.priority),
        _amount(signal, row.usage),
        _amount(signal, row.request),
    )


def _amount(signal: str, amount: Number | None) -> str:
    return NOTHING if amount is None else rounded_text(signal, amount)
