"""The controller's step: one target, what is given, and what is asked of the world.

Intake first; then syncs until nothing changes, each of them a write of its own; then the next look.
[eviction-request-api 5] [contract 3] [design, law 1]
"""

from collections.abc import Sequence

from evictd.core.effects import ControllerEffect, WakeAt
from evictd.core.errors import Bug
from evictd.core.moments import Now
from evictd.core.protocol.announcement import announced
from evictd.core.protocol.case import Case, eviction_of
from evictd.core.protocol.collection import collected
from evictd.core.protocol.evictions import sync_eviction, with_staleness
from evictd.core.protocol.inputs import ControllerRules, Given, Recalled
from evictd.core.protocol.intake import taken
from evictd.core.protocol.links import refreshed
from evictd.core.protocol.patience import next_look
from evictd.core.protocol.requests import sync_request
from evictd.core.protocol.steadiness import steadied, translated

SYNCS_MAX = 64
"""Writes that one input may lead to: every responder of a chain once, in two chains, and more."""


def advance(
    rules: ControllerRules, case: Case, given: Given, now: Now
) -> tuple[Case, tuple[ControllerEffect, ...]]:
    """One input of one target: requests, Evictions, chain. [eviction-request-api 5.2 to 5.4]

    A case without requests and Evictions is the empty one again.
    """
    case, steady = steadied(rules, case, given, now)
    held = taken(rules, case, translated(case, given), steady)
    base = held if isinstance(given, Recalled) else case
    settled, effects = _settled(rules, base, held, steady)
    if not settled.requests and not settled.evictions:
        return Case(), tuple(effects)
    look = next_look(rules, settled, steady)
    if look is not None:
        rest_seconds = (look - steady.utc).total_seconds()
        effects.append(WakeAt(boot_seconds=now.boot_seconds + rest_seconds))
    return settled, tuple(effects)


def writes(rules: ControllerRules, case: Case, now: Now) -> Sequence[Case]:
    """The cases that successive syncs lead to, without the first and without repetition."""
    found: list[Case] = []
    for _ in range(SYNCS_MAX):
        synced = _synced(rules, case, now)
        if synced == case:
            return found
        found.append(synced)
        case = synced
    raise Bug(f"a target of {rules.node} does not settle: {case.requests[:1]!r}")


def _settled(
    rules: ControllerRules, base: Case, held: Case, now: Now
) -> tuple[Case, list[ControllerEffect]]:
    effects: list[ControllerEffect] = []
    before = base
    for after in writes(rules, held, now) or (held,):
        effects.extend(announced(rules, before, after, now))
        before = after
    return before, effects


def _synced(rules: ControllerRules, case: Case, now: Now) -> Case:
    """One sync of everything about the target: collection, requests, Evictions, their labels."""
    case = collected(rules, case, now)
    for held in case.requests:
        case = sync_request(rules, case, held, now)
    for uid in [item.metadata.uid for item in case.evictions]:
        case = sync_eviction(rules, case, eviction_of(case, uid), now)
        case = refreshed(rules, case, eviction_of(case, uid))
        case = with_staleness(rules, case, eviction_of(case, uid), now)
    return case
