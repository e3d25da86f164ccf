"""What a person gets who told evictd to act and let nobody go: a block to paste."""

from collections.abc import Iterator

import click

from evictd.cli.rank import block
from evictd.cli.situation import of_observation
from evictd.core.decision.candidates import evictable
from evictd.core.decision.explanation import explained
from evictd.core.rules import Candidates, Mode, Rules
from evictd.shell.configuration import rules_of
from evictd_schemas import Observation
from evictd_schemas.configuration import Configuration


def awaits_candidates(rules: Rules) -> bool:
    """Whether acting depends on who is named. [design, two profiles: candidates]"""
    return rules.mode is Mode.ACT and rules.candidates is Candidates.LABELLED


def propose(configuration: Configuration, seen: Observation) -> None:
    """Tell it beside the warning, apart from the data."""
    for line in proposal(configuration, seen):
        click.echo(line, err=True)


def proposal(configuration: Configuration, seen: Observation) -> Iterator[str]:
    """A `workloads:` block of everybody seen; nothing where somebody may go, or nobody is known."""
    rules = rules_of(configuration, seen.node)
    if not awaits_candidates(rules) or not seen.pods or not seen.pods_complete:
        return
    found = of_observation(configuration, seen)
    if not any(evictable(rules, pod) for pod in found.given.observation.pods or ()):
        yield from block(found, explained(found))
