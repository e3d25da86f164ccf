"""The broker: reached, login, whole lists, access list in force, open to strangers, where it is.

A wrong access list is silent, and so is a list that was cut: only a trial shows either.
[mqtt 3; 6: 7 and 9]
"""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem
from evictd.shell.broker.access import OPERATOR, USERS
from evictd.shell.bus.link_trial import Trial

LISTED_STOCK = 1_000
"""`max_queued_messages` of a Mosquitto that nobody configured: a longer list is cut."""
LISTED_NEAR = 800
SLOW_SECONDS = 1.0


class BrokerFacts(Struct, frozen=True, kw_only=True):
    """`url` "" where none is known, and `missing` says why.

    `here`: it listens on loopback; None where that cannot be told, as among containers. `login`:
    who connects. `anonymous`: the same trial without a login, None where it was not made.
    `separate`: the workers are processes of their own here; `running`: there are any.
    """

    url: str = ""
    missing: str = ""
    owned: bool = False
    here: bool | None = None
    tls: bool = False
    login: str | None = None
    trial: Trial | None = None
    anonymous: Trial | None = None
    separate: bool = False
    running: bool = False


def findings(facts: BrokerFacts) -> Iterator[Finding]:
    """Whatever can be told without it, and the rest only of one that answers."""
    if facts.trial is None:
        yield problem(
            "broker",
            facts.missing or "none is known",
            means="nobody sees what evictd decides",
            remedy="start `evictd up`, which brings one, or name one by EVICTD_BROKER",
        )
        return
    if facts.trial.failure is not None:
        yield _unreachable(facts, facts.trial.failure)
        return
    yield _reached(facts, facts.trial)
    yield _list(facts.trial)
    yield from _access(facts, facts.trial)
    yield from _strangers(facts)
    yield from _place(facts)


def _unreachable(facts: BrokerFacts, failure: str) -> Finding:
    """The three usual reasons of a broker that was set up by hand."""
    said = failure.lower()
    if "not authori" in said or "bad user" in said or "refused: not" in said:
        remedy = (
            f"the login {facts.login} or its password is wrong: see brokerUser and brokerPassword"
            if facts.login
            else "it wants a login: give brokerUser and brokerPassword"
        )
    elif facts.owned and facts.running:
        remedy = (
            "evictd runs here: with another state folder or configuration, give EVICTD_STATEFOLDER "
            "or --config; else its broker hangs: end that process, and evictd starts it again"
        )
    elif facts.owned:
        remedy = "start `evictd up`, which brings it; or name another one by EVICTD_BROKER"
    else:
        remedy = (
            "see whether it runs and this address is right; whether the port speaks MQTT and not "
            "WebSockets (`protocol websockets`); and whether it listens beyond loopback at all, "
            "which Mosquitto does not without a `listener` line"
        )
    return problem(
        "broker",
        f"{facts.url} cannot be reached: {failure}",
        means="nobody sees what evictd decides, and separate workers hear nothing of each other",
        remedy=remedy,
    )


def _reached(facts: BrokerFacts, trial: Trial) -> Finding:
    who = f"as {facts.login}" if facts.login else "without a login"
    text = f"{facts.url} answers {who}"
    if trial.seconds > SLOW_SECONDS:
        return note("broker", f"{text} after {trial.seconds:g} s", means="it or the way is slow")
    return ok("broker", text)


def _list(trial: Trial) -> Finding:
    parts = trial.listed_in_parts
    remedy = "max_queued_messages 100000 and max_queued_bytes 67108864 in mosquitto.conf"
    if parts is not None and parts > trial.listed:
        return problem(
            "broker list",
            f"cut: {trial.listed} of {parts} messages came",
            means="what is missing in a list looks as if it were gone",
            remedy=remedy,
        )
    if trial.listed >= LISTED_NEAR and parts is None:
        return note(
            "broker list",
            f"{trial.listed} messages; a Mosquitto that nobody configured cuts at {LISTED_STOCK}",
            remedy=remedy,
        )
    return ok("broker list", f"whole, {trial.listed} messages")


def _access(facts: BrokerFacts, trial: Trial) -> Iterator[Finding]:
    """Who may speak where nobody but the operator should."""
    confined = facts.login in USERS and facts.login != OPERATOR
    if trial.came_back and confined:
        yield problem(
            "broker access",
            f"the login {facts.login} may write where it should not",
            means="the access list is not in force: whoever has a login may stop workloads",
            remedy="acl_file with the output of `evictd access-list`",
        )
    elif not trial.came_back and not confined:
        yield problem(
            "broker access",
            f"what {facts.login or 'this login'} says does not come back",
            means="requests and wishes from here are dropped without a word",
            remedy="`topic readwrite` of evictd/v1/# in the access list; `evictd access-list` "
            "prints a whole one",
        )
    else:
        told = "is refused where it should be" if confined else "is heard where it speaks"
        yield ok("broker access", f"{facts.login or 'this login'} {told}")


def _strangers(facts: BrokerFacts) -> Iterator[Finding]:
    """Without a login anybody who reaches it is the operator."""
    open_trial = facts.trial if facts.login is None else facts.anonymous
    if open_trial is None:
        return
    if open_trial.failure is not None:
        yield ok("broker strangers", "without a login nobody gets in")
        return
    writes = open_trial.came_back
    text = "gets in without a login" + (" and may write everything" if writes else "")
    if facts.here and facts.login is None:
        yield note(
            "broker strangers",
            f"whoever is on this machine {text}",
            means="every program here may stop workloads" if writes else "",
            remedy="allow_anonymous false and a password_file",
        )
        return
    yield problem(
        "broker strangers",
        f"whoever reaches {facts.url} {text}",
        means="everybody in the network may stop workloads"
        if writes
        else "everybody in the network reads what runs here",
        remedy="allow_anonymous false, a password_file, and the output of `evictd access-list` as "
        "acl_file; or `listener 1883 127.0.0.1`",
    )


def _place(facts: BrokerFacts) -> Iterator[Finding]:
    if facts.here is None:
        return
    if facts.here:
        yield ok("broker place", "on this machine")
        return
    if facts.separate:
        yield problem(
            "broker place",
            "on another machine, and the workers here are separate processes",
            means="they speak to each other through it: while the network is down nothing is done",
            remedy="`evictd up` instead, whose workers need no broker; or a broker here, bridged",
        )
    else:
        yield note(
            "broker place",
            "on another machine",
            means="while the network is down nobody sees this machine, which protects itself all "
            "the same where its workers are one process (`evictd up`)",
        )
    if not facts.tls:
        yield note(
            "broker way",
            f"{facts.url} is not encrypted",
            means="logins and decisions can be read on the way",
            remedy="mqtts://, or a tunnel",
        )
