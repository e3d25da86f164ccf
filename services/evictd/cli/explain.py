"""`evictd explain POD`: why it stands where it stands, and what would change that."""

from collections.abc import Iterator
from typing import Any

import click

from evictd.cli import disk_text
from evictd.cli.rank import situation_text
from evictd.cli.situation import NotFoundError, checked_signal, situation, situation_options
from evictd.core.decision.explanation import Explanation, Situation, changes, explained
from evictd.core.wording import name_text

NAMES_MAX = 20
"""Names told to somebody who mistyped one."""


@click.command("explain")
@click.argument("pod")
@situation_options
def command(pod: str, signal: str | None, **where: Any) -> None:
    """Tell when POD (namespace/name, or the name alone) would go, why, and what would change it."""
    found = situation(**where)
    explanation = explained(found, checked_signal(signal))
    click.echo("\n".join(lines(found, explanation, index_of(explanation, pod, found.rules.node))))


def index_of(explanation: Explanation, text: str, node: str) -> int:
    """Who is meant. Raises `NotFoundError`, also where several are."""
    names = [name_text(row.pod) for row in explanation.ranking]
    meant = [index for index, name in enumerate(names) if text in (name, name.partition("/")[2])]
    if len(meant) == 1:
        return meant[0]
    if meant:
        several = ", ".join(names[index] for index in meant)
        raise NotFoundError(f"{text!r} may be any of {several}")
    known = f"; there are {', '.join(names[:NAMES_MAX])}" if names else ""
    elsewhere = "--node names another node, and `evictd status` tells what is down"
    raise NotFoundError(f"there is no {text!r} on {node}{known}; {elsewhere}")


def lines(found: Situation, explanation: Explanation, index: int) -> Iterator[str]:
    """Its place, its neighbours, what would change it."""
    row = explanation.ranking[index]
    yield from situation_text(found, explanation.signal)
    yield from disk_text.lines(found, explanation)
    yield ""
    yield (
        f"{name_text(row.pod)} is number {index + 1} of {len(explanation.ranking)} to go"
        f" for {explanation.signal}: {row.verdict}"
    )
    yield f"  {row.why}"
    for line in disk_text.growth_lines(found, explanation, row.pod.uid):
        yield f"  {line}"
    if index > 0:
        other = explanation.ranking[index - 1]
        why = explanation.between[index - 1]
        yield f"  after {name_text(other.pod)} ({other.verdict}): {why}"
    if index < len(explanation.between):
        other = explanation.ranking[index + 1]
        yield f"  before {name_text(other.pod)}: {explanation.between[index]}"
    found_changes = changes(found, explanation, row.pod.uid)
    yield ""
    yield "What would change it:" if found_changes else "Nothing would change it."
    for change in found_changes:
        yield f"  {change.setting}: {change.outcome}"
