"""Containers without a network of their own: who has lost it with the last life of another.

It stops and starts nobody.
"""

from collections.abc import Awaitable, Callable, Sequence

from evictd.core.errors import EvictdError, PeerError
from evictd.runtimes.docker import naming, pods
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import Inspected, Summary, time_of
from evictd.runtimes.docker.known import Known
from evictd.runtimes.docker.naming import Name
from evictd.runtimes.docker.starting import named
from evictd.runtimes.interface import Bereft
from evictd_schemas import Pod, PodReference

SHARERS_MAX = 20
"""Containers in one network that are restarted with it; more are left to their owner, and told."""

Refusal = Callable[[PodReference, Inspected], Awaitable[str | None]]
"""Why a container must not be stopped, not even for a moment; None where it may be."""


class Sharing:
    """Networks of one engine's containers."""

    def __init__(self, engine: Engine, known: Known, refusal: Refusal) -> None:
        self._engine = engine
        self._known = known
        self._refusal = refusal

    async def bereft(self, name: Name, container_id: str) -> Bereft:
        """Who is in the network of a former life of that container, or of its successor."""
        try:
            lender = await self._engine.inspect(container_id) if container_id else None
            lender = lender or await named(self._engine, name)
            if lender is None or not lender.state.running:
                return Bereft()
            everyone = await self._engine.containers()
            names = naming.names(everyone)
            return await self._sorted(lender, await self._sharers(lender, everyone, names))
        except EvictdError as error:
            return Bereft(problems=(f"who shares its network is not known: {error}",))

    async def _sharers(
        self, lender: Inspected, everyone: Sequence[Summary], names: dict[str, Name]
    ) -> dict[Name, str]:
        """Ids of those that run in its network."""
        running = [item for item in everyone if item.state in ("running", "restarting")]
        return {
            names[item.id]: item.id
            for item in running
            if lender.lends_network(await self._network_mode(item))
        }

    async def _network_mode(self, item: Summary) -> str:
        """As the list has it, which Podman's has not."""
        if item.host_config is not None:
            return item.host_config.network_mode
        try:
            found = await self._engine.inspect(item.id)
        except PeerError:
            return ""
        return "" if found is None else found.host_config.network_mode

    async def _sorted(self, lender: Inspected, sharers: dict[Name, str]) -> Bereft:
        """Whom to restart, and why not the others."""
        found: list[Pod] = []
        problems: list[str] = []
        for name, container_id in sharers.items():
            try:
                container = await self._engine.inspect(container_id)
            except PeerError as error:
                problems.append(_kept(name, str(error)))
                continue
            if container is None or not _lost(container, lender):
                continue
            pod = await self._pod(name, container)
            life = PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid)
            if (why := await self._refusal(life, container)) is not None:
                problems.append(_kept(name, why))
            elif len(found) >= SHARERS_MAX:
                problems.append(_kept(name, f"no more than {SHARERS_MAX} are"))
            else:
                found.append(pod)
        return Bereft(pods=tuple(found), problems=tuple(problems))

    async def _pod(self, name: Name, container: Inspected) -> Pod:
        """As much of it as its restart needs."""
        product = await self._known.product()
        return Pod(
            namespace=name.namespace,
            name=name.name,
            uid=pods.uid(container),
            runtime=product,
            runtime_id=container.id,
            termination_grace_period_seconds=pods.grace_seconds(container, product),
        )


def _lost(container: Inspected, lender: Inspected) -> bool:
    """Whether it was started before the lender was: nobody can join what does not run."""
    if not container.state.running:
        return False
    since, lent = time_of(container.state.started_at), time_of(lender.state.started_at)
    return since is None or lent is None or since < lent


def _kept(name: Name, why: str) -> str:
    return f"{'/'.join(name.words)} shares its network and was not restarted: {why}"
