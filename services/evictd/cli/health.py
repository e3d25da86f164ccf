"""`evictd health`: asked every minute on small machines, so it imports nothing heavy."""

import time
from pathlib import Path

import click

from evictd.cli.alive import runtime_folder, signs
from evictd.core.errors import HostError

SILENT_SECONDS_MAX = 30.0
"""The loop writes its time every few seconds; a machine short of memory may need ten times that."""


@click.command("health")
@click.argument("worker", required=False)
def command(worker: str | None) -> None:
    """Exit with 0 if WORKER's loop, or that of whatever runs here, has been round lately."""
    files = signs(worker or "*")
    if not files:
        missing = "no worker is running" if worker is None else f"{worker} is not running"
        raise HostError(f"{missing}: nothing in {runtime_folder()}")
    for file in files:
        silent_seconds = time.clock_gettime(time.CLOCK_BOOTTIME) - boot_seconds(file)
        if not is_alive(silent_seconds):
            raise HostError(f"{file.stem} has been silent for {silent_seconds:.0f} s")
        click.echo(f"{file.stem}: alive {silent_seconds:.1f} s ago")


def is_alive(silent_seconds: float) -> bool:
    """A sign of life in the future is one of an earlier boot."""
    return 0 <= silent_seconds <= SILENT_SECONDS_MAX


def boot_seconds(file: Path) -> float:
    """The boot time at which a loop last came round."""
    try:
        return float(file.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise HostError(f"{file}: cannot be read: {error}") from error
