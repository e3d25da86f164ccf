"""The README's commands, run as they stand there, against a real evictd with a broker of its
own."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.machine import PATIENCE_SECONDS, until

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TRY = README[README.index("## See it work") : README.index("With `docker compose up`")]
COMMANDS = re.findall(r"```sh\n(.*?)```", TRY, re.DOTALL)
SHOWN = [block.split() for block in re.findall(r"```console\n(.*?)```", TRY, re.DOTALL)]
ORDER = (
    "keeps a machine that runs containers alive",
    "[collector]",
    "```sh\n./up\n```",
    "```sh\n./test\n```",
    "\nmosquitto_sub ",
    "\nmosquitto_pub ",
    "docker compose exec ",
    "## From `observe` to `act`",
    "## What it will never do",
)
"""What it does, a picture, the two commands, a try, the way to act, what never happens."""


class Person:
    """Somebody in a checkout who types what the README says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "checkout"
        (self.checkout / ".venv" / "bin").mkdir(parents=True)
        shutil.copytree(ROOT / "deploy", self.checkout / "deploy")
        command = self.checkout / ".venv" / "bin" / "evictd"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m evictd "$@"\n')
        command.chmod(0o755)
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "EVICTD_STATEFOLDER": str(folder / "state"),
            "PATH": f"{os.environ['PATH']}:/usr/sbin",
        }

    def start(self, command: str, output: str) -> subprocess.Popen[bytes]:
        """Begin a command that goes on; its output is in the file of that name."""
        with (self.folder / output).open("wb") as file:
            return subprocess.Popen(
                ["sh", "-c", f"exec {command}"],
                cwd=self.checkout,
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def type(self, command: str) -> str:
        """Run a command to its end; it must succeed."""
        return subprocess.run(
            ["sh", "-ec", command],
            cwd=self.checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=True,
        ).stdout

    def read(self, output: str) -> str:
        """What a started command has printed so far."""
        return (self.folder / output).read_text()


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """With evictd running as `./up` runs it, and ended by its process id."""
    person = Person(tmp_path)
    evictd = person.start(".venv/bin/evictd up --config deploy/evictd.yaml", "up")
    try:
        until("evictd is connected", lambda: '"connected"' in person.read("up"))
        yield person
    finally:
        evictd.terminate()
        evictd.wait(timeout=PATIENCE_SECONDS)


def test_the_readme_tells_one_thing_after_the_other() -> None:
    """Who stops reading early knows the most important."""
    places = [README.find(text) for text in ORDER]
    assert -1 not in places
    assert places == sorted(places)


def test_the_readme_shows_what_happens(person: Person) -> None:
    """The same commands in the same order print exactly the events shown, and the order of who
    goes."""
    client_configuration, watch, publish, decision, explain, gone = COMMANDS
    person.type(client_configuration)
    watcher = person.start(watch, "events")
    try:
        person.type("mosquitto_sub -E -t 'evictd/v1/demo-7/events/#'")
        person.type(publish)
        published_second = int(time.time())
        until("the eviction begins", lambda: len(person.read("events").split()) >= len(SHOWN[0]))
        assert '"Critical"' in person.type(decision)
        assert "is number 2 of 3 to go" in person.type(explain)
        assert "Protected" not in person.type(explain)
        # `date` tells whole seconds, and a person is slower than that
        until("the next second", lambda: int(time.time()) > published_second)
        person.type(gone)
        everything = SHOWN[0] + SHOWN[1]
        until("web is gone", lambda: len(person.read("events").split()) >= len(everything))
        assert person.read("events").split() == everything
    finally:
        watcher.kill()  # its handler of SIGTERM locks up now and then
        watcher.wait(timeout=PATIENCE_SECONDS)
