"""Rules about conditions and the observed generation of any status.

[eviction-request-api 2.1, 2.2]
"""

import re
from collections.abc import Iterator, Sequence

from evictd.core.admission import names
from evictd.core.admission.kinds import invalid, not_supported, required, too_long, too_many
from evictd.core.admission.objects import twins
from evictd.core.problems import Problem
from evictd.core.protocol.conditions import find
from evictd.core.protocol.vocabulary import ConditionType, Status
from evictd_schemas import Condition

CONDITIONS_MAX = 100
REASON_LENGTH_MAX = 1024
MESSAGE_LENGTH_MAX = 32_768

_REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")


def condition_problems(conditions: Sequence[Condition]) -> Iterator[Problem]:
    """The rules that hold for conditions everywhere."""
    field = "status.conditions"
    if len(conditions) > CONDITIONS_MAX:
        yield too_many(field, len(conditions), CONDITIONS_MAX)
        return
    yield from twins(field, [item.type for item in conditions])
    for index, condition in enumerate(conditions):
        yield from _condition(f"{field}[{index}]", condition)


def frozen_problems(old: Sequence[Condition], new: Sequence[Condition]) -> Iterator[Problem]:
    """On an Eviction both built-in conditions stay as they are once they are True."""
    for kind in ConditionType:
        held = find(old, kind)
        if held is not None and held.status == Status.TRUE and find(new, kind) != held:
            yield invalid("status.conditions", f"{kind} is True and final")


def generation_problems(old: int | None, new: int | None) -> Iterator[Problem]:
    """At least 1, never lower, never unset again."""
    field = "status.observedGeneration"
    if new is None:
        if old is not None:
            yield invalid(field, "it cannot be unset")
    elif new < 1:
        yield invalid(field, "it is at least 1")
    elif old is not None and new < old:
        yield invalid(field, f"it was {old} and never becomes lower")


def _condition(path: str, condition: Condition) -> Iterator[Problem]:
    if not names.label_key(condition.type):
        yield invalid(f"{path}.type", f"{condition.type[:80]!r} is no name of a condition")
    if condition.status not in set(Status):
        yield not_supported(f"{path}.status", condition.status, Status)
    if condition.observed_generation is not None and condition.observed_generation < 0:
        yield invalid(f"{path}.observedGeneration", "it is not negative")
    if condition.last_transition_time is None:
        yield required(f"{path}.lastTransitionTime")
    if len(condition.message) > MESSAGE_LENGTH_MAX:
        yield too_long(f"{path}.message", len(condition.message), MESSAGE_LENGTH_MAX)
    if not condition.reason:
        yield required(f"{path}.reason")
        return
    if _REASON.fullmatch(condition.reason) is None:
        yield invalid(f"{path}.reason", f"{condition.reason[:80]!r} is no reason")
    if len(condition.reason) > REASON_LENGTH_MAX:
        yield too_long(f"{path}.reason", len(condition.reason), REASON_LENGTH_MAX)
