"""The engine's socket through aiodocker.

Every call has a time-out, and every failure is a `PeerError` that says what was asked. [design, law
10]
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import aiodocker
import aiohttp
import anyio
import msgspec

from evictd.core.errors import PeerError
from evictd.runtimes.docker.figures import Figures
from evictd.runtimes.docker.inspection import (
    CacheRecord,
    DiskUsage,
    EngineEvent,
    Image,
    ImageSummary,
    Information,
    Inspected,
    Pruned,
    Summary,
)

CONNECT_SECONDS = 2.0
"""A socket on this machine answers at once or not at all."""
LIST_SECONDS = 5.0
"""The engine answers within milliseconds; beyond this it hangs."""
INSPECT_SECONDS = 2.0
"""Of one container: a hung one must not delay the others."""
STATISTICS_SECONDS = 4.0
"""The engine itself collects once a second, and answers with the second one."""
STOP_MARGIN_SECONDS = 15.0
"""Beyond the grace: the engine's own SIGKILL and clean-up."""
START_SECONDS = 30.0
"""Networks, mounts and the first process; nothing is pulled."""
PRUNE_SECONDS = 120.0
"""Deleting thousands of layers on a slow card; whoever ordered it has a deadline of its own."""
QUIET_SECONDS = 300.0
"""Of the events of an engine behind a network: a peer that vanished says nothing for ever, and to
listen anew costs it three calls. Containers with a health check are never quiet so long."""
BUILD_CACHE_HOURS = 24
"""What was used within a day belongs to work that goes on."""
REMOVE_SECONDS = 60.0
"""Of one image or container: its files, on a slow card."""
CACHE_SECONDS = 20.0
"""For the list of the build cache, which is asked in dry runs only; an old engine counts everything
that it has for it."""
SUMMARY_KEYS = ("Id", "Names", "Labels", "State", "Status", "ImageID", "HostConfig")
FAILED = (aiodocker.DockerError, aiohttp.ClientError, OSError)
"""The engine said no, or could not be reached."""
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What aiodocker ends with when an answer is cut off, empty, or no answer of an engine at all, as
from a proxy that is going down."""

T = TypeVar("T")
M = TypeVar("M")


class Engine:
    """One engine at an address such as `unix:///var/run/docker.sock` or `tcp://proxy:2375`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client: aiodocker.Docker | None = None

    async def information(self) -> Information:
        """GET /info."""
        return await self._ask("info", LIST_SECONDS, Information, self._connected().system.info)

    async def containers(self) -> tuple[Summary, ...]:
        """All containers, stopped ones too."""

        async def ask() -> list[Any]:
            found = await self._connected().containers.list(all=True)
            return [{key: item[key] for key in SUMMARY_KEYS if key in item} for item in found]

        return await self._ask("containers", LIST_SECONDS, tuple[Summary, ...], ask)

    async def inspect(self, container_id: str) -> Inspected | None:
        """One container, None when it is gone."""
        container = self._connected().containers.container(container_id)
        what = f"container {container_id[:12]}"
        return await self._ask_for(what, INSPECT_SECONDS, Inspected, container.show)

    async def image(self, image_id: str) -> Image | None:
        """One image, None when it is gone."""

        async def ask() -> Any:
            return await self._connected().images.inspect(image_id)

        return await self._ask_for(f"image {image_id[:19]}", INSPECT_SECONDS, Image, ask)

    async def statistics(self, container_id: str) -> Figures | None:
        """What it uses, None when it is gone. Engines take one to two seconds for it."""
        container = self._connected().containers.container(container_id)

        async def ask() -> Any:
            return await container.stats(stream=False)

        what = f"statistics of container {container_id[:12]}"
        answers = await self._ask_for(what, STATISTICS_SECONDS, tuple[Figures, ...], ask)
        return answers[0] if answers else None  # none where it ends while the engine collects

    async def stop(
        self, container_id: str, grace_seconds: int | None, own_grace_seconds: int
    ) -> None:
        """Its stop signal, then SIGKILL after the grace; None: its own.

        Returns when it has ended or was not running.
        """
        container = self._connected().containers.container(container_id)
        wait_seconds = own_grace_seconds if grace_seconds is None else grace_seconds

        async def ask() -> None:
            await container.stop(t=grace_seconds, timeout=None)

        await self._bounded(
            f"stop of container {container_id[:12]}", wait_seconds + STOP_MARGIN_SECONDS, ask
        )

    async def start(self, container_id: str) -> None:
        """Start it again as it was made. Returns when its first process runs, or ran already."""
        container = self._connected().containers.container(container_id)
        await self._bounded(
            f"start of container {container_id[:12]}", START_SECONDS, container.start
        )

    async def images(self) -> tuple[ImageSummary, ...]:
        """All images, those too that others are built on."""

        async def ask() -> Any:
            return await self._connected().images.list(all="1", digests="1")

        return await self._ask("images", LIST_SECONDS, tuple[ImageSummary, ...], ask)

    async def dangling_images(self) -> tuple[ImageSummary, ...]:
        """Images without a name."""

        async def ask() -> Any:
            return await self._connected().images.list(filters={"dangling": ["true"]})

        return await self._ask("dangling images", LIST_SECONDS, tuple[ImageSummary, ...], ask)

    async def build_cache(self) -> tuple[CacheRecord, ...]:
        """What builds have left and nothing uses."""

        async def ask() -> Any:
            return await self._connected()._query_json(  # noqa: SLF001 - has no other way to it
                "system/df", params={"type": "build-cache"}
            )

        usage = await self._ask("build cache", CACHE_SECONDS, DiskUsage, ask)
        return tuple(record for record in usage.build_cache or () if not record.in_use)

    async def remove_image(self, name: str) -> bool:
        """Take a name off an image, and the image away with its last one.

        False when it is in use, or gone.
        """

        async def ask() -> None:
            await self._connected().images.delete(name)

        return await self._done(f"removal of image {name}", ask)

    async def remove_container(self, container_id: str) -> bool:
        """Remove one that has ended, without its volumes. False when it runs, or is gone."""
        container = self._connected().containers.container(container_id)

        async def ask() -> None:
            await container.delete(timeout=None)

        return await self._done(f"removal of container {container_id[:12]}", ask)

    async def layer_bytes(self, container_id: str) -> int:
        """What a container has written, as the engine counts it; 0 where that takes too long."""
        container = self._connected().containers.container(container_id)

        async def ask() -> Any:
            return await container.show(size="1")

        what = f"size of container {container_id[:12]}"
        try:
            found = await self._ask(what, LIST_SECONDS, Inspected, ask)
        except PeerError:
            return 0
        return found.size_rw or 0

    async def prune_dangling_images(self) -> Pruned:
        """Delete images without a name that nothing uses, not even a stopped container."""

        async def ask() -> Any:
            return await self._connected().images.prune(filters={"dangling": ["true"]})

        return await self._ask("image prune", PRUNE_SECONDS, Pruned, ask)

    async def prune_build_cache(self) -> Pruned:
        """Delete what builds have left and none has used for a day; Podman knows no such thing."""

        async def ask() -> Any:
            return await self._connected().images.prune_builds(
                all_builds=True, filters={"until": [f"{BUILD_CACHE_HOURS}h"]}
            )

        return await self._ask_for("build prune", PRUNE_SECONDS, Pruned, ask) or Pruned()

    async def events(self, since_nanoseconds: int | None) -> AsyncIterator[EngineEvent]:
        """Events of containers from a moment on, or from now, until the stream ends or fails.

        One over a network ends too when it says nothing for `QUIET_SECONDS`: what was missed is
        told to whoever listens anew. Raises `PeerError` for what is no event.
        """
        wanted = {"filters": json.dumps({"type": ["container"]})}
        if since_nanoseconds is not None:
            seconds, rest = divmod(since_nanoseconds, 10**9)
            wanted["since"] = f"{seconds}.{rest:09d}"
        client = self._new()
        events: Any = client.events  # aiodocker has no types for its events
        try:
            stream = events.subscribe(**wanted)
            while (data := await self._next(stream)) is not None:
                yield _read("events", data, EngineEvent)
        finally:
            with anyio.CancelScope(shield=True):
                with suppress(*FAILED, *MALFORMED):
                    await events.stop()  # tells why the stream ended; it is opened again anyway
                await client.close()

    async def _next(self, stream: Any) -> Any:
        """None at the end. The end of a socket on this machine is always told."""
        is_local = self.address.startswith("unix://")
        with anyio.move_on_after(None if is_local else QUIET_SECONDS):
            return await stream.get()
        return None

    async def close(self) -> None:
        """Give back the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _connected(self) -> aiodocker.Docker:
        """The client is made in the event loop that uses it, at first need."""
        if self._client is None:
            self._client = self._new()
        return self._client

    def _new(self) -> aiodocker.Docker:
        return client_of(self.address, aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS))

    async def _done(self, what: str, ask: Callable[[], Awaitable[None]]) -> bool:
        """False when the engine says that it must not be, or that there is nothing."""
        try:
            await self._bounded(what, REMOVE_SECONDS, ask)
        except PeerError as error:
            cause = error.__cause__
            if isinstance(cause, aiodocker.DockerError) and cause.status in (404, 409):
                return False
            raise
        return True

    async def _ask_for(
        self, what: str, seconds: float, kind: type[M], ask: Callable[[], Awaitable[Any]]
    ) -> M | None:
        """None when the engine does not know it (any more)."""
        try:
            return await self._ask(what, seconds, kind, ask)
        except PeerError as error:
            cause = error.__cause__
            if isinstance(cause, aiodocker.DockerError) and cause.status == 404:
                return None
            raise

    async def _ask(
        self, what: str, seconds: float, kind: type[M], ask: Callable[[], Awaitable[Any]]
    ) -> M:
        return _read(what, await self._bounded(what, seconds, ask), kind)

    async def _bounded(self, what: str, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            with anyio.fail_after(seconds):
                return await ask()
        except TimeoutError as error:
            raise PeerError(f"{what}: no answer from the engine in {seconds:g} s") from error
        except FAILED as error:
            raise PeerError(f"{what}: {error}") from error
        except MALFORMED as error:
            raise _unreadable(what, error) from error


def _read(what: str, answer: Any, kind: type[M]) -> M:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise _unreadable(what, error) from error


def _unreadable(what: str, error: Exception) -> PeerError:
    return PeerError(f"{what}: the engine's answer does not read: {error}")


def client_of(address: str, timeout: aiohttp.ClientTimeout) -> aiodocker.Docker:
    """Not connected yet. Raises `PeerError` for what is no address of an engine."""
    try:
        return aiodocker.Docker(url=address, timeout=timeout)
    except (aiodocker.DockerError, ValueError, OSError) as error:
        raise PeerError(f"{address!r} is no engine that can be spoken to: {error}") from error
