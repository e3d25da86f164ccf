"""Vectors of the protocol's default responder (17 and 18) against `core.duty.imperative`."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.conformance.protocol_objects import (
    at,
    over_plain,
    pod_of,
    read,
    seconds_of,
    time_of,
    whole,
)

from evictd.core.duty import imperative
from evictd.core.duty.imperative import Answer, Sync
from evictd_schemas import Eviction, ResponderStatus

Given = Mapping[str, Any]


def sync(given: Given) -> dict[str, Any]:
    """One sync: a look, and the endpoint's answer where the look asks for a call."""
    eviction, now = read(given["eviction"], Eviction), at(given["now"] or 0)
    last_attempt = time_of(given["lastAttempt"])
    found = imperative.look(eviction, pod_of(given["pod"]), last_attempt, now)
    called = found.call
    if called:
        found = imperative.answered(eviction, _answer(given["evictCall"] or {}), now)
    return {"evictCalled": called, **_outcome(found)}


def _answer(given: Given) -> Answer:
    return Answer(
        accepted=bool(given.get("ok")),
        error=given.get("error", ""),
        retry_after_seconds=given.get("retryAfterSeconds", 0),
    )


def _outcome(found: Sync) -> dict[str, Any]:
    again = found.look_again_seconds
    return {
        "write": None if found.write is None else _entry(found.write),
        "requeueAfter": None if again is None else whole(again),
    }


def _entry(status: ResponderStatus) -> dict[str, Any]:
    """An entry as the vectors write it: absent times stay absent, an absent message is empty."""
    times = {
        "startTime": status.start_time,
        "heartbeatTime": status.heartbeat_time,
        "expectedCompletionTime": status.expected_completion_time,
        "completionTime": status.completion_time,
    }
    given = {name: seconds_of(time) for name, time in times.items() if time is not None}
    return {"name": status.name, **given, "message": status.message}


def pause(given: Given) -> dict[str, Any]:
    """The pause after a number of refusals."""
    base, most, exponent = (given[name] or 0 for name in ("base", "max", "exponent"))
    return {"seconds": whole(imperative.pause_seconds(base, most, exponent))}


def concerns(given: Given) -> dict[str, Any]:
    """Whether an Eviction is this responder's business."""
    return {"value": imperative.concerns_responder(read(given["eviction"], Eviction))}


def label_changed(given: Given) -> dict[str, Any]:
    """Whether the label differs between two states of an object."""
    old, new = (read(given[name], Eviction).metadata.labels for name in ("old", "new"))
    return {"value": imperative.label_changed(given["key"], old, new)}


def attempts(given: Given) -> dict[str, Any]:
    """The counter in a message."""
    return {"value": imperative.attempts_of(given["message"] or "")}


def copy_status(given: Given) -> dict[str, Any]:
    """An entry read from the wire and written again whole."""
    return {"status": _entry(read(given["status"], ResponderStatus))}


def last_attempts(given: Given) -> dict[str, Any]:
    """Moments are remembered per pod uid, by whoever carries the answers."""
    remembered: dict[str, float] = {}
    reads: list[float | None] = []
    for step in given["ops"] or ():
        match step:
            case {"set": uid, "at": moment}:
                remembered[uid] = moment
            case {"get": uid}:
                reads.append(remembered.get(uid))
            case {"remove": uid}:
                remembered.pop(uid, None)
            case _:
                raise ValueError(f"{step!r} is none of set, get, remove")
    return {"reads": reads}


_UTILITIES: dict[str, Callable[[Given], dict[str, Any]]] = {
    "backoff": pause,
    "concernsMe": concerns,
    "labelChanged": label_changed,
    "attempts": attempts,
    "copyStatus": copy_status,
    "lastAttempts": last_attempts,
}

OPERATIONS = {
    ("18-imperative-sync", ""): over_plain(sync),
    **{("17-imperative-utils", name): over_plain(call) for name, call in _UTILITIES.items()},
}
