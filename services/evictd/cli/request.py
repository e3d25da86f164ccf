"""`evictd request NAMESPACE/POD`: ask for an eviction, and follow it if that is wanted."""

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import click
import msgspec

from evictd.cli.following import Asked, End, Follower, progress_text, standing
from evictd.cli.machine import home_node
from evictd.cli.naming import pod_names, the_one
from evictd.cli.reading import (
    PARTICIPANT,
    Reader,
    TimedOutError,
    reader_options,
    run,
    talk,
    utc_now,
)
from evictd.cli.tables import Output, output_option
from evictd.client import Mirror
from evictd.core.decision.requests import request_name
from evictd.core.protocol.conditions import request_finished
from evictd.core.protocol.vocabulary import Intent, RequestType
from evictd.shell.blocking import in_thread
from evictd_schemas import (
    EvictionRequest,
    EvictionRequestSpec,
    Pod,
    PodReference,
    PodTarget,
    Reason,
    Target,
    topics,
)

ANSWER_SECONDS = 2.0
"""For the controller's first word: what is refused at once is told at once, and that nobody answers
only after this."""
CLEARED_SECONDS = 5.0
"""For the end of a former request of the same name."""
REMIND_SECONDS = 30.0
"""While nothing changes, where it stands is told again."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the options say."""

    pod: str
    uid: str | None
    kind: str
    deadline: float | None
    grace: int | None
    reason: str | None
    dry_run: bool

    def request(self, found: PodReference) -> EvictionRequest:
        """As it is published."""
        return EvictionRequest(
            spec=EvictionRequestSpec(
                target=Target(pod=PodTarget(name=found.name, uid=found.uid)),
                requester=PARTICIPANT,
                intent=Intent.EVICTION,
                type=self.kind,
                deadline_seconds=self.deadline,
                grace_period_seconds=self.grace,
                dry_run=self.dry_run,
                reason=None if self.reason is None else Reason(message=self.reason),
            )
        )


@click.command("request")
@click.argument("pod", metavar="NAMESPACE/POD")
@click.option("--uid", help="Only this life of it. Default: the one that is observed.")
@click.option(
    "--type",
    "kind",
    type=click.Choice([kind.value for kind in RequestType]),
    help="How long responders are waited for. Default: Soft, with --deadline SoftWithDeadline.",
)
@click.option(
    "--deadline", type=click.FloatRange(min=0), help="Seconds after which nobody is waited for."
)
@click.option("--grace", type=click.IntRange(min=0), help="Seconds for the stop itself.")
@click.option("--reason", help="Why, for people.")
@click.option("--dry-run", is_flag=True, help="Only play it: nothing is stopped.")
@click.option("--wait", is_flag=True, help="Follow it until it ends.")
@output_option(Output.TABLE, Output.JSON)
@reader_options(timeout="for the end, with --wait. Default: for ever")
def command(
    reader: Reader,
    *,
    pod: str,
    uid: str | None,
    kind: str | None,
    deadline: float | None,
    grace: int | None,
    reason: str | None,
    output: str,
    dry_run: bool,
    wait: bool,
) -> None:
    """Ask, as requester evictd.io/cli, that NAMESPACE/POD leaves its node.

    Prints the topic of the request. With --wait the exit code tells the end: 0 it is gone, 1 it was
    refused, 6 the time is over and the request stands.
    """
    if kind is None:
        kind = RequestType.SOFT if deadline is None else RequestType.SOFT_WITH_DEADLINE
    if (kind == RequestType.SOFT_WITH_DEADLINE) != (deadline is not None):
        raise click.UsageError("--deadline goes with --type SoftWithDeadline, and only with it")
    wanted = Wanted(
        pod=pod,
        uid=uid,
        kind=kind,
        deadline=deadline,
        grace=grace,
        reason=reason,
        dry_run=dry_run,
    )
    sys.exit(run(ask(reader, wanted, output, wait=wait)))


async def ask(reader: Reader, wanted: Wanted, output: str, *, wait: bool) -> int:
    """Publish it and tell what comes of it; the exit code."""
    async with reader.mirror(asking=True) as mirror:
        seen, found = meant(mirror, wanted)
        node = seen or reader.node
        if node is None:
            node = await in_thread(lambda: home_node(reader.configuration()))
        asked = Asked(
            node=node,
            requester=PARTICIPANT,
            namespace=found.namespace,
            name=request_name(found),
            pod=found.name,
            dry_run=wanted.dry_run,
        )
        follower = Follower(mirror, asked)
        try:
            await clear_former(mirror, asked, follower)
            mirror.publish(topics.REQUEST, wanted.request(found), node, **asked.levels)
            click.echo(asked.topic)
            if wait:
                return await follow(mirror, asked, follower, reader.timeout, output)
            return await first_answer(mirror, asked, follower)
        except asyncio.CancelledError:
            talk(stands(asked))
            raise
        finally:
            await follower.close()


