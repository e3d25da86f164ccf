"""`evictd hold 1h [POD]`: leave everything, or one workload, as it is for a while."""

import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import click

from evictd.cli import hold_file
from evictd.cli.broker import state_folder_of
from evictd.cli.machine import home_node
from evictd.cli.naming import pod_names, the_one
from evictd.cli.reading import Reader, TimedOutError, reader_options, run, talk, utc_now
from evictd.cli.request import lives
from evictd.cli.situation import NotFoundError
from evictd.cli.wishing import ANSWER_SECONDS, Wished, down, own, told, wish_name
from evictd.client import Mirror
from evictd.core.decision.wishing import hold_text
from evictd.core.errors import HostError, InputError, PeerError
from evictd.core.orders import Verb
from evictd.core.signals.durations import DurationError, parse_seconds
from evictd.core.wording import name_text
from evictd.shell.blocking import in_thread
from evictd_schemas import Wish, topics

HOLD_SECONDS_MAX = 30 * 86_400.0
"""A longer hold is a machine that nobody wants to be protected: `mode: observe` says so better."""


@click.command("hold")
@click.argument("words", metavar="[DURATION] [POD]", nargs=-1)
@click.option("--include-hard", is_flag=True, help="Hold off hard evictions too.")
@click.option("--file", "only_file", is_flag=True, help="Only by the file, without the broker.")
@click.option("--end", is_flag=True, help="Take holds back: that of POD, or all of ours.")
@reader_options(node="this machine, or where POD runs", timeout="for the answer. Default: 5")
def command(
    reader: Reader, *, words: Sequence[str], include_hard: bool, only_file: bool, end: bool
) -> None:
    """Evict nobody and start nobody for DURATION, such as 30m, 1h, 12h: on a node, or just POD.

    On the machine itself it is written into the state folder too, where the responder looks before
    each stop, so that it counts also when the broker does not answer.
    """
    duration, pod = _read(words, end=end)
    if end:
        sys.exit(run(_ended(reader, pod, only_file=only_file)))
    until = utc_now() + timedelta(seconds=duration)
    wish = Wish(verb=Verb.HOLD, target=pod, until=until, include_hard=include_hard)
    sys.exit(run(_held(reader, wish, only_file=only_file)))


def _read(words: Sequence[str], *, end: bool) -> tuple[float, str | None]:
    """Seconds and workload; no seconds where a hold is taken back."""
    expected = 1 if end else 2
    if len(words) > expected or (not end and not words):
        raise click.UsageError("give a DURATION and perhaps a POD; with --end perhaps a POD")
    if end:
        return 0.0, words[0] if words else None
    try:
        seconds = parse_seconds(words[0])
    except DurationError as error:
        raise click.UsageError(str(error)) from error
    if not 0 < seconds <= HOLD_SECONDS_MAX:
        raise InputError(f"{words[0]} is not between 1s and {HOLD_SECONDS_MAX / 3600:.0f}h")
    return seconds, words[1] if len(words) > 1 else None


async def _held(reader: Reader, wish: Wish, *, only_file: bool) -> int:
    """By the file and by the bus, as far as each can be had."""
    home, path = await in_thread(lambda: _here(reader))
    if only_file:
        if path is None:
            raise NotFoundError("no responder of this machine has its state here: no file to write")
        _full_name(wish.target)
        await in_thread(lambda: hold_file.add(path, wish, utc_now()))
        click.echo(f"{hold_text(wish)}: {path}")
        return 0
    try:
        async with reader.mirror(asking=True) as mirror:
            node, target = _meant(mirror, wish.target, reader.node or home)
            wish = _about(wish, target)
            if path is not None and node == home:
                await _noted(path, wish)
            return await _published(reader, mirror, node, wish)
    except PeerError as error:
        if isinstance(error, TimedOutError) or path is None or reader.node not in (None, home):
            raise
        _full_name(wish.target)
        await in_thread(lambda: hold_file.add(path, wish, utc_now()))
        talk(f"evictd: {error}")
        click.echo(f"{hold_text(wish)}, by the file alone: {path}")
        return 0


async def _noted(path: Path, wish: Wish) -> None:
    """Into the file too, where that can be; the bus has it anyway."""
    try:
        await in_thread(lambda: hold_file.add(path, wish, utc_now()))
    except HostError as error:
        talk(f"by the bus alone: {error}")


async def _published(reader: Reader, mirror: Mirror, node: str, wish: Wish) -> int:
    wished = Wished(node=node, name=wish_name(Verb.HOLD, wish.target), wish=wish)
    seconds = ANSWER_SECONDS if reader.timeout is None else reader.timeout
    said = await told(mirror, wished, seconds)
    if said is None:
        raise TimedOutError(f"no evictor of {node} has answered in {seconds:g} s; the hold stands")
    click.echo(f"{node}: {said.text}")
    return 0 if said.done else 1


async def _ended(reader: Reader, pod: str | None, *, only_file: bool) -> int:
    """Of both places; what the file held is over although no broker answers."""
    home, path = await in_thread(lambda: _here(reader))
    over: dict[str, None] = {}
    try:
        if path is not None and reader.node in (None, home):
            gone = await in_thread(lambda: hold_file.end(path, pod, utc_now()))
            over.update((hold_text(wish), None) for wish in gone)
        if not only_file:
            over.update((text, None) for text in await _cleared(reader, home, pod))
    finally:
        for text in over:
            click.echo(f"no longer: {text}")
    if not over:
        raise NotFoundError("no such hold of ours is there")
    return 0


async def _cleared(reader: Reader, home: str, pod: str | None) -> list[str]:
    """What the bus holds of ours about `pod`, or at all, is taken back."""
    over = []
    async with reader.mirror(reader.connect_seconds, asking=True) as mirror:
        for found in own(mirror, Verb.HOLD, reader.node):
            if pod is None or hold_file.about(found.message, pod):
                mirror.clear(topics.WISH, found.place.node, **found.place.names)
                over.append(hold_text(found.message))
        for other in _others(mirror, reader.node or home):
            talk(f"still held by {other}")
    return over


def _others(mirror: Mirror, node: str) -> list[str]:
    """Authors of holds that are theirs to take back."""
    mine = {found.topic for found in own(mirror, Verb.HOLD)}
    return [
        found.place.participant
        for found in mirror.objects(topics.WISH, node)
        if found.message.verb == Verb.HOLD and found.topic not in mine
    ]


def _here(reader: Reader) -> tuple[str, Path | None]:
    """This machine's node, and its hold file where a responder would read it. Blocks."""
    configuration = reader.configuration()
    return home_node(configuration), hold_file.place(state_folder_of(configuration))


def _meant(mirror: Mirror, pod: str | None, node: str) -> tuple[str, str | None]:
    """Node and full name; one that is down may be held down."""
    if pod is None:
        return node, None
    every = [*lives(mirror), *down(mirror)]
    found, life = the_one("workload", pod, every, pod_names)
    return found, name_text(life)


def _about(wish: Wish, target: str | None) -> Wish:
    return Wish(verb=wish.verb, target=target, until=wish.until, include_hard=wish.include_hard)


def _full_name(target: str | None) -> None:
    """Without the bus nobody knows what a short name means."""
    if target is not None and target.count("/") != 1:
        raise InputError(
            f"{target!r} is no NAMESPACE/POD, and without the broker it is not looked up"
        )
