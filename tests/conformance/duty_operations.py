"""Vectors of the protocol's default responder (17 and 18) against `core.duty.imperative`.

Times of the vectors are seconds; here they are counted from one fixed instant.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from evictd.core.duty import imperative
from evictd.core.duty.imperative import Answer, Sync
from evictd_schemas import Eviction, Pod, ResponderStatus

ORIGIN = datetime(2026, 1, 1, tzinfo=UTC)


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else ORIGIN + timedelta(seconds=seconds)


def _seconds(time: datetime | None) -> int | None:
    return None if time is None else int((time - ORIGIN).total_seconds())


def _with_times(value: Any) -> Any:
    """The same document with its seconds as times."""
    if isinstance(value, Mapping):
        return {
            key: _time(item)
            if key.endswith(("Time", "Timestamp")) and isinstance(item, int | float)
            else _with_times(item)
            for key, item in value.items()
        }
    return [_with_times(item) for item in value] if isinstance(value, list) else value


def _eviction(given: Mapping[str, Any]) -> Eviction:
    return msgspec.convert(_with_times(given), Eviction)


def _pod(given: Mapping[str, Any] | None) -> Pod | None:
    if given is None:
        return None
    metadata = given["metadata"]
    return Pod(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        phase=given["status"].get("phase", ""),
        deletion_time=_time(metadata.get("deletionTimestamp")),
    )


def _entry(status: ResponderStatus) -> dict[str, Any]:
    """An entry as the vectors write it: absent times stay absent, an absent message is empty."""
    times = {
        "startTime": status.start_time,
        "heartbeatTime": status.heartbeat_time,
        "expectedCompletionTime": status.expected_completion_time,
        "completionTime": status.completion_time,
    }
    given = {name: _seconds(time) for name, time in times.items() if time is not None}
    return {"name": status.name, **given, "message": status.message}


def sync(given: Mapping[str, Any]) -> dict[str, Any]:
    """One sync: a look, and the endpoint's answer where the look asks for a call."""
    eviction, now = _eviction(given["eviction"]), ORIGIN + timedelta(seconds=given["now"])
    found = imperative.look(eviction, _pod(given["pod"]), _time(given["lastAttempt"]), now)
    called = found.call
    if called:
        found = imperative.answered(eviction, _answer(given["evictCall"]), now)
    return {"evictCalled": called, **_outcome(found)}


def _answer(given: Mapping[str, Any]) -> Answer:
    return Answer(
        accepted=given["ok"],
        error=given.get("error", ""),
        retry_after_seconds=given.get("retryAfterSeconds", 0),
    )


def _outcome(found: Sync) -> dict[str, Any]:
    again = found.look_again_seconds
    return {
        "write": None if found.write is None else _entry(found.write),
        "requeueAfter": None if again is None else int(again),
    }


def pause(given: Mapping[str, Any]) -> dict[str, Any]:
    """The pause after a number of refusals."""
    seconds = imperative.pause_seconds(given["base"], given["max"], given["exponent"])
    return {"seconds": int(seconds)}


def concerns(given: Mapping[str, Any]) -> dict[str, Any]:
    """Whether an Eviction is this responder's business."""
    return {"value": imperative.concerns_responder(_eviction(given["eviction"]))}


def label_changed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the label differs between two states of an object."""
    old, new = (given[name]["metadata"].get("labels", {}) for name in ("old", "new"))
    return {"value": imperative.label_changed(given["key"], old, new)}


def attempts(given: Mapping[str, Any]) -> dict[str, Any]:
    """The counter in a message."""
    return {"value": imperative.attempts_of(given["message"])}


def copy_status(given: Mapping[str, Any]) -> dict[str, Any]:
    """An entry read from the wire and written again whole."""
    return {"status": _entry(msgspec.convert(_with_times(given["status"]), ResponderStatus))}


def last_attempts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Moments are remembered per pod uid, by whoever carries the answers."""
    remembered: dict[str, int] = {}
    reads: list[int | None] = []
    for step in given["ops"]:
        match step:
            case {"set": uid, "at": moment}:
                remembered[uid] = moment
            case {"get": uid}:
                reads.append(remembered.get(uid))
            case {"remove": uid}:
                remembered.pop(uid, None)
    return {"reads": reads}


UTILITIES: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "backoff": pause,
    "concernsMe": concerns,
    "labelChanged": label_changed,
    "attempts": attempts,
    "copyStatus": copy_status,
    "lastAttempts": last_attempts,
}

OPERATIONS = {
    ("18-imperative-sync", ""): sync,
    **{("17-imperative-utils", name): operation for name, operation in UTILITIES.items()},
}
