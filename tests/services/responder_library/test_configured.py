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


def test_a_command_a_url_and_a_topic_are_taken(tmp_path: Path) -> None:
    text = """\
responders:
  - name: acme.io/drain
    command: [sh, -c, "true"]
    selector: {matchLabels: {drain: "yes"}}
    timeoutSeconds: 30
  - {name: acme.io/move, webhook: "https://mover.acme.io/move", priority: 20000}
  - {name: acme.io/ask, topic: "plant/{namespace}/{name}/evict"}
  - {name: acme.io/press, topic: plant/press, answerTopic: "plant/said/{node}"}
"""
    assert read(tmp_path, text) == []


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("name: drain, command: [x]", "responders[0].name: 'drain' is no domain-prefixed name"),
        ("name: a.k8s.io/x, command: [x]", "responders[0].name: the domain of"),
        ("name: acme.io/x", "needs one of command, webhook and topic, and no other of them"),
        ("name: acme.io/x, command: [x], webhook: 'http://x'", "needs one of command, webhook"),
        ("name: acme.io/x, command: [x], topic: x/y", "needs one of command, webhook and topic"),
        ("name: acme.io/x, webhook: 'http://x', topic: x/y", "needs one of command, webhook"),
        ("name: acme.io/x, topic: x/+", "responders[0].topic: 'x/+' is no topic of a workload"),
        ("name: acme.io/x, topic: $x/y", "responders[0].topic: '$x/y' is no topic of a workload"),
        ("name: acme.io/x, topic: evictd/v1/x", "take one outside evictd/"),
        ("name: acme.io/x, topic: 'x/{pod}'", "what can be filled in is {namespace}, {name}"),
        (
            "name: acme.io/x, topic: x/y, answerTopic: 'x/#'",
            "responders[0].answerTopic: 'x/#' is no topic of a workload",
        ),
        (
            "name: acme.io/x, topic: x/y, answerTopic: x/y",
            "answerTopic: its answers on 'x/y' could be the questions of responders[0] on 'x/y'",
        ),
        (
            "name: acme.io/x, topic: 'x/{name}/evict', answerTopic: 'x/{name}/{node}'",
            "responders[0].answerTopic: its answers on 'x/{name}/{node}' could be the questions",
        ),
        ("name: acme.io/x, topic: 'x/{node}-{name}'", "two are filled into one level"),
        ("name: acme.io/x, command: [x], answerTopic: x/y", "answerTopic: goes with topic"),
        ("name: acme.io/x, webhook: 'ftp://x'", "responders[0].webhook: begins with neither http"),
        (
            "name: acme.io/x, webhook: 'http://[x'",
            "responders[0].webhook: names no host, or a port",
        ),
        ("name: acme.io/x, webhook: 'http://x:y'", "webhook: names no host, or a port that cannot"),
        ("name: acme.io/x, webhook: 'http:///x'", "webhook: names no host, or a port that cannot"),
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


def test_nobody_who_may_answer_one_responder_may_ask_for_another(tmp_path: Path) -> None:
    text = """\
responders:
  - {name: acme.io/one, topic: "plant/{namespace}/{name}/{node}"}
  - {name: acme.io/two, topic: "plant/{name}/evict"}
"""
    (problem,) = read(tmp_path, text)
    assert problem == (
        "responders[1].topic: its answers on 'plant/{name}/evict/answer' could be the questions of"
        " responders[0] on 'plant/{namespace}/{name}/{node}': take another first level for one of"
        " them"
    )
