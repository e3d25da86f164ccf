"""`evictd respond`: a command, a URL or a workload's own topic as a responder, without any code."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from evictd.cli.broker import operator_address, state_folder_of
from evictd.cli.last_configuration import remembered
from evictd.cli.machine import home_node
from evictd.cli.options import config_option, known_configuration, loaded
from evictd.core.protocol.chain import REGISTERED_PRIORITY
from evictd.core.protocol.progression import SILENCE_SECONDS
from evictd.responder import Responder
from evictd.responder.author import TIMEOUT_SECONDS
from evictd.responder.command import Command, Places
from evictd.responder.serving import until_signal
from evictd.responder.webhook import Webhook
from evictd.responder.workload_topic import WorkloadTopic
from evictd.shell.configuration.responders import exchange, webhook_problem
from evictd_schemas.configuration import ConfiguredResponder, Selector

MARGIN_SECONDS = 30.0
"""Above the time of a turn: a command's end takes five seconds, a report may be held back 20 s."""


@click.command("respond")
@config_option
@click.option("--name", help="Its name in the chain, such as acme.io/drain.")
@click.option("--node", help="Whose workloads; + for every node. Default: this machine's.")
@click.option("--broker", help="Broker, such as mqtt://user:password@127.0.0.1:1883.")
@click.option(
    "--select",
    "labels",
    multiple=True,
    metavar="LABEL=VALUE",
    help="Work for workloads with these labels too. Default: only for those that name it.",
)
@click.option("--every", is_flag=True, help="Work for every workload.")
@click.option("--namespace", "namespaces", multiple=True, help="Only there. Default: anywhere.")
@click.option("--priority", type=int, help=f"Greater comes first. Default: {REGISTERED_PRIORITY}.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(min=0, min_open=True),
    help=f"Seconds that one turn may take. Default: {TIMEOUT_SECONDS:g}.",
)
@click.option("--dry-run", "dry", is_flag=True, help="It is asked in dry runs as well.")
@click.option("--webhook", "url", help="POST to this URL instead of running a command.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    file: Path | None,
    name: str | None,
    node: str | None,
    broker: str | None,
    labels: Sequence[str],
    namespaces: Sequence[str],
    priority: int | None,
    timeout_seconds: float | None,
    url: str | None,
    command: Sequence[str],
    every: bool,
    dry: bool,
) -> None:
    """Run COMMAND for each workload that is to leave, before it is stopped.

    Its exit ends the turn, and each line that it prints shows that it gets on. It finds the target
    and the reason in EVICTION_NAMESPACE, EVICTION_POD, EVICTION_UID, EVICTION_REASON,
    EVICTION_SIGNAL and others; docs/responders.md has them all. A turn that is over ends the
    command with SIGTERM. Without --name, all that the configuration has under `responders:` are
    run; without --config too it is the one that evictd runs with here.

    Example: evictd respond --name acme.io/drain -- sh -c 'docker exec "$EVICTION_POD" save'
    """
    if url is not None and (problem := webhook_problem(url)) is not None:
        raise click.BadParameter(problem, param_hint="--webhook")
    if file is None and name is None and not command and url is None:
        file = remembered(state_folder_of(known_configuration(None)))
    configuration = loaded(file, broker=broker).configuration
    entries = configuration.responders
    if name is not None:
        one = ConfiguredResponder(
            name=name,
            command=tuple(command),
            webhook=url,
            timeout_seconds=timeout_seconds,
            selector=_selector(labels, every=every),
            namespaces=tuple(namespaces),
            priority=priority,
            supports_dry_run=dry,
        )
        entries = (one,)
    elif command or url or not entries:
        raise click.UsageError("give --name and -- COMMAND..., or `responders:` in a configuration")
    places = Places()
    found = [_responder(entry, places) for entry in entries]
    where = operator_address(configuration)
    asyncio.run(until_signal(found, where, node or home_node(configuration)))


def _responder(entry: ConfiguredResponder, places: Places) -> Responder:
    """Raises `InputError` for what no controller would take."""
    if bool(entry.command) == (entry.webhook is not None) and entry.topic is None:
        raise click.UsageError("give either -- COMMAND... or --webhook URL")
    seconds = entry.timeout_seconds or TIMEOUT_SECONDS
    part = _part(entry, seconds, places)
    return Responder(
        name=entry.name,
        respond=part.respond,
        restore=part.restore,
        priority=entry.priority,
        selector=None if entry.selector is None else entry.selector.match_labels,
        namespaces=entry.namespaces,
        start_deadline_seconds=_silence_seconds(seconds),
        heartbeat_deadline_seconds=_silence_seconds(seconds),
        supports_dry_run=entry.supports_dry_run,
        hears=part.hears if isinstance(part, WorkloadTopic) else (),
    )


def _silence_seconds(seconds: float) -> float | None:
    """After so long without a word it hangs; None: where a turn is long, as long as everybody."""
    most = seconds + MARGIN_SECONDS
    return most if most < SILENCE_SECONDS else None


def _part(
    entry: ConfiguredResponder, seconds: float, places: Places
) -> Command | Webhook | WorkloadTopic:
    """What it does."""
    if (found := exchange(entry)) is not None:
        return WorkloadTopic(found, timeout_seconds=seconds)
    if entry.webhook is not None:
        return Webhook(entry.webhook, timeout_seconds=seconds)
    return Command(entry.command, timeout_seconds=seconds, places=places)


def _selector(labels: Sequence[str], *, every: bool) -> Selector | None:
    for label in labels:
        if "=" not in label:
            raise click.BadParameter(f"{label!r} is not LABEL=VALUE", param_hint="--select")
    if every or labels:
        return Selector(match_labels=dict(label.split("=", 1) for label in labels))
    return None
