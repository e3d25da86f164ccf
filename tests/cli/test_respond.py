"""`evictd respond` says what it lacks before it connects."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from evictd.cli.last_configuration import remember
from evictd.core.errors import InputError

BROKER = ("--broker", "mqtt://127.0.0.1:9999")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "give --name and -- COMMAND..."),
        (("--", "true"), "give --name and -- COMMAND..."),
        (("--name", "acme.io/x"), "give either -- COMMAND... or --webhook URL"),
        (("--name", "acme.io/x", "--webhook", "http://x", "--", "true"), "give either"),
        (("--name", "acme.io/x", "--select", "drain", "--", "true"), "is not LABEL=VALUE"),
        (("--name", "acme.io/x", "--timeout", "0", "--", "true"), "is not in the range"),
    ],
)
def test_a_mistake_is_told_with_its_remedy(
    run: Callable[..., Result], arguments: tuple[str, ...], expected: str
) -> None:
    result = run("respond", *arguments)
    assert result.exit_code == 2
    assert expected in result.output


def test_a_name_that_no_controller_would_take_is_refused(run: Callable[..., Result]) -> None:
    result = run("respond", "--name", "drain", "--", "true")
    assert isinstance(result.exception, InputError)
    assert "no domain-prefixed name such as acme.io/drain" in str(result.exception)


def test_without_a_word_those_of_the_running_configuration_are_run(
    run: Callable[..., Result], monkeypatch: Any, tmp_path: Path
) -> None:
    """The file that evictd runs with here, as for the verbs that tell about it."""
    found: list[Any] = []

    async def nothing(responders: Any, _where: Any, _node: str) -> None:
        found.extend(responder.name for responder in responders)

    monkeypatch.setattr("evictd.cli.respond.until_signal", nothing)
    monkeypatch.setenv("EVICTD_STATEFOLDER", str(tmp_path))
    file = tmp_path / "evictd.yaml"
    file.write_text("responders: [{name: acme.io/save, command: [save]}]")
    remember(tmp_path, file)
    result = run("respond", *BROKER, "--node", "edge-7")
    assert result.exit_code == 0, result.output
    assert found == ["acme.io/save"]


def test_options_of_the_command_are_the_commands(
    run: Callable[..., Result], monkeypatch: Any, tmp_path: Path
) -> None:
    """Everything after -- belongs to it."""
    found: list[Any] = []

    async def nothing(responders: Any, where: Any, node: str) -> None:
        found.extend((responders[0].respond.__self__._command, where.port, node))

    monkeypatch.setattr("evictd.cli.respond.until_signal", nothing)
    options = ("--node", "edge-7", "--name", "acme.io/x")
    result = run("respond", *BROKER, *options, "--", "save", "--name", "--all", tmp_path)
    assert result.exit_code == 0, result.output
    assert found == [("save", "--name", "--all", str(tmp_path)), 9999, "edge-7"]


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [((), 630.0), (("--timeout", "60"), 90.0), (("--timeout", "3600"), None)],
)
def test_who_has_little_time_may_not_be_silent_for_longer(
    run: Callable[..., Result], monkeypatch: Any, timeout: tuple[str, ...], expected: float | None
) -> None:
    """So that a plan tells the truth, and one that hangs is handed over; long ones as everybody."""
    found: list[Any] = []

    async def nothing(responders: Any, _where: Any, _node: str) -> None:
        found.extend(responders)

    monkeypatch.setattr("evictd.cli.respond.until_signal", nothing)
    result = run("respond", *BROKER, "--name", "acme.io/x", *timeout, "--", "true")
    assert result.exit_code == 0, result.output
    said = found[0].registration("ready")
    assert (said.start_deadline_seconds, said.heartbeat_deadline_seconds) == (expected, expected)


def test_all_commands_of_one_process_share_its_places(
    run: Callable[..., Result], monkeypatch: Any, tmp_path: Path
) -> None:
    found: list[Any] = []

    async def nothing(responders: Any, _where: Any, _node: str) -> None:
        found.extend(responder.respond.__self__._places for responder in responders)

    monkeypatch.setattr("evictd.cli.respond.until_signal", nothing)
    file = tmp_path / "evictd.yaml"
    entries = (f"{{name: acme.io/{name}, command: [save]}}" for name in ("x", "y"))
    file.write_text(f"responders: [{', '.join(entries)}]\n")
    result = run("respond", *BROKER, "--config", file)
    assert result.exit_code == 0, result.output
    assert len(found) == 2
    assert found[0] is found[1]