def meant(mirror: Mirror, wanted: Wanted) -> tuple[str | None, PodReference]:
    """Node and life.

    One that is not observed needs its uid, and is asked for all the same, of this machine unless
    another is named: the controller tells what becomes of it. Raises `NotFoundError`.
    """
    every = [one for one in lives(mirror) if wanted.uid in (None, one[1].uid)]
    namespace, _, name = wanted.pod.partition("/")
    known = any(wanted.pod in tuple(pod_names(one)) for one in every)
    if wanted.uid is not None and name and not known:
        return None, PodReference(namespace=namespace, name=name, uid=wanted.uid)
    node, pod = the_one("workload", wanted.pod, every, pod_names)
    return node, PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def lives(mirror: Mirror) -> Iterator[tuple[str, Pod | PodReference]]:
    """Workloads that are observed.

    Of a node whose observation is not retained, as when a person publishes it, those of its last
    decision.
    """
    for found in mirror.objects(topics.OBSERVATION):
        for pod in found.message.pods or ():
            yield found.place.node, pod
    for decided in mirror.objects(topics.DECISION):
        if mirror.get(topics.OBSERVATION, decided.place.node) is None:
            for row in decided.message.ranking:
                yield decided.place.node, row.pod


async def clear_former(mirror: Mirror, asked: Asked, follower: Follower) -> None:
    """One that has had its answer makes room: published again it would stay as it is."""
    status = asked.status(mirror)
    if status is None or not request_finished(status.conditions):
        return
    mirror.clear(topics.REQUEST, asked.node, **asked.levels)
    deadline = asyncio.get_running_loop().time() + CLEARED_SECONDS
    while asked.status(mirror) is not None:
        rest_seconds = deadline - asyncio.get_running_loop().time()
        if rest_seconds <= 0 or not await follower.change(rest_seconds):
            break


async def first_answer(mirror: Mirror, asked: Asked, follower: Follower) -> int:
    """What can be told at once."""
    deadline = asyncio.get_running_loop().time() + ANSWER_SECONDS
    while not follower.answered:
        rest_seconds = deadline - asyncio.get_running_loop().time()
        if rest_seconds <= 0 or not await follower.change(rest_seconds):
            break
    end = follower.end()
    if end is None:
        talk(_progress(mirror, asked))
        return 0
    talk(end.text)
    clear_final(mirror, asked, end)
    return end.exit_code


async def follow(
    mirror: Mirror, asked: Asked, follower: Follower, patience_seconds: float | None, output: str
) -> int:
    """Tell each change until the end. Raises `TimedOutError`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (float("inf") if patience_seconds is None else patience_seconds)
    told: object = standing(None, None)  # which is told only if it stays so
    told_again = loop.time() + ANSWER_SECONDS
    while (end := follower.end()) is None:
        now_standing = standing(asked.status(mirror), asked.eviction(mirror))
        if now_standing != told or loop.time() >= told_again:
            told, told_again = now_standing, loop.time() + REMIND_SECONDS
            tell(mirror, asked, output)
        rest_seconds = deadline - loop.time()
        if rest_seconds <= 0:
            raise TimedOutError(f"it has not ended in {patience_seconds:g} s; {stands(asked)}")
        await follower.change(min(rest_seconds, max(0.0, told_again - loop.time())))
    tell_end(mirror, asked, end.text, output)
    clear_final(mirror, asked, end)
    return end.exit_code


def stands(asked: Asked) -> str:
    """What becomes of a request that nobody follows any more."""
    takes_back = f"evictd withdraw {asked.namespace}/{asked.name}"
    return f"the request stands: `{takes_back}` takes it back"


def clear_final(mirror: Mirror, asked: Asked, end: End) -> None:
    """A request that has had its answer is of no use any more; its requester clears it."""
    if end.final:
        mirror.clear(topics.REQUEST, asked.node, **asked.levels)


def tell(mirror: Mirror, asked: Asked, output: str) -> None:
    """Where it stands: a sentence for people, or an object for programs."""
    if output == Output.JSON:
        click.echo(_objects(mirror, asked))
    else:
        talk(_progress(mirror, asked))


def tell_end(mirror: Mirror, asked: Asked, text: str, output: str) -> None:
    """The last word."""
    if output == Output.JSON:
        click.echo(_objects(mirror, asked))
    talk(text)


def _progress(mirror: Mirror, asked: Asked) -> str:
    return progress_text(asked.status(mirror), asked.eviction(mirror), utc_now())


def _objects(mirror: Mirror, asked: Asked) -> str:
    """One line."""
    told = {"status": asked.status(mirror), "eviction": asked.eviction(mirror)}
    return msgspec.json.encode(told).decode()
