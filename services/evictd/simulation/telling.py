"""A story as people read it and as programs do: a table, the same with reasons, or JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from evictd.core.decision.candidates import Verdict
from evictd.core.decision.report import Action
from evictd.core.protocol.vocabulary import Status
from evictd.core.rules import Rules
from evictd.core.signals.amounts import reading_text
from evictd.core.signals.names import SIGNALS
from evictd.core.signals.quantities import Format, canonical
from evictd.simulation.cast import name_of
from evictd.simulation.chronicle import Asked, Turn
from evictd.simulation.scenario import Scenario
from evictd_schemas import Decision

COLUMNS_MAX = 5
"""Signals shown side by side; JSON has them all."""
INDENT = " " * 10
NOTHING = "-"


def table(scenario: Scenario, turns: Sequence[Turn], *, wide: bool = False) -> str:
    """One row a turn: when, how much is left, what holds, what is done. `wide`: and why."""
    names = signals_shown(scenario.rules, turns)
    rows = [_head(names), *(_cells(names, turn) for turn in turns)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [scenario.title, ""] if scenario.title else []
    lines.append(_row(rows[0], widths))
    for turn, row in zip(turns, rows[1:], strict=True):
        if turn.note:
            lines.append(f"{INDENT}# {turn.note}")
        lines.append(_row(row, widths))
        if wide:
            lines += [f"{INDENT}  {line}" for line in _remarks(turn)]
    return "\n".join(lines)


def document(scenario: Scenario, turns: Sequence[Turn]) -> dict[str, Any]:
    """The same as builtins, in the names of the contract; equal scenarios give equal documents."""
    return {
        "title": scenario.title,
        "node": scenario.rules.node,
        "turns": [_as_builtins(turn) for turn in turns],
    }


def signals_shown(rules: Rules, turns: Sequence[Turn]) -> tuple[str, ...]:
    """Those that a line is about, in the order in which signals are published."""
    lined = {
        signal
        for line in rules.thresholds
        for signal in (line.signal, *(part.signal for part in (*line.all_of, *line.any_of)))
    }
    seen = {name for turn in turns for name in turn.signals}
    shown = [name for name in SIGNALS if name in seen and name in lined]
    return tuple(shown[:COLUMNS_MAX])


def decision_text(turn: Turn) -> str:
    """What is done, in a few words."""
    decision = turn.decision
    if decision is None:
        return "; ".join(turn.happened) if turn.happened else NOTHING
    match decision.action:
        case Action.EVICT:
            return f"{Action.EVICT} {', '.join(_victims(turn, decision))}"
        case Action.RECLAIM:
            return f"{Action.RECLAIM} {', '.join(turn.reclaim)}".rstrip()
        case _:
            return ", ".join([decision.action, *_besides(turn)])


def _besides(turn: Turn) -> Iterator[str]:
    """Who is let off, or given less time than he was asked to go in."""
    for asked in turn.asked:
        if asked.withdrawn:
            yield f"{asked.pod} may stay"
        else:
            yield f"{_asked_text(asked)} at latest"


def _victims(turn: Turn, decision: Decision) -> Iterator[str]:
    asked = [item for item in turn.asked if not item.withdrawn]
    if asked:
        yield from (_asked_text(item) for item in asked)
        return
    for row in decision.ranking:
        if row.verdict == Verdict.VICTIM:
            yield f"{name_of(row.pod)} ({decision.mode} only)"


def _asked_text(asked: Asked) -> str:
    grace = asked.grace_seconds
    when = "in its own time" if grace is None else f"in {grace} s"
    return f"{asked.pod} {'(dry run)' if asked.dry_run else when}"


def _head(names: Sequence[str]) -> list[str]:
    return ["TIME", *names, "CONDITIONS", "DECISION"]


def _cells(names: Sequence[str], turn: Turn) -> list[str]:
    figures = [
        reading_text(name, turn.signals[name]) if name in turn.signals else NOTHING
        for name in names
    ]
    return [f"{turn.seconds:g}s", *figures, _conditions(turn), decision_text(turn)]


def _conditions(turn: Turn) -> str:
    """Those that hold; all three Unknown are told as one."""
    held = list(turn.conditions)
    if len(turn.unknown) == 3:
        held.append(Status.UNKNOWN)
    return ", ".join(held) or NOTHING


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right, words to the left."""
    last = len(cells) - 2
    shown = [
        cell.rjust(width) if column < last else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(shown).rstrip()


def _remarks(turn: Turn) -> Iterator[str]:
    """Why, who in which order, and what else there is to tell."""
    if turn.decision is not None:
        yield turn.decision.reason
        for place, row in enumerate(turn.decision.ranking, start=1):
            yield f"{place}. {name_of(row.pod)}  {row.verdict}: {row.why}"
        yield from (f"* {sentence}" for sentence in turn.happened)
    for asked in turn.asked:
        if asked.message and not asked.withdrawn:
            yield f"> {asked.pod}: {asked.message.strip()}"
    if turn.cleanup_seconds is not None:
        yield f"clean-up is waited for {turn.cleanup_seconds} s"
    for name, admitted in turn.admission.items():
        yield f"{name} would be {'admitted' if admitted else 'refused'}"
    for name, usage_bytes in turn.notifiers.items():
        level = (
            "a figure is missing" if usage_bytes is None else canonical(usage_bytes, Format.BINARY)
        )
        yield f"usage at which the kernel would call for {name}: {level}"


def _as_builtins(turn: Turn) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(turn)
    decision = told["decision"]
    if decision is not None:
        for name in ("epoch", "rev", "node"):
            del decision[name]
    return told
