"""What `responders:` in a configuration must say."""

from pathlib import Path

import pytest

from evictd.shell.configuration import ConfigurationError, load


def read(folder: Path, text: str) -> list[str]:
    """The errors of a configuration, none where it is taken."""
    file = folder / "evictd.yaml"
    file.write_text(text)
    try:
        load(file, variables={}, flags={})
    except ConfigurationError as error:
        return [str(problem).partition(": ")[2] for problem in error.problems]
    return []


def test_a_command_and_a_url_are_taken(tmp_path: Path) -> None:
    text = """\
responders:
  - name: acme.io/drain
    command: [sh, -c, "true"]
    selector: {matchLabels: {drain: "yes"}}
    timeoutSeconds: 30
  - {name: acme.io/move, webhook: "https://mover.acme.io/move", priority: 20000}
"""
    assert read(tmp_path, text) == []


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("name: drain, command: [x]", "responders[0].name: 'drain' is no domain-prefixed name"),
        ("name: a.k8s.io/x, command: [x]", "responders[0].name: the domain of"),
        ("name: acme.io/x", "needs either command or webhook, and not both"),
        ("name: acme.io/x, command: [x], webhook: 'http://x'", "needs either command or webhook"),
        ("name: acme.io/x, webhook: 'ftp://x'", "responders[0].webhook: 'ftp://x' begins with"),
        ("name: acme.io/x, command: [x], priority: 5", "responders[0].priority: "),
        ("name: acme.io/x, command: [x], timeoutSeconds: 0", "timeoutSeconds: must be more than 0"),
    ],
)
def test_what_cannot_mean_anything_is_refused_at_its_place(
    tmp_path: Path, entry: str, expected: str
) -> None:
    (problem,) = read(tmp_path, f"responders:\n  - {{{entry}}}\n")
    assert expected in problem


def test_a_name_is_given_once(tmp_path: Path) -> None:
    entry = "  - {name: acme.io/x, command: [x]}\n"
    (problem,) = read(tmp_path, f"responders:\n{entry}{entry}")
    assert "'acme.io/x' is the name of responders[0]" in problem
