"""Rules about the status of an Eviction: its lists, and the state machine of its chain.

The state machine is checked again at every write, so that a rogue writer cannot skip steps.
[eviction-request-api 2.2, 2.3, 4]
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from evictd.core.admission import names
from evictd.core.admission.conditions import (
    condition_problems,
    frozen_problems,
    generation_problems,
)
from evictd.core.admission.entries import AHEAD, entry_problems
from evictd.core.admission.kinds import (
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
    too_many,
)
from evictd.core.admission.objects import PRIORITY_MIN, priority, twins, word
from evictd.core.problems import Problem
from evictd.core.protocol.chain import RESPONDERS_MAX, entry_of, order
from evictd.core.protocol.conditions import eviction_finished
from evictd.core.protocol.progression import SILENCE_SECONDS
from evictd.core.protocol.requesters import REQUESTERS_MAX
from evictd.core.protocol.vocabulary import (
    DEFAULT_PRIORITY,
    DEFAULT_RESPONDER,
    FINAL_STATES,
    Intent,
    State,
)
from evictd_schemas import EvictionStatus, ResponderStatus, TargetResponder

TARGETS = "status.targetResponders"
ENTRIES = "status.responders"


class Write(Struct, frozen=True, kw_only=True):
    """One write of a status, and the moment at which it is judged."""

    old: EvictionStatus
    new: EvictionStatus
    now: datetime

    @property
    def final(self) -> bool:
        """Whether the Eviction has ended with this write, or had before."""
        return eviction_finished(self.new.conditions) or eviction_finished(self.old.conditions)


def status_problems(old: EvictionStatus, new: EvictionStatus, now: datetime) -> Iterator[Problem]:
    """Everything that is wrong with writing `new` over `old` now."""
    write = Write(old=old, new=new, now=now)
    yield from condition_problems(new.conditions)
    yield from frozen_problems(old.conditions, new.conditions)
    yield from generation_problems(old.observed_generation, new.observed_generation)
    yield from _requesters(new)
    lists = [*_target_list(new), *_entry_list(new)]
    yield from lists
    if not lists:
        yield from _targets(write)
        yield from _entries(write)


def _requesters(new: EvictionStatus) -> Iterator[Problem]:
    field, listed = "status.requesters", new.requesters
    if len(listed) > REQUESTERS_MAX:
        yield too_many(field, len(listed), REQUESTERS_MAX)
        return
    yield from twins(field, [item.name for item in listed])
    for index, item in enumerate(listed):
        yield from names.participant(f"{field}[{index}].name", item.name, outsider=False)
        yield from word(f"{field}[{index}].intent", item.intent, Intent)


def _target_list(new: EvictionStatus) -> Iterator[Problem]:
    """What ends the checks of the chain early: a list that is too long, or names twice."""
    if len(new.target_responders) > RESPONDERS_MAX:
        yield too_many(TARGETS, len(new.target_responders), RESPONDERS_MAX)
    else:
        yield from twins(TARGETS, [item.name for item in new.target_responders])


def _entry_list(new: EvictionStatus) -> Iterator[Problem]:
    if len(new.responders) > RESPONDERS_MAX:
        yield too_many(ENTRIES, len(new.responders), RESPONDERS_MAX)
    else:
        yield from twins(ENTRIES, [item.name for item in new.responders])


def _targets(write: Write) -> Iterator[Problem]:
    former = {item.name: item for item in write.old.target_responders}
    for index, item in enumerate(write.new.target_responders):
        yield from _target(f"{TARGETS}[{index}]", item, former.get(item.name))
    if former and former.keys() != {item.name for item in write.new.target_responders}:
        yield invalid(TARGETS, "its names are fixed at the first write")
        return
    yield from _transitions(write)


def _target(path: str, item: TargetResponder, former: TargetResponder | None) -> Iterator[Problem]:
    yield from names.participant(f"{path}.name", item.name, outsider=False)
    yield from _priority(f"{path}.priority", item)
    if former is not None and item.priority != former.priority:
        yield immutable(f"{path}.priority")
    if not item.state:
        yield required(f"{path}.state")
    elif item.state not in set(State):
        yield not_supported(f"{path}.state", item.state, State)


def _priority(field: str, item: TargetResponder) -> Iterator[Problem]:
    """The default responder has exactly its own; low ones are for Kubernetes' domains only."""
    if item.name == DEFAULT_RESPONDER and item.priority not in (None, DEFAULT_PRIORITY):
        yield invalid(field, f"of {DEFAULT_RESPONDER} it is {DEFAULT_PRIORITY}")
        return
    within = item.name.partition("/")[0].endswith(".k8s.io")
    yield from priority(field, item.priority, 0 if within else PRIORITY_MIN)


