"""Work that an author's responder is given, without a bus that hears of it."""

from evictd.responder import Work
from evictd.shell.bus import Bus, Router
from evictd.shell.bus.foreign import Foreign
from evictd_schemas import Eviction, EvictionSpec, Metadata, PodTarget, Target


async def _commit() -> None: ...


def work_on(pod: str, bus: Bus | None = None) -> Work:
    """To let shop's pod of that name go."""
    eviction = Eviction(
        metadata=Metadata(namespace="shop", name="pod-1"),
        spec=EvictionSpec(target=Target(pod=PodTarget(name=pod, uid="life"))),
    )
    return Work(
        "edge-7",
        eviction,
        resumed=False,
        tell=lambda *_: None,
        commit=_commit,
        foreign=Foreign(bus or Router(), ()),
    )
