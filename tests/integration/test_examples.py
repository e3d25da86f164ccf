"""The examples, run as they stand, beside a real controller on a real broker."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.processes import PATIENCE_SECONDS, Site, until
from tests.integration.responders import Play, playing
from tests.integration.stories.conftest import DEMO, settings

EXAMPLES = Path(__file__).parents[2] / "examples"
DRAINS = {"labels": {"drain": "yes"}}
DRAIN, SCRIPT = "acme.io/drain", "acme.io/script"


def python_example(play: Play, broker: Any) -> Any:
    """As its docstring says."""
    return play.program(sys.executable, str(EXAMPLES / "drain_responder.py"), broker.url, DEMO)


def shell_example(play: Play, broker: Any, *command: str) -> Any:
    """As its head says."""
    options = ("-V", "5", "-h", "127.0.0.1", "-p", str(broker.port), "--")
    return play.program(
        "sh", str(EXAMPLES / "responder.sh"), *options, *command, NODE=DEMO, PATH="/usr/bin:/bin"
    )


def test_the_python_example_saves_the_work_before_the_workload_is_stopped(
    tmp_path: Path, broker: Any
) -> None:
    with playing(tmp_path, broker) as play, python_example(play, broker):
        play.await_ready(DRAIN)
        play.add("web", **DRAINS)
        play.add("db")
        play.ask("web")
        play.ask("db")
        play.await_state("web", DRAIN, "Completed")
        assert play.entry("web", DRAIN)["message"] == "everything is saved"
        assert play.entry("web", DRAIN)["expectedCompletionTime"]
        assert play.state("web", "imperative-eviction.k8s.io/evictor") == "Active"
        assert play.state("db", DRAIN) is None
        completions = [item for item in play.reports("web", DRAIN) if item["completionTime"]]
        assert len(completions) == 1


def test_the_python_example_says_goodbye(tmp_path: Path, broker: Any) -> None:
    with playing(tmp_path, broker) as play:
        with python_example(play, broker) as process:
            play.await_ready(DRAIN)
        assert process.returncode == 0
        until("goodbye", lambda: play.registration(DRAIN)["status"] == "disconnected")


def test_the_python_example_is_thirty_lines() -> None:
    assert len((EXAMPLES / "drain_responder.py").read_text().splitlines()) <= 30


def test_the_shell_example_runs_its_command_for_the_target(tmp_path: Path, broker: Any) -> None:
    told = tmp_path / "told"
    command = ("sh", "-c", f'echo "$NAMESPACE/$POD $POD_UID" >>"{told}"; sleep 0.5')
    with playing(tmp_path, broker) as play, shell_example(play, broker, *command):
        play.await_ready(SCRIPT)
        play.add("web", **DRAINS)
        play.add("db")
        play.ask("web")
        play.ask("db")
        play.await_state("web", SCRIPT, "Completed")
        assert play.entry("web", SCRIPT)["message"] == "exited with 0"
        (target,) = told.read_text().splitlines()
        web = play.eviction("web")["spec"]["target"]["pod"]["uid"]
        assert target == f"shop/web {web}"
        assert [item.get("completionTime") is None for item in play.reports("web", SCRIPT)] == [
            True,
            False,
        ]


def test_the_shell_example_ends_its_command_when_nobody_wants_it_any_more(
    tmp_path: Path, broker: Any
) -> None:
    story = tmp_path / "story"
    script = f'trap "echo ended >>{story}; exit" TERM; echo begun >>{story}; '
    command = ("sh", "-c", f"{script} while :; do sleep 0.1; done")
    with playing(tmp_path, broker) as play, shell_example(play, broker, *command):
        play.await_ready(SCRIPT)
        play.add("web", **DRAINS)
        play.ask("web")
        until("it has begun", lambda: story.exists() and story.read_text() == "begun\n")
        play.withdraw("web")
        until("it was ended", lambda: story.read_text() == "begun\nended\n")
        play.await_state("web", SCRIPT, "Canceled")
        reports = play.reports("web", SCRIPT)
        assert reports
        assert all("completionTime" not in item for item in reports)


def test_the_shell_example_says_goodbye_and_is_not_asked_twice(tmp_path: Path, broker: Any) -> None:
    told = tmp_path / "told"
    command = ("sh", "-c", f'echo "$POD" >>"{told}"')
    with playing(tmp_path, broker) as play:
        with shell_example(play, broker, *command) as process:
            play.await_ready(SCRIPT)
            play.add("web", **DRAINS)
            play.ask("web")
            play.await_state("web", SCRIPT, "Completed")
        assert process.returncode == 0
        until("goodbye", lambda: play.registration(SCRIPT)["status"] == "disconnected")
        with shell_example(play, broker, *command):
            play.await_ready(SCRIPT)
            play.add("cache", **DRAINS)
            play.ask("cache")
            play.await_state("cache", SCRIPT, "Completed")
        assert told.read_text().split() == ["web", "cache"]


@pytest.mark.parametrize("name", ["drain_responder.py", "responder.sh", "asked_workload.sh"])
def test_an_example_needs_nothing_of_the_checkout(name: str) -> None:
    """It can be copied away: only the public package, or only the clients."""
    text = (EXAMPLES / name).read_text()
    private = [line for line in text.splitlines() if "evictd." in line and "import" in line]
    assert all("evictd.responder import" in line for line in private)


ASK, QUESTION = "acme.io/ask", "plant/shop/web/evict"
ASKS = {
    "name": ASK,
    "topic": "plant/{namespace}/{name}/evict",
    "selector": {"matchLabels": {"ask": "yes"}},
    "timeoutSeconds": 30,
}


@contextmanager
def asking(folder: Path, broker: Any) -> Iterator[Play]:
    """The controller, and `evictd respond` with what the head of the example shows."""
    site = Site(folder=folder, settings=settings(responders=[ASKS]), broker=broker.url)
    verb = (sys.executable, "-m", "evictd", "respond", "--node", DEMO)
    with site.running("controller"):
        play = Play(site)
        with play.program(*verb, name="asker"):
            play.await_ready(ASK)
            yield play


def asked_workload(play: Play, broker: Any, script: str) -> Any:
    """As its head says."""
    options = ("-V", "5", "-h", "127.0.0.1", "-p", str(broker.port), "--", "sh", "-c", script)
    command = ("sh", str(EXAMPLES / "asked_workload.sh"), *options)
    return play.program(*command, name="workload", TOPIC=QUESTION, PATH="/usr/bin:/bin")


def test_the_asked_workload_saves_itself_before_it_is_stopped(tmp_path: Path, broker: Any) -> None:
    told = tmp_path / "told"
    with asking(tmp_path, broker) as play:
        with asked_workload(play, broker, f"echo saved >>{told}") as process:
            play.add("web", labels={"ask": "yes"})
            play.add("db")
            play.ask("web")
            play.ask("db")
            play.await_state("web", ASK, "Completed")
            assert play.entry("web", ASK)["message"] == "exited with 0"
            assert told.read_text() == "saved\n"
            assert play.state("web", "imperative-eviction.k8s.io/evictor") == "Active"
            assert play.state("db", ASK) is None
        assert process.returncode == 0


def test_beside_evictd_up_the_asked_workload_needs_no_more_than_its_login(tmp_path: Path) -> None:
    """The broker that evictd owns lets both sides, and `client-config` knows the login."""
    site = Site(folder=tmp_path, settings=settings(responders=[ASKS]))
    evictd = (sys.executable, "-m", "evictd")
    with site.running("up"):
        play = Play(site)
        clients = tmp_path / "clients"
        subprocess.run(
            (*evictd, "client-config", "--login", "workload", "--folder", str(clients)),
            env=site.environment,
            check=True,
            timeout=PATIENCE_SECONDS,
        )
        workload = ("sh", str(EXAMPLES / "asked_workload.sh"), "--", "echo", "saved")
        told = {"TOPIC": QUESTION, "XDG_CONFIG_HOME": str(clients)}
        with (
            play.program(*evictd, "respond", "--node", DEMO, name="asker"),
            play.program(*workload, name="workload", **told),
        ):
            play.await_ready(ASK)
            play.add("web", labels={"ask": "yes"})
            play.ask("web")
            until("it answers", lambda: play.state("web", ASK) == "Completed", seconds=45)
            assert play.entry("web", ASK)["message"] == "exited with 0"


def test_the_asked_workload_is_told_that_it_may_stay(tmp_path: Path, broker: Any) -> None:
    story = tmp_path / "story"
    script = (
        f'trap "echo ended >>{story}; exit" TERM; echo begun >>{story}; while :; do sleep 0.1; done'
    )
    with asking(tmp_path, broker) as play, asked_workload(play, broker, script):
        play.add("web", labels={"ask": "yes"})
        play.ask("web")
        until("it has begun", lambda: story.exists() and story.read_text() == "begun\n")
        until("it has answered", lambda: play.entry("web", ASK).get("message") == "saving", 40)
        play.withdraw("web")
        until("it was ended", lambda: story.read_text() == "begun\nended\n")
        play.await_state("web", ASK, "Canceled")
