"""The configuration's `workloads:`: what an entry must say, and what is only odd."""

import re
from collections.abc import Iterator

import msgspec

from evictd.core.admission.objects import declared_problems
from evictd.core.ways import PRIORITIES, Way, priority_number
from evictd.shell.configuration.lines import bytes_of, quantity_remedy
from evictd.shell.configuration.problems import Note
from evictd_schemas.configuration import Configuration, Workload
from evictd_schemas.topics import segment_problem

NEEDED = re.compile(r"[^/\s]+(/[^/\s]+)?")
"""`name` or `namespace/name`."""


def problems(configuration: Configuration) -> Iterator[Note]:
    """What no workload can mean."""
    for pattern, workload in configuration.workloads.items():
        for path, text in _entry(workload):
            yield ("workloads", pattern, *path), text


def cautions(configuration: Configuration) -> Iterator[Note]:
    """What would not do what it seems to."""
    webhooks = any(responder.webhook is not None for responder in configuration.responders)
    for pattern, workload in configuration.workloads.items():
        place = ("workloads", pattern)
        if workload.action == Way.WEBHOOK.value and not webhooks:
            text = "nothing under responders: has a webhook, so that only a hard eviction stops it"
            yield (*place, "action"), text
        if workload.enable is False and workload.protect is False:
            yield (*place, "protect"), "enable: false leaves it alone all the same"


def _entry(workload: Workload) -> Iterator[Note]:
    for problem in declared_problems(workload.responders or (), None, field=""):
        yield ("responders",), f"{problem.field} {problem.reason}".lstrip()
    if workload.request is not None:
        for name, text in msgspec.to_builtins(workload.request).items():
            if bytes_of(text) is None:
                yield ("request", name), f"{text!r} is no quantity{quantity_remedy(text)}"
    if workload.priority is not None and not _is_priority(workload.priority):
        words = ", ".join(PRIORITIES)
        yield ("priority",), f"{workload.priority!r} is neither a whole number nor one of {words}"
    if workload.group is not None and (unfit := segment_problem(workload.group)) is not None:
        yield ("group",), f"{workload.group!r} cannot be the word of a group: {unfit}"
    for index, name in enumerate(workload.depends_on or ()):
        if NEEDED.fullmatch(name) is None:
            yield ("dependsOn", index), f"{name!r} is neither a name nor a namespace/name"


def _is_priority(written: int | str) -> bool:
    try:
        priority_number(written)
    except ValueError:
        return False
    return True
