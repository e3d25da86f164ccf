"""One sync of the protocol's default responder, which asks an eviction endpoint to delete the pod.

Attempts are counted in the message and so survive a restart; the moment of the last refused call is
kept by the caller, per pod uid, and does not. [eviction-request-api 7]
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct, structs

from evictd.core.pods import active
from evictd.core.protocol.patience import HEARTBEAT_SECONDS
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, Role, State
from evictd_schemas import Eviction, Pod, ResponderStatus, topics

PAUSE_BASE_SECONDS = 5.0
PAUSE_MAX_SECONDS = 600.0
FRESH_SECONDS = 179.0
"""A heartbeat up to this old is repeated only together with something new."""
MESSAGE_BYTES_MAX = 4000
"""A message is cut there. [eviction-request-api 2.3]"""
ATTEMPTS_MAX = (1 << 64) - 1
"""Attempts are an unsigned 64 bit number; what does not fit counts as none."""

ATTEMPTS = re.compile(r"\(attempts=([0-9]+)\)")
SUBRESOURCE = "via the /eviction subresource"


class Answer(Struct, frozen=True, kw_only=True):
    """What the eviction endpoint said. `retry_after_seconds` is its advice."""

    accepted: bool
    error: str = ""
    retry_after_seconds: float = 0.0


class Sync(Struct, frozen=True, kw_only=True):
    """What one look leads to: a call, or an entry to write and when to look again."""

    call: bool = False
    write: ResponderStatus | None = None
    look_again_seconds: float | None = None


def pause_seconds(base_seconds: float, maximum_seconds: float, exponent: int) -> float:
    """`base` doubled `exponent` times, at most `maximum`."""
    bounded = min(max(0, exponent), 64)  # 2^64 is beyond every maximum
    return min(base_seconds * float(2**bounded), maximum_seconds)


def concerns_responder(eviction: Eviction) -> bool:
    """Whether the Eviction has a pod and its label gives this responder a part to play."""
    role = eviction.metadata.labels.get(DEFAULT_RESPONDER)
    return eviction.spec.target.pod is not None and role in {Role.RESPONDER, Role.BOTH}


def label_changed(key: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether one label came, went or changed."""
    return old.get(key) != new.get(key)


def attempts_of(message: str) -> int:
    """The first counter in a message, 0 where there is none or it does not fit."""
    found = ATTEMPTS.search(message)
    count = int(found.group(1)) if found else 0
    return count if count <= ATTEMPTS_MAX else 0


def look(eviction: Eviction, pod: Pod | None, last_attempt: datetime | None, now: datetime) -> Sync:
    """One look at the Eviction and its pod.

    `call` asks for the endpoint; then `answered` follows.
    """
    entry = _own_entry(eviction)
    if entry is None:
        return Sync()
    name = _quoted(eviction)
    if (sentence := _end(eviction, pod)) is not None:
        done = structs.replace(entry, expected_completion_time=now, completion_time=now)
        return _sync(entry, done, f"{name} pod {sentence}", now, None)
    assert pod is not None  # noqa: S101 - an absent pod is an end
    if pod.deletion_time is not None:
        expected = structs.replace(entry, expected_completion_time=max(pod.deletion_time, now))
        by = f" {SUBRESOURCE}" if SUBRESOURCE in entry.message else ""
        sentence = f"has been been marked for deletion{by} and is being terminated gracefully"
        return _sync(entry, expected, f"{name} pod {sentence}", now, HEARTBEAT_SECONDS)
    rest = _rest_seconds(attempts_of(entry.message), last_attempt, now)
    if rest > 0:
        return _sync(entry, entry, entry.message, now, rest)
    return Sync(call=True)


def answered(eviction: Eviction, answer: Answer, now: datetime) -> Sync:
    """What the endpoint's answer leads to. After a refusal the caller remembers the moment."""
    entry = _own_entry(eviction)
    if entry is None:
        return Sync()
    name = _quoted(eviction)
    if answer.accepted:
        sentence = f"has been been marked for deletion {SUBRESOURCE} and will be terminated"
        return _sync(entry, entry, f"{name} pod {sentence} gracefully", now, None)
    recorded = attempts_of(entry.message)
    pause = pause_seconds(PAUSE_BASE_SECONDS, PAUSE_MAX_SECONDS, recorded)
    failed = f"deletion {SUBRESOURCE} failed (attempts={recorded + 1}): {answer.error}"
    wait = max(pause, answer.retry_after_seconds)
    return _sync(entry, entry, f"{name} pod {failed}", now, wait)


def _own_entry(eviction: Eviction) -> ResponderStatus | None:
    """The entry to fill, None unless it is this responder's turn and it has not completed."""
    status = eviction.status
    active = any(
        entry.name == DEFAULT_RESPONDER and entry.state == State.ACTIVE
        for entry in status.target_responders
    )
    if not active or status.observed_generation is None or not concerns_responder(eviction):
        return None
    entry = next((item for item in status.responders if item.name == DEFAULT_RESPONDER), None)
    return None if entry is None or entry.completion_time is not None else entry


def _end(eviction: Eviction, pod: Pod | None) -> str | None:
    """The sentence of a pod that needs no call any more, None while it lives."""
    target = eviction.spec.target.pod
    if pod is None or target is None or pod.uid != target.uid:
        return "has been deleted and fully terminated"
    if active(pod):
        return None
    deleted = "deleted and " if pod.deletion_time is not None else ""
    return f'has been {deleted}fully terminated (pod phase="{pod.phase}")'


def _rest_seconds(attempts: int, last_attempt: datetime | None, now: datetime) -> float:
    if last_attempt is None or attempts == 0:
        return 0.0
    pause = pause_seconds(PAUSE_BASE_SECONDS, PAUSE_MAX_SECONDS, attempts - 1)
    return (last_attempt + timedelta(seconds=pause) - now).total_seconds()


def _sync(
    entry: ResponderStatus,
    changed: ResponderStatus,
    message: str,
    now: datetime,
    look_again_seconds: float | None,
) -> Sync:
    """Write what differs or when a sign of life is due; every write is one."""
    again = None if look_again_seconds is None else min(look_again_seconds, HEARTBEAT_SECONDS)
    cut = topics.cut(message, MESSAGE_BYTES_MAX)
    changed = structs.replace(changed, message=cut)
    if changed == entry and not _stale(entry, now):
        return Sync(look_again_seconds=again)
    return Sync(write=structs.replace(changed, heartbeat_time=now), look_again_seconds=again)


def _stale(entry: ResponderStatus, now: datetime) -> bool:
    if entry.heartbeat_time is None:
        return True
    return (now - entry.heartbeat_time).total_seconds() > FRESH_SECONDS


def _quoted(eviction: Eviction) -> str:
    target = eviction.spec.target.pod
    return f'"{target.name if target else ""}"'