def _transitions(write: Write) -> Iterator[Problem]:
    """The allowed states of each position, in the order in which responders run."""
    new = sorted(write.new.target_responders, key=order)
    old = sorted(write.old.target_responders, key=order)
    index_of = {item.name: at for at, item in enumerate(write.new.target_responders)}
    for position, item in enumerate(new):
        path = f"{TARGETS}[{index_of[item.name]}]"
        entry = entry_of(write.new.responders, item.name)
        if entry is None:
            yield invalid(path, f"{ENTRIES} has no entry for it")
            continue
        if item.state not in set(State):
            continue
        allowed = _allowed(old, new, position, final=write.final)
        if item.state not in allowed:
            words = " or ".join(sorted(allowed))
            yield invalid(f"{path}.state", f"{item.state} where it must be {words}")
        if old and old[position].state == State.ACTIVE and item.state in FINAL_STATES:
            yield from _leaving(f"{path}.state", item, entry, write)


def _allowed(
    old: Sequence[TargetResponder], new: Sequence[TargetResponder], position: int, *, final: bool
) -> frozenset[str]:
    """[eviction-request-api 4, table]"""
    successor = State.INACTIVE if final else State.ACTIVE
    if not old:
        return frozenset({successor if position == 0 else State.INACTIVE})
    states = [item.state for item in old]
    if State.ACTIVE not in states:
        unchanged = final or states[position] in FINAL_STATES
        return frozenset({states[position] if unchanged else State.INACTIVE})
    current = states.index(State.ACTIVE)
    if position < current:
        return frozenset({states[position]})
    stays = new[current].state == State.ACTIVE
    if position == current:
        return frozenset({State.ACTIVE}) if stays and not final else frozenset(FINAL_STATES)
    if position == current + 1 and not stays:
        return frozenset({successor})
    return frozenset({State.INACTIVE})


def _leaving(
    field: str, item: TargetResponder, entry: ResponderStatus, write: Write
) -> Iterator[Problem]:
    """Nobody is taken off early, and nobody has completed who did not say so."""
    if entry.completion_time is not None:
        return
    last = entry.heartbeat_time or entry.start_time
    patience = timedelta(seconds=SILENCE_SECONDS) - AHEAD
    if not write.final and last is not None and write.now < last + patience:
        yield forbidden(field, "its responder is still at work")
    if item.state == State.COMPLETED:
        yield invalid(field, "its responder has not reported completion")


def _entries(write: Write) -> Iterator[Problem]:
    targets = {item.name: item for item in write.new.target_responders}
    if targets.keys() != {item.name for item in write.new.responders}:
        yield invalid(ENTRIES, f"its names are not those of {TARGETS}")
    for index, entry in enumerate(write.new.responders):
        path = f"{ENTRIES}[{index}]"
        yield from names.participant(f"{path}.name", entry.name, outsider=False)
        target = targets.get(entry.name)
        if target is not None:
            former = entry_of(write.old.responders, entry.name)
            active = target.state == State.ACTIVE
            yield from entry_problems(path, entry, former, write.now, active=active)
