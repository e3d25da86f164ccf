"""A container as a workload: everything that its inspection says, in the wire's words."""

from datetime import datetime

from msgspec import structs

from evictd.core.orders import Restore
from evictd.core.ways import Way
from evictd.runtimes.docker import labels, naming, ownership
from evictd.runtimes.docker.inspection import HostSettings, Inspected
from evictd.runtimes.docker.labels import Wishes
from evictd.runtimes.docker.naming import Name, Replicas
from evictd.runtimes.docker.ownership import Parts
from evictd.runtimes.docker.units import Unit
from evictd.runtimes.hierarchies import bounded_bytes
from evictd.runtimes.interface import life_uid
from evictd.runtimes.settings import SettingsFor, WorkloadSettings, configured
from evictd_schemas import Pod, Resources

DOCKER = "docker"
PODMAN = "podman"
ENGINE_GRACE_SECONDS = 10
"""What the engine waits after the stop signal where a container does not say."""


def uid(container: Inspected) -> str:
    """This life: the container's id and the moment it was started last."""
    return life_uid(container.id, container.state.started_at)


def grace_seconds(container: Inspected, product: str) -> int:
    """The container's own wait after its stop signal.

    Podman writes 0 of a container that Docker's client or Compose made and did not say it of, and
    would kill it at once.
    """
    own = container.config.stop_timeout
    unsaid = own is None or (own == 0 and product == PODMAN)
    return ENGINE_GRACE_SECONDS if own is None or unsaid else own


def wishes(container: Inspected, image_labels: dict[str, str], name: Name) -> Wishes:
    """What its labels say."""
    return labels.read(container.labels, image_labels, name.namespace)


def pod(
    container: Inspected,
    name: Name,
    wanted: Wishes,
    settings_for: SettingsFor,
    parts: Parts,
    *,
    product: str,
    replicas: Replicas | None = None,
    unit: Unit | None = None,
) -> Pod:
    """Configuration wins over labels; a manager and our own parts win over both."""
    settings = settings_for(name.namespace, name.name)
    enable = wanted.enable if settings is None or settings.enable is None else settings.enable
    needed = wanted.depends_on
    if needed is None:
        needed = naming.dependencies(container.labels, name.namespace)
    found = Pod(
        namespace=name.namespace,
        name=name.name,
        uid=uid(container),
        runtime=product,
        runtime_id=container.id,
        priority=wanted.priority,
        protected=wanted.protect or enable is False,
        action=wanted.action,
        labelled=wanted.labelled,
        ready=container.state.is_ready,
        start_time=_time(container.state.started_at),
        termination_grace_period_seconds=grace_seconds(container, product),
        labels=container.labels,
        group=wanted.group,
        depends_on=needed,
        restore=Restore.NEVER if naming.one_off(container.labels) else wanted.restore,
        requests=_requests(container.host_config),
        limits=_limits(container.host_config),
        eviction_responders=wanted.responders,
    )
    found = configured(found, settings)
    found = structs.replace(found, depends_on=naming.every(found.depends_on, replicas or {}))
    manager = ownership.manager(container, name, wanted.role, parts)
    if manager is None and unit is not None:
        if unit.obeys:  # it is started again as what it was stopped as
            return structs.replace(found, managed_by=unit.manager, runtime_id=unit.name)
        manager = unit.manager
    return found if manager is None else structs.replace(found, protected=True, managed_by=manager)


def problem(pod: Pod, settings: WorkloadSettings | None) -> str | None:
    """What its owner wants and cannot have, None for nothing."""
    if pod.action != Way.WEBHOOK or (settings is not None and settings.webhooks):
        return None
    return (
        "its action is webhook, and nothing under responders: has a webhook for it:"
        " only a hard eviction would stop it"
    )


def _requests(host: HostSettings) -> Resources:
    amount = bounded_bytes(host.memory_reservation or 0)
    return {} if amount is None else {"memory": amount}


def _limits(host: HostSettings) -> Resources:
    found: Resources = {}
    if (amount := bounded_bytes(host.memory or 0)) is not None:
        found["memory"] = amount
    if host.nano_cpus:
        found["cpu"] = host.nano_cpus / 1e9
    return found


def _time(text: str) -> datetime | None:
    """The engine writes nanoseconds; a moment that does not read is not told."""
    try:
        return datetime.fromisoformat(text).replace(microsecond=0)
    except ValueError:
        return None
