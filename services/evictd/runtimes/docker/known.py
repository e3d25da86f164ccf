"""What of an engine is asked once and remembered.

What it is, which containers are evictd's own, and with which labels an image was built.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from msgspec import Struct

from evictd.runtimes import hierarchies
from evictd.runtimes.docker import ownership, pods, reaching
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.inspection import Information, Inspected
from evictd.runtimes.docker.ownership import Parts
from evictd.shell.blocking import RunBlocking

IMAGES_MAX = 1_000
"""Images whose labels are remembered; beyond it all are forgotten and asked again."""


class Own(Struct, frozen=True, kw_only=True):
    """How evictd's own parts are named: containers, and the broker's address as a URL."""

    names: Iterable[str] = ()
    broker: str | None = None


class Known:
    """Of one engine. `own_process` is the folder of the process that we are."""

    def __init__(
        self, engine: Engine, own: Own, own_process: Path, run_blocking: RunBlocking
    ) -> None:
        self._engine = engine
        self._own = own
        self._own_process = own_process
        self._run_blocking = run_blocking
        self._image_labels: dict[str, dict[str, str]] = {}
        self._information: Information | None = None
        self._parts: Parts | None = None
        self._product: str | None = None

    @property
    def name(self) -> str:
        """Podman's once it has told that it is Podman."""
        return self._product or pods.DOCKER

    async def information(self) -> Information:
        """It changes only with a restart of the engine, to the same answer."""
        if self._information is None:
            self._information = await self._engine.information()
        return self._information

    async def product(self) -> str:
        """Docker's, or Podman's answering for one."""
        if self._product is None:
            information = await self.information()
            self._product = pods.PODMAN if information.is_podman else pods.DOCKER
        return self._product

    async def parts(self) -> Parts:
        """Which container we are in is asked of the kernel, its image of the engine."""
        if self._parts is None:
            container_id = await self._run_blocking(partial(_own_container_id, self._own_process))
            own = None if container_id is None else await self._engine.inspect(container_id)
            machine = (await self.information()).name
            broker = reaching.address(self._own.broker or "")
            engine = reaching.address(self._engine.address)
            proxy = () if engine is None else (engine.host,)
            self._parts = Parts(
                container_id=container_id,
                image=None if own is None else own.image,
                names=frozenset((*self._own.names, *proxy)),
                broker=reaching.located(broker, machine),
                engine=reaching.located(engine, machine),
            )
        return self._parts

    async def image_labels(self, container: Inspected) -> dict[str, str]:
        """Asked only where a label of ours is there to compare."""
        if not any(name.startswith("evictd.") for name in container.labels):
            return {}
        if container.image not in self._image_labels:
            if len(self._image_labels) >= IMAGES_MAX:
                self._image_labels.clear()
            image = await self._engine.image(container.image)
            labels = image.config.labels if image is not None and image.config is not None else None
            self._image_labels[container.image] = labels or {}
        return self._image_labels[container.image]


def _own_container_id(own_process: Path) -> str | None:
    names = ("mountinfo", "cgroup")
    files = {name: hierarchies.text(own_process / name) or "" for name in names}
    return ownership.own_container_id(files)
