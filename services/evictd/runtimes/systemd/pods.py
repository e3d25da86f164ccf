"""A unit, and a slice with all that is in it, as the wire's `Pod`.

What the machine's owner wants is handed in; what must never be stopped is marked after that.
"""

from collections.abc import Iterable
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


class Own(Struct, frozen=True, kw_only=True):
    """What evictd itself needs: the control groups it is in, and units by patterns of names."""

    groups: frozenset[str] = frozenset()
    units: tuple[str, ...] = ()


def pod(whole: Whole, settings_for: SettingsFor, own: Own, listed: Iterable[str]) -> Pod:
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
    why = protection(whole, own)
    if why is None:
        return wished
    return structs.replace(
        wished,
        protected=True,
        managed_by="evictd" if why == never.OURSELVES else None,
        annotations={REASON: why},
    )


def protection(whole: Whole, own: Own) -> str | None:
    """Why it is never stopped, None when it may be; a slice also for what is in it."""
    if (why := _reason(whole.unit, own)) is not None:
        return why
    within = ((unit, _reason(unit, own)) for unit in whole.inside if unit.runs)
    found = ((unit.id, reason) for unit, reason in within if reason is not None)
    return next((f"{name} is in it, and {reason}" for name, reason in found), None)


def name_problem(unit: Unit) -> str | None:
    """Why it cannot travel on the bus, or None; escaped characters of a name can."""
    problem = segment_problem(unit.id)
    return None if problem is None else f"{unit.id!r} cannot travel on the bus: {problem}"


def _reason(unit: Unit, own: Own) -> str | None:
    if unit.control_group and any(
        f"{group}/".startswith(f"{unit.control_group}/") for group in own.groups
    ):
        return never.OURSELVES
    if (why := never.reason(unit.names)) is not None:
        return why
    if unit.refuses_stop:
        return "its file says RefuseManualStop=yes"
    return never.BROKER if never.matches(unit.names, own.units) else None


def _grace_seconds(whole: Whole) -> int:
    """Its own time; of a slice the longest of those in it, for they are stopped at once."""
    units = whole.inside or (whole.unit,)
    times = (unit.stop_seconds for unit in units if unit.runs)
    longest = max((OWN_SECONDS_MAX if time is None else time for time in times), default=0.0)
    return ceil(min(longest, OWN_SECONDS_MAX))


def _memory(amount_bytes: int) -> Resources:
    return {"memory": amount_bytes} if amount_bytes else {}
