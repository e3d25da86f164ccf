"""Every verb explains itself, and the document names them all."""

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result

from evictd.cli.verbs import VERBS, evictd

Run = Callable[..., Result]
DOCUMENT = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_help_and_a_line_in_the_document(run: Run, verb: str) -> None:
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: evictd ")
    assert f"`evictd {verb}" in DOCUMENT


def test_the_document_names_no_verb_that_is_not_there() -> None:
    named = set(re.findall(r"`evictd ([a-z-]+)", DOCUMENT))
    assert named <= set(VERBS)


@pytest.mark.parametrize(
    "verb",
    ["get", "describe", "watch", "request", "withdraw", "plan", "history", "status", "doctor"],
)
def test_the_document_names_every_option_of_the_people_s_verbs(verb: str) -> None:
    command = evictd.get_command(click.Context(evictd), verb)
    assert command is not None
    options = [option for parameter in command.params for option in parameter.opts]
    missing = [name for name in options if name.startswith("--") and f"`{name}" not in DOCUMENT]
    assert not missing


def test_help_loads_no_verb() -> None:
    assert all(verb.summary.endswith(".") for verb in VERBS.values())
