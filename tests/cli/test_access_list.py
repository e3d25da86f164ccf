"""`evictd access-list`: whom it lets what, and whom it refuses to write down."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evictd.cli.access_list import command
from evictd.shell.broker.access import USERS, WORKLOAD

ASKS = """\
responders:
  - {name: acme.io/ask, topic: "plant/{namespace}/{name}/evict"}
"""


def asked(folder: Path, *outsiders: str) -> Result:
    file = folder / "evictd.yaml"
    file.write_text(ASKS)
    return CliRunner().invoke(command, ["--config", str(file), *outsiders])


def block(text: str, user: str) -> list[str]:
    """The lines of one login."""
    return text.partition(f"\nuser {user}\n")[2].partition("\n\n")[0].splitlines()


def test_the_asker_gets_its_topics_and_another_responder_does_not(tmp_path: Path) -> None:
    found = asked(tmp_path, "asker=acme.io/ask", "mover=acme.io/move")
    assert found.exit_code == 0
    topics = ["topic write plant/+/+/evict", "topic read plant/+/+/evict/answer"]
    assert block(found.stdout, "asker")[-2:] == topics
    assert not set(topics) & set(block(found.stdout, "mover"))
    assert block(found.stdout, WORKLOAD) == [
        "topic read plant/+/+/evict",
        "topic write plant/+/+/evict/answer",
    ]


@pytest.mark.parametrize("user", [*USERS, WORKLOAD])
def test_no_outsider_shares_a_login_of_evictds_own(tmp_path: Path, user: str) -> None:
    found = asked(tmp_path, f"{user}=acme.io/x")
    assert found.exit_code == 2
    assert f"the login {user} is evictd's own: take another" in found.stderr


@pytest.mark.parametrize(
    "name",
    [
        "evictd.io/node-pressure",
        "evictd.io/local-storage",
        "evictd.io/gateway",
        "imperative-eviction.k8s.io/evictor",
    ],
)
def test_no_topic_gets_a_second_writer(tmp_path: Path, name: str) -> None:
    found = asked(tmp_path, f"mine={name}")
    assert found.exit_code == 2
    assert f"{name} is written by evictd itself" in found.stderr


@pytest.mark.parametrize(
    ("outsiders", "expected"),
    [
        (("mover",), "is not written like mover=acme.io/mover"),
        (("=acme.io/move",), "is not written like mover=acme.io/mover"),
        (("mover=acme.io",), "is not written like mover=acme.io/mover"),
        (("mover=acme.io/+",), "is not written like mover=acme.io/mover"),
        (("a:b=acme.io/move",), "a login has no colon and no control character"),
        (("a\nuser operator=acme.io/move",), "a login has no colon and no control character"),
        (("mover=acme.io/a", "mover=acme.io/b"), "a login has one name: give each USER once"),
    ],
)
def test_what_would_be_no_line_of_the_list_is_refused(
    tmp_path: Path, outsiders: tuple[str, ...], expected: str
) -> None:
    found = asked(tmp_path, *outsiders)
    assert found.exit_code == 2
    assert expected in " ".join(found.stderr.split())
