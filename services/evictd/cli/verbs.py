"""The table of verbs. Help is written from it, so that no verb is loaded before it is used."""

from dataclasses import dataclass
from importlib import import_module

import click


@dataclass(frozen=True, kw_only=True)
class Verb:
    """Where a verb is and what it does, in one line."""

    module: str
    summary: str


VERBS = {
    "status": Verb(module="status", summary="Tell how this machine is; also without a verb."),
    "doctor": Verb(
        module="doctor", summary="Examine this machine: what is wrong, and what to do about it."
    ),
    "get": Verb(module="get", summary="Print what is on the bus now, a row each."),
    "describe": Verb(module="describe", summary="Tell all there is of one thing."),
    "watch": Verb(module="watch", summary="Print Evictions or events as they come."),
    "request": Verb(module="request", summary="Ask for the eviction of a workload."),
    "withdraw": Verb(module="withdraw", summary="Take a request back."),
    "restore": Verb(module="restore", summary="Have something started again that evictd stopped."),
    "forget": Verb(module="forget", summary="Leave something down that evictd stopped."),
    "hold": Verb(module="hold", summary="Evict and start nobody for a while."),
    "plan": Verb(module="plan", summary="Tell who would be asked first, and the worst case."),
    "history": Verb(module="history", summary="Tell what was evicted, when, why, by whom."),
    "up": Verb(module="up", summary="Run every worker in this process, with a broker of its own."),
    "run": Verb(module="run", summary="Run one worker."),
    "respond": Verb(
        module="respond", summary="Run a command before a workload is stopped: a responder."
    ),
    "health": Verb(module="health", summary="Tell by the exit code whether a worker is alive."),
    "client-config": Verb(
        module="client_configuration",
        summary="Let mosquitto_pub and mosquitto_sub need no options here.",
    ),
    "config": Verb(module="config", summary="Check and show the configuration."),
    "schema": Verb(module="schema", summary="Write the schemas of all messages."),
    "access-list": Verb(module="access_list", summary="Print the broker's access list."),
    "node-name": Verb(module="node_name", summary="Print the name of this machine on the bus."),
    "demo": Verb(module="demo", summary="Tell the story of a machine running short, in a minute."),
    "simulate": Verb(module="simulate", summary="Play a scenario: what would be decided, and why."),
    "rank": Verb(module="rank", summary="Print who would go, in which order, and why."),
    "explain": Verb(module="explain", summary="Tell when one workload would go, and why."),
    "record": Verb(module="record", summary="Write what travels on the bus into a file."),
    "replay": Verb(module="replay", summary="Decide a recording again, and compare."),
    "version": Verb(module="version", summary="Print the version."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        command: click.Command = import_module(f"evictd.cli.{verb.module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.pass_context
def evictd(context: click.Context) -> None:
    """Keep a machine that runs containers alive when it runs short of something.

    Without a command it tells how this machine is, as `evictd status` does.
    """
    if context.invoked_subcommand is None:
        status = evictd.get_command(context, "status")
        assert status is not None  # noqa: S101 - it is in the table
        context.invoke(status)
