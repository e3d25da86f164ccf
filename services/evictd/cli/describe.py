"""`evictd describe KIND NAME`: all there is of one Eviction, request or workload."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from evictd.cli.chain_table import chain_lines
from evictd.cli.disk_text import held_text, rates_text
from evictd.cli.eviction_tables import request_item
from evictd.cli.eviction_texts import (
    NO_ANSWER,
    deadline_of,
    document,
    request_state,
    state_text,
    status_of,
    target_of,
    type_text,
)
from evictd.cli.naming import (
    eviction_names,
    observed_pod,
    request_names,
    responder_names,
    the_one,
)
from evictd.cli.past import journal_of, told_events
from evictd.cli.reading import Reader, reader_options, run, utc_now
from evictd.cli.responder_tables import responders
from evictd.cli.tables import (
    NOTHING,
    Item,
    Output,
    ago,
    aligned,
    amount_text,
    due,
    listed,
    object_text,
    output_option,
)
from evictd.cli.workload_tables import leaving_uids, memory_used, verdict_text
from evictd.client import Found, Mirror
from evictd.core.protocol.chain import active
from evictd.core.signals.names import MEMORY_AVAILABLE
from evictd.core.wording import name_text, on_one_line
from evictd.shell.blocking import in_thread
from evictd_schemas import (
    Condition,
    Event,
    Eviction,
    EvictionRequest,
    EvictionStatus,
    Loss,
    Pod,
    topics,
)

LABEL_CHARACTERS = 15
RESPONDER_LABELS = (
    "Node",
    "Responder",
    "Status",
    "Priority",
    "Workloads",
    "At work on",
    "Begins within",
    "Silent for",
    "Dry runs",
)
"""Of the columns of `get responders -o wide`."""
CONDITION_HEAD = ("  CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE")
EVENT_HEAD = ("  AGE", "REASON", "MESSAGE")


@click.command("describe")
@click.argument("kind", type=click.Choice(["eviction", "request", "responder", "workload"]))
@click.argument("name")
@output_option(Output.TABLE, Output.JSON, Output.YAML)
@reader_options()
def command(reader: Reader, kind: str, name: str, output: str) -> None:
    """Tell all there is of NAME, which is written namespace/name, or the name alone.

    Events are not kept by the broker; those that this machine's own journal still has are told.
    """
    if output != Output.TABLE:
        click.echo(object_text(run(message(reader, kind, name)), output))
        return
    journal = journal_of(reader.configuration())
    for line in run(described(reader, journal, kind, name)):
        click.echo(line)


async def message(reader: Reader, kind: str, name: str) -> Mapping[str, Any]:
    """What `get` has of it. Raises `NotFoundError`."""
    async with reader.mirror(reader.connect_seconds) as mirror:
        return document_of(mirror, kind, name)


def document_of(mirror: Mirror, kind: str, name: str) -> Mapping[str, Any]:
    """The message itself, for programs."""
    now = utc_now()
    match kind:
        case "eviction":
            return document(the_one(kind, name, mirror.objects(topics.EVICTION), eviction_names))
        case "request":
            found = the_one(kind, name, mirror.objects(topics.REQUEST), request_names)
            return request_item(found, status_of(mirror, found), now).document
        case "responder":
            return the_one(kind, name, responders(mirror, now), responder_names).document
        case _:
            node, pod = observed_pod(mirror, name)
            return {"node": node, **msgspec.to_builtins(pod)}


async def described(reader: Reader, journal: Path, kind: str, name: str) -> list[str]:
    """The lines. Raises `NotFoundError`."""
    async with reader.mirror(reader.connect_seconds) as mirror:
        now = utc_now()
        if kind == "eviction":
            eviction = the_one(kind, name, mirror.objects(topics.EVICTION), eviction_names)
            place = eviction.message.metadata.name, eviction.place.node
            events = await in_thread(lambda: told_events(journal, *place))
            return [*eviction_lines(eviction, now), *event_lines(events, now)]
        if kind == "request":
            request = the_one(kind, name, mirror.objects(topics.REQUEST), request_names)
            return [*request_lines(mirror, request, now)]
        if kind == "responder":
            responder = the_one(kind, name, responders(mirror, now), responder_names)
            return [*responder_lines(mirror, responder, now)]
        node, pod = observed_pod(mirror, name)
        return [*workload_lines(mirror, node, pod, now)]


def line(label: str, value: object) -> str:
    """One fact."""
    return f"{label + ':':<{LABEL_CHARACTERS}}{on_one_line(str(value))}"


def eviction_lines(found: Found[Eviction], now: datetime) -> Iterator[str]:
    """Target, wish, conditions, chain."""
    status, metadata = found.message.status, found.message.metadata
    pod = found.message.spec.target.pod
    yield line("Eviction", found.place.namespaced_name)
    yield line("Node", found.place.node)
    target = target_of(found)
    yield line("Target", f"{target} ({pod.uid})" if pod is not None else target)
    yield line("State", state_text(status.conditions, dry_run=status.dry_run))
    yield line("Type", type_text(status))
    grace = status.grace_period_seconds
    yield line("Grace", "the workload's own" if grace is None else f"{grace} s")
    yield from wish_lines(status, now)
    yield line("Created", moment_text(metadata.creation_timestamp, now))
    if (deadline := deadline_of(status)) is not None:
        yield line("Deadline", f"{deadline:%Y-%m-%d %H:%M:%S} UTC ({due(deadline, now)})")
    if status.round:
        yield line("Round", f"{status.round + 1}: the whole chain ended before without evicting it")
    yield ""
    yield from condition_lines(status.conditions, now)
    yield ""
    yield from chain_lines(status.target_responders, status.responders, now)


def responder_lines(mirror: Mirror, item: Item, now: datetime) -> Iterator[str]:
    """What it has said of itself, and every Eviction in which it has its turn now."""
    yield from map(line, RESPONDER_LABELS, (*item.cells, *item.wide))
    for found in mirror.objects(topics.EVICTION, item.cells[0]):
        turn = active(found.message.status.target_responders)
        if turn is not None and turn.name == item.name:
            yield ""
            yield from eviction_lines(found, now)


def wish_lines(status: EvictionStatus, now: datetime) -> Iterator[str]:
    """Who wants it, and why."""
    wanting = [f"{item.name} ({item.intent})" for item in status.requesters]
    yield line("Requesters", listed(wanting))
    if status.reason is not None:
        signal = f"{status.reason.signal}: " if status.reason.signal else ""
        yield line("Reason", f"{signal}{status.reason.message}".strip() or NOTHING)
    if status.forced is not None:
        yield line("Forced", f"by {status.forced.by} {ago(status.forced.time, now)} ago")


def condition_lines(conditions: Iterable[Condition], now: datetime) -> Iterator[str]:
    """A row a condition."""
    yield "Conditions:"
    yield from aligned(
        CONDITION_HEAD,
        [
            (
                f"  {item.type}",
                item.status,
                item.reason,
                ago(item.last_transition_time, now),
                item.message or NOTHING,
            )
            for item in conditions
        ],
    )


def request_lines(mirror: Mirror, found: Found[EvictionRequest], now: datetime) -> Iterator[str]:
    """The wish, the answer, and the Eviction that it led to."""
    spec, status = found.message.spec, status_of(mirror, found)
    pod = spec.target.pod
    yield line("Request", found.place.namespaced_name)
    yield line("Node", found.place.node)
    yield line("Requester", found.place.participant)
    target = target_of(found)
    yield line("Target", f"{target} ({pod.uid})" if pod is not None else target)
    yield line("Intent", spec.intent or NOTHING)
    yield line("Type", f"{spec.type} (dry run)" if spec.dry_run else spec.type)
    if spec.deadline_seconds is not None:
        yield line("Deadline", f"{spec.deadline_seconds:g} s after it was received")
    grace = spec.grace_period_seconds
    yield line("Grace", "the workload's own" if grace is None else f"{grace} s")
    if spec.reason is not None:
        yield line("Reason", spec.reason.message or spec.reason.signal or NOTHING)
    yield line("State", request_state(spec.intent, status))
    yield line("Topic", found.topic)
    if status is None:
        yield line("Answer", NO_ANSWER)
        return
    yield line("Received", moment_text(status.creation_timestamp, now))
    yield ""
    yield from condition_lines(status.conditions, now)
    yield from _led_to(mirror, found, now)


def _led_to(mirror: Mirror, found: Found[EvictionRequest], now: datetime) -> Iterator[str]:
    status = status_of(mirror, found)
    if status is None or status.eviction is None:
        return
    for eviction in mirror.objects(topics.EVICTION, found.place.node):
        if eviction.message.metadata.uid == status.eviction.uid:
            yield ""
            yield from eviction_lines(eviction, now)


def workload_lines(mirror: Mirror, node: str, pod: Pod, now: datetime) -> Iterator[str]:
    """What it is, what it uses, where it stands, who would be asked."""
    observation = mirror.get(topics.OBSERVATION, node)
    decision = mirror.get(topics.DECISION, node)
    ranking = () if decision is None else decision.ranking
    place = next((at for at, row in enumerate(ranking) if row.pod.uid == pod.uid), None)
    yield line("Workload", name_text(pod))
    yield line("Node", node)
    yield line("UID", pod.uid)
    yield line("Runtime", f"{pod.runtime or NOTHING} {pod.runtime_id}".rstrip())
    yield line("State", "Leaving" if pod.uid in leaving_uids(mirror, node) else pod.phase)
    yield line("Started", moment_text(pod.start_time, now))
    yield line("Priority", pod.priority or 0)
    yield line("Kept", kept_text(pod))
    yield from _figures(pod, () if decision is None else decision.losses)
    yield line("Responders", listed(item.name for item in pod.eviction_responders))
    yield line("Action", pod.action)
    yield line("Group", pod.group or NOTHING)
    yield line("Depends on", listed(pod.depends_on))
    yield line("Restore", pod.restore)
    yield line("Observed", moment_text(None if observation is None else observation.time, now))
    if place is not None and decision is not None:
        row = ranking[place]
        of = f"number {place + 1} of {decision.ranking_total} for {decision.signal}"
        yield line("Last decision", f"{verdict_text(pod, row)}, {of}: {row.why}")
    for found in mirror.objects(topics.EVICTION, node):
        target = found.message.spec.target.pod
        if target is not None and target.uid == pod.uid:
            yield ""
            yield from eviction_lines(found, now)


def kept_text(pod: Pod) -> str:
    """What protects it."""
    if pod.managed_by is not None and pod.protected:
        return f"protected, managed by {pod.managed_by}"
    words = ("critical",) * pod.critical + ("protected",) * pod.protected
    through = "" if pod.managed_by is None else f", stopped through {pod.managed_by}"
    return (" and ".join(words) or "no") + through


def _figures(pod: Pod, losses: Sequence[Loss]) -> Iterator[str]:
    asked = amount_text(MEMORY_AVAILABLE, pod.requests.get("memory"))
    limit = amount_text(MEMORY_AVAILABLE, pod.limits.get("memory"))
    uses = amount_text(MEMORY_AVAILABLE, memory_used(pod))
    yield line("Memory", f"uses {uses}, asked for {asked}, limit {limit}")
    yield line("Disk", f"{held_text(pod)}; writes {rates_text(losses, pod.uid)}")


def event_lines(events: Sequence[Event], now: datetime) -> Iterator[str]:
    """What the journal of this machine's controller still has to tell of it."""
    if events:
        yield ""
        yield "Events:"
        yield from aligned(
            EVENT_HEAD,
            [
                (f"  {ago(event.time, now)}", event.data["reason"], event.data["message"])
                for event in events
            ],
        )


def moment_text(time: datetime | None, now: datetime) -> str:
    """A moment and how long ago it was."""
    if time is None:
        return NOTHING
    return f"{time:%Y-%m-%d %H:%M:%S} UTC ({ago(time, now)} ago)"
