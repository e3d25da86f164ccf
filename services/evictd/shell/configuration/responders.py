"""The configuration's `responders:`: what they must say."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from evictd.core.admission.messages import registration_problems
from evictd.core.exchange import Exchange, may_meet, template_problem
from evictd.core.protocol.vocabulary import PresenceStatus
from evictd.shell.configuration.problems import Note, named_once
from evictd_schemas import LabelSelector, Registration
from evictd_schemas.configuration import Configuration, ConfiguredResponder

RESPONDERS_MAX = 100
"""Each has a connection of its own."""
ANSWER = "answer"
"""The level beneath a workload's topic on which it answers."""


def problems(configuration: Configuration) -> Iterator[Note]:
    """What no responder can mean."""
    entries = configuration.responders
    yield from named_once("responders", [written.name for written in entries], RESPONDERS_MAX)
    for index, written in enumerate(entries):
        for key, text in _entry(written):
            yield ("responders", index, *key), text
    yield from _crossings(entries)


def registration(written: ConfiguredResponder) -> Registration:
    """What it says of itself on the bus, as far as the configuration tells."""
    labels = {} if written.selector is None else written.selector.match_labels
    return Registration(
        status=PresenceStatus.READY,
        priority=written.priority,
        selector=LabelSelector(match_labels=labels),
        namespaces=written.namespaces,
        supports_dry_run=written.supports_dry_run,
    )


def webhook_problem(url: str) -> str | None:
    """Why it cannot be asked, or None. It is not shown: parts of it may be secret."""
    try:
        parts = urlsplit(url)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not url.startswith(("http://", "https://")):
        return "begins with neither http:// nor https://"
    return None if known else "names no host, or a port that cannot be"


def exchange(written: ConfiguredResponder) -> Exchange | None:
    """The topics on which it asks the workload itself; None where it does something else."""
    if written.topic is None:
        return None
    answer = f"{written.topic}/{ANSWER}" if written.answer_topic is None else written.answer_topic
    return Exchange(question=written.topic, answer=answer)


def _entry(written: ConfiguredResponder) -> Iterator[Note]:
    for problem in registration_problems(written.name, registration(written)):
        key = {"topic": "name", "selector.matchLabels": "selector"}.get(
            problem.field, problem.field
        )
        yield (key,), problem.reason
    ways = (bool(written.command), written.webhook is not None, written.topic is not None)
    if sum(ways) != 1:
        yield (), "needs one of command, webhook and topic, and no other of them"
    if written.webhook is not None and (text := webhook_problem(written.webhook)) is not None:
        yield ("webhook",), text
    if written.timeout_seconds is not None and written.timeout_seconds <= 0:
        yield ("timeoutSeconds",), "must be more than 0"
    yield from _topics(written)


def _topics(written: ConfiguredResponder) -> Iterator[Note]:
    """Where the workload is asked, and where it answers."""
    if written.topic is None:
        if written.answer_topic is not None:
            yield ("answerTopic",), "goes with topic, and only with it"
        return
    for key, text in (("topic", written.topic), ("answerTopic", written.answer_topic)):
        if text is not None and (problem := template_problem(text)) is not None:
            yield (key,), f"{text!r} is no topic of a workload: {problem}"


def _crossings(entries: Sequence[ConfiguredResponder]) -> Iterator[Note]:
    """Topics that are answers and questions at once: whoever may answer there could ask too."""
    exchanges = {index: found for index, item in enumerate(entries) if (found := exchange(item))}
    for index, own in exchanges.items():
        key = "topic" if entries[index].answer_topic is None else "answerTopic"
        for other, theirs in exchanges.items():
            if may_meet(own.answer, theirs.question):
                text = (
                    f"its answers on {own.answer!r} could be the questions of responders[{other}]"
                    f" on {theirs.question!r}: take another first level for one of them"
                )
                yield ("responders", index, key), text
