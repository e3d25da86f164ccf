"""A unit, and a slice with all that is in it, as the wire's `Pod`.

What the machine's owner wants is handed in; what must never be stopped is marked after that.
"""

from collections.abc import Callable, Iterable
from functools import partial
from math import ceil

from msgspec import Struct, structs

from evictd.core.orders import Restore
from evictd.runtimes.settings import SettingsFor, configured
from evictd.runtimes.systemd import never
from evictd.runtimes.systemd.ending import OWN_SECONDS_MAX
from evictd.runtimes.systemd.unit import Unit
from evictd.runtimes.systemd.whole import Whole
from evictd_schemas import Pod, Resources
from evictd_schemas.topics import segment_problem

RUNTIME_NAME = "systemd"
NAMESPACE = "systemd"
REASON = "evictd.io/protected"
"""The annotation that says why a unit is protected whatever was configured."""


class Rights(Struct, frozen=True, kw_only=True):
    """What may be stopped: not the control groups that evictd is in, nor units that it needs, by
    patterns of names; and only what `covers` says was listed."""

    covers: Callable[[str], bool]
    own_groups: frozenset[str] = frozenset()
    own_units: tuple[str, ...] = ()


def pod(whole: Whole, settings_for: SettingsFor, rights: Rights, listed: Iterable[str]) -> Pod:
    """`listed` are the names of all units that are workloads."""
    unit = whole.unit
    needs = sorted(unit.needs.intersection(listed) - {unit.id})
    found = Pod(
        namespace=NAMESPACE,
        name=unit.id,
        uid=whole.uid,
        runtime=RUNTIME_NAME,
        runtime_id=unit.id,
        ready=unit.active_state in ("active", "reloading", "refreshing"),
        start_time=unit.active_since,
        termination_grace_period_seconds=_grace_seconds(whole),
        depends_on=tuple(f"{NAMESPACE}/{name}" for name in needs),
        requests=_memory(max(unit.memory_min_bytes or 0, unit.memory_low_bytes or 0)),
        limits=_memory(unit.memory_max_bytes or 0),
    )
    wished = configured(found, settings_for(NAMESPACE, unit.id))
    if unit.is_transient:  # nothing is left of it that could be started
        wished = structs.replace(wished, restore=Restore.NEVER)
    why = never.protection(whole, partial(_reason, whole, settings_for, rights))
    if why is None:
        return wished
    return structs.replace(
        wished,
        protected=True,
        managed_by="evictd" if why == never.OURSELVES else None,
        annotations={REASON: why},
    )


def name_problem(unit: Unit) -> str | None:
    """Why it cannot travel on the bus, or None; escaped characters of a name can."""
    problem = segment_problem(unit.id)
    return None if problem is None else f"{unit.id!r} cannot travel on the bus: {problem}"


def _reason(whole: Whole, settings_for: SettingsFor, rights: Rights, unit: Unit) -> str | None:
    """Why one of those that go may not; of what is only pulled along it must be listed too."""
    if unit.control_group and any(
        f"{group}/".startswith(f"{unit.control_group}/") for group in rights.own_groups
    ):
        return never.OURSELVES
    if (why := never.of_unit(unit)) is not None:
        return why
    if never.matches(unit.names, rights.own_units):
        return never.BROKER
    if unit is whole.unit:
        return None
    settings = settings_for(NAMESPACE, unit.id)
    if settings is not None and settings.protect:
        return "it is protected"
    alien = unit in whole.dependants and unit.runs and not rights.covers(unit.id)
    return "it is not listed" if alien else None


def _grace_seconds(whole: Whole) -> int:
    """The longest of those that go together."""
    times = [unit.stop_seconds for unit in (whole.unit, *whole.along) if unit.runs]
    longest = max((OWN_SECONDS_MAX if time is None else time for time in times), default=0.0)
    return ceil(min(longest, OWN_SECONDS_MAX))


def _memory(amount_bytes: int) -> Resources:
    return {"memory": amount_bytes} if amount_bytes else {}
