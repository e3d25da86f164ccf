"""One boot of the guest: the job that it gets, its console, what became of its stories.

The guest is emulated, so that no right to virtualise is needed and nothing in it can harm this
machine. It writes to a copy of its disk that is gone afterwards.
"""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.guest.boots import Boot

PROJECT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("guest.sh")
TAKEN = (
    "pyproject.toml",
    "services/evictd",
    "schemas/evictd_schemas",
    "deploy",
    "tests/conftest.py",
    "tests/contract",
    "tests/guest",
    "tests/integration/conftest.py",
    "tests/lab",
    "tests/machine.py",
)
"""Of the project; everything else that a story needs is in the image."""
PREPARATION_SECONDS = 900  # packages from a slow mirror
COLLECTION_SECONDS = 120
END_SECONDS = 20
KERNEL_WORDS = (
    "console=ttyS0 quiet psi=1 panic=-1 mitigations=off systemd.show_status=no"
    " no_timer_check"  # on a busy machine the emulated timer comes too late for it: a panic
)
CONSOLE_LINES = 60
UP = "guest: up"
"""The console's word for it, by the guest's first program."""
PATIENCE = 4
"""A guest needs about five times as long as its host, so that deadlines of stories are longer."""
STORY_SECONDS = 60  # the project's own limit of a test
RUN = r"""
packages=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '/job/services\n/job/schemas\n' >"$packages/evictd.pth"
printf '#!/bin/sh\nexec python3 -m evictd "$@"\n' >/usr/local/bin/evictd
chmod +x /usr/local/bin/evictd
nice python3 -m compileall -q services schemas &
export PYTHONPATH=/job PYTHONUNBUFFERED=1
export GUEST_TELLS=/dev/ttyS1 LAB_PATIENCE={patience}
exec python3 -m pytest -p tests.guest.telling -p no:cacheprovider --basetemp=/var/tmp/stories \
  -o timeout={seconds} --durations=0 --durations-min=1 --color=no --tb=short -q {words}
"""
"""Installs evictd as an editable one and runs the stories; the first wait, and it is compiled."""


@dataclass
class Story:
    """What the guest told about one story."""

    outcomes: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    said: str = ""

    @property
    def passed(self) -> bool:
        """Its fixtures, itself and their end."""
        return self.outcomes == dict.fromkeys(("setup", "call", "teardown"), "passed")


@dataclass(frozen=True, kw_only=True)
class Told:
    """A boot that is over."""

    console: str
    stories: dict[str, Story]

    def end(self) -> str:
        """The last lines of the console."""
        return "\n".join(self.console.splitlines()[-CONSOLE_LINES:])

    def figures(self, slowest: int) -> list[str]:
        """How long it took to be up, all stories together, and the slowest ones."""
        began = [line[line.index(UP) :] for line in self.console.splitlines() if UP in line]
        seconds = sum(story.seconds for story in self.stories.values())
        order = sorted(self.stories.items(), key=lambda item: -item[1].seconds)
        return [
            *began,
            f"{seconds:6.1f} s  {len(self.stories)} stories",
            *(f"{story.seconds:6.1f} s  {name}" for name, story in order[:slowest]),
        ]


def image() -> Path:
    """The folder with kernel, initial disk and root disk; made at the first time."""
    for verb in ("packages", "image"):
        finished = subprocess.run(
            [SCRIPT, verb],
            capture_output=True,
            text=True,
            timeout=PREPARATION_SECONDS,
            check=False,
        )
        assert finished.returncode == 0, f"{SCRIPT.name} {verb}: {finished.stderr}"
    return Path(finished.stdout.strip())


def collected(boot: Boot) -> list[str]:
    """The stories of a boot by their pytest names, in order."""
    words = ("-p", "no:randomly", "--collect-only", "-q", *boot.stories)
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=COLLECTION_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return [line for line in finished.stdout.splitlines() if "::" in line]


class Guest:
    """A boot that runs from now on. `folder` keeps its job, its console and its news."""

    def __init__(self, boot: Boot, stories: Sequence[str], folder: Path) -> None:
        self._boot = boot
        self._console, self._news = folder / "console", folder / "news"
        self._complaint = folder / "complaint"
        parts, job = image(), folder / "job.tar"
        _write_job(stories, job)
        command = [
            *("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"),  # never outlives the tests
            *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(boot.memory_mib)),
            *("-nodefaults", "-no-reboot", "-display", "none"),
            *("-serial", f"file:{self._console}", "-serial", f"file:{self._news}"),
            *("-kernel", str(parts / "kernel"), "-initrd", str(parts / "initrd")),
            *("-drive", _disk(parts / "root.ext4", "snapshot=on,cache=unsafe")),
            *("-drive", _disk(job, "readonly=on")),
            *("-append", f"{KERNEL_WORDS} guest.init={boot.init}"),
        ]
        self._deadline_seconds = time.monotonic() + boot.seconds_max
        with self._complaint.open("wb") as said:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=said)

    def told(self) -> Told:
        """Wait until it is over, by itself or because its time is."""
        try:
            self._process.wait(max(0.0, self._deadline_seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.end()
        console = "\n".join(_text(file) for file in (self._console, self._complaint))
        return Told(console=console, stories=_heard(_text(self._news)))

    def end(self) -> None:
        """At once, if it still runs."""
        self._process.kill()
        self._process.wait(END_SECONDS)


def _disk(file: Path, options: str) -> str:
    return f"file={file},if=virtio,format=raw,{options}"


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def _heard(news: str) -> dict[str, Story]:
    """A last line that was cut short is no news."""
    stories: dict[str, Story] = {}
    for line in news.splitlines():
        try:
            told: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        story = stories.setdefault(told["story"], Story())
        if told["phase"] != "begun":
            story.outcomes[told["phase"]] = told["outcome"]
            story.seconds += told["seconds"]
            story.said += told["said"]
    return stories


def _write_job(stories: Sequence[str], archive: Path) -> None:
    seconds = STORY_SECONDS * PATIENCE
    run = RUN.format(patience=PATIENCE, seconds=seconds, words=shlex.join(stories))
    about = f"Metadata-Version: 2.1\nName: evictd\nVersion: {version('evictd')}\n"
    with tarfile.open(archive, "w") as job:
        for name in TAKEN:
            job.add(PROJECT / name, name, filter=_without_leavings)
        _add(job, "run", run)
        _add(job, "services/evictd.dist-info/METADATA", about)


def _without_leavings(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in member.name else member


def _add(job: tarfile.TarFile, name: str, content: str) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content.encode())
    job.addfile(member, io.BytesIO(content.encode()))
