"""`evictd record FILE`: what travels on the bus, as lines that can be decided again."""

import asyncio
import logging
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import anyio
import click

from evictd.cli.broker import operator_address
from evictd.cli.options import config_option
from evictd.cli.situation import running_configuration
from evictd.core.errors import HostError, InputError, PeerError
from evictd.shell import logs
from evictd.shell.blocking import in_thread
from evictd.shell.bus import Router
from evictd.shell.bus.address import Address
from evictd.shell.bus.link import Link
from evictd.shell.clock import SystemClock
from evictd.shell.ending import signalled
from evictd.simulation.recording import Recorder, head_of
from evictd_schemas.configuration import Configuration

CONNECT_SECONDS = 10.0
"""Until the list is complete; a broker that is there needs well under one."""
WRITE_SECONDS = 0.5
"""Between two writes: what a crash of this command may lose."""
FILE_BYTES_MAX = 1 << 30
"""A recording ends there by itself, before it fills the disk that it looks at."""


@click.command("record")
@click.argument("destination", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@partial(config_option, default="the one that evictd runs with here")
@click.option("--broker", help="Broker, such as mqtt://127.0.0.1:1883. Default: the configured.")
@click.option("--node", default="+", help="Only this node. Default: every node.")
@click.option("--seconds", type=float, help="End after so long. Default: at Ctrl-C.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def command(
    destination: Path,
    file: Path | None,
    broker: str | None,
    node: str,
    seconds: float | None,
    *,
    force: bool,
) -> None:
    """Write every message of the bus into FILE until Ctrl-C, for `evictd replay`.

    The configuration is written too, without logins: elsewhere than beside the workers, give it the
    one that they have.
    """
    configuration = running_configuration(file, broker)
    logs.configure(worker="record", node=node, level=logging.CRITICAL)
    address = operator_address(configuration)
    with opened(destination, force=force) as stream:
        count = asyncio.run(record(stream, configuration, address, node, seconds))
    click.echo(f"{destination}: {count} messages", err=True)


def opened(file: Path, *, force: bool) -> BinaryIO:
    """A new file. Raises `InputError` for one that is there."""
    try:
        return file.open("wb" if force else "xb")
    except FileExistsError:
        raise InputError(f"{file} is there already: --force overwrites it") from None
    except OSError as error:
        raise HostError(f"{file}: cannot be written: {error.strerror}") from error


async def record(
    stream: BinaryIO,
    configuration: Configuration,
    address: Address,
    node: str,
    seconds: float | None,
) -> int:
    """Until the time is over or a signal comes; the number of messages.

    Raises `PeerError` without a broker.
    """
    router = Router()
    link = Link(router, address)
    recorder = Recorder(SystemClock(), node)
    router.attach(recorder)
    head = head_of(configuration, version("evictd"), datetime.now(UTC))
    await in_thread(lambda: stream.write(head))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(link.run)
        with anyio.move_on_after(CONNECT_SECONDS):
            await link.connected.wait()
        complete = link.connected.is_set()
        count = await _write(stream, recorder, seconds) if complete else 0
        tasks.cancel_scope.cancel()
    if not complete:
        raise PeerError(f"no broker at {address.url}: {link.problem or 'it does not answer'}")
    if recorder.dropped:
        click.echo(f"{recorder.dropped} messages came too fast and are missing", err=True)
    return count


async def _write(stream: BinaryIO, recorder: Recorder, seconds: float | None) -> int:
    """Batch by batch, in a thread: a slow disk must not lose messages."""
    stopping = anyio.Event()
    count = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_await_end, stopping, seconds)
        while not stopping.is_set():
            with anyio.move_on_after(WRITE_SECONDS):
                await stopping.wait()
            count += len(recorder.waiting)
            text = recorder.take()
            await in_thread(partial(_append, stream, text))
            if stream.tell() > FILE_BYTES_MAX:
                click.echo(f"the file has {FILE_BYTES_MAX} bytes: the recording ends", err=True)
                break
        tasks.cancel_scope.cancel()
    return count


def _append(stream: BinaryIO, text: bytes) -> None:
    stream.write(text)
    stream.flush()


async def _await_end(stopping: anyio.Event, seconds: float | None) -> None:
    with anyio.move_on_after(seconds if seconds is not None else float("inf")):
        await signalled()
    stopping.set()
