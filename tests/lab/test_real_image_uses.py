"""What an engine itself tells of the uses of images after evictd, or the engine, was away."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.waiting import until

from evictd.runtimes.docker import Engine
from evictd.runtimes.docker.image_memory import ImageMemory
from evictd.runtimes.docker.image_uses import ImageUses
from evictd.runtimes.docker.image_watch import ImageWatch
from evictd.shell.blocking import in_thread

DAY_SECONDS = 86_400.0


class House:
    """An engine, lives of evictd, and a clock on which days pass."""

    def __init__(self, engine: Any, folder: Path) -> None:
        self.engine = engine
        self.file = folder / "image-uses"
        self.archive = folder / "image.tar"
        self.seconds = 1000.0

    def image(self, name: str) -> str:
        """A small image of that name; its id."""
        with tarfile.open(self.archive, "w") as archive:
            entry = tarfile.TarInfo(name)
            entry.size = len(name)
            archive.addfile(entry, io.BytesIO(name.encode()))
        return str(self.engine.docker("import", str(self.archive), f"{name}:latest")).strip()

    def use(self, name: str) -> None:
        """A container of it comes and goes; people leave out the tag."""
        self.engine.docker("rm", self.engine.docker("create", name, "/nothing").strip())

    @asynccontextmanager
    async def life(self) -> AsyncIterator[ImageWatch]:
        """evictd watches, and knows what it can know of the past."""
        engine = Engine(self.engine.host)
        memory = ImageMemory(self.file, Path("/proc"), in_thread, lambda: self.seconds)
        uses = ImageUses(lambda: self.seconds)
        watch = ImageWatch(engine, uses, memory, in_thread)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.attend)
            await until(lambda: uses.ages() and not watch.is_doubtful and watch.last_event)
            yield watch
            tasks.cancel_scope.cancel()
        await engine.close()


@pytest.fixture
def house(docker_engine: Any, tmp_path: Path) -> House:
    return House(docker_engine, tmp_path)


def test_uses_are_known_over_restarts_of_evictd_and_of_the_engine(house: House) -> None:
    """By the engine's memory of events, by its folder of containers; without both each image counts
    as just used."""
    used, rests = house.image("used"), house.image("rests")
    stays = house.engine.docker("create", "--name=stays", house.engine.image, "true").strip()

    async def story() -> None:
        async with house.life() as watch:
            house.seconds += DAY_SECONDS
            await in_thread(lambda: house.use("used"))
            await until(lambda: watch.uses.unused_seconds(used) == 0)
            await asyncio.sleep(1.5)  # the folder has to rest before it is a witness
        house.seconds += DAY_SECONDS
        await in_thread(lambda: house.use("used"))
        async with house.life() as watch:
            await until(lambda: watch.uses.unused_seconds(used) == 0)
            assert watch.uses.unused_seconds(rests) == 2 * DAY_SECONDS
            await asyncio.sleep(1.5)
        house.seconds += DAY_SECONDS
        await in_thread(house.engine.reboot)
        async with house.life() as watch:
            assert watch.uses.unused_seconds(rests) == 3 * DAY_SECONDS
            assert watch.uses.unused_seconds(used) == DAY_SECONDS
        await in_thread(lambda: house.use("used"))
        await in_thread(house.engine.reboot)
        async with house.life() as watch:
            assert set(watch.uses.ages().values()) == {0.0}

    try:
        asyncio.run(story())
    finally:
        house.engine.docker("rm", stays)
        house.engine.docker("rmi", "used", "rests")
