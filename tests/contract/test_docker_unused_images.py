"""When an image counts as unused: by what is seen of containers, on a clock of the test's own."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import structs
from tests.contract.store_double import Store
from tests.waiting import until

from evictd.core.errors import PeerError
from evictd.runtimes.docker import Engine
from evictd.runtimes.docker.image_memory import ImageMemory
from evictd.runtimes.docker.image_uses import IMAGES_MAX, ImageUses
from evictd.runtimes.docker.image_watch import ImageWatch
from evictd.runtimes.docker.unused_images import UnusedImages
from evictd.runtimes.reclaims import Kept
from evictd.runtimes.reclaims import UnusedImages as Settings
from evictd.shell.blocking import in_thread

WEEK_SECONDS = 7 * 24 * 3600.0


class Shelf:
    """Unused images on a clock of the test's own."""

    def __init__(self, store: Store, **settings: Any) -> None:
        self.seconds = 0.0
        self.engine = Engine(store.address)
        chosen = Settings(unused_seconds=WEEK_SECONDS, minimum_age_seconds=0)
        nothing_kept = ImageMemory(None, Path("/proc"), in_thread)
        uses = ImageUses(lambda: self.seconds)
        self.watch = ImageWatch(self.engine, uses, nothing_kept, in_thread)
        self.step = UnusedImages(self.engine, structs.replace(chosen, **settings), self.watch)

    async def offered(self) -> list[str]:
        return [piece.name for piece in await self.step.offered(None)]


@pytest.fixture
async def shelf(store: Store) -> AsyncIterator[Shelf]:
    shelf = Shelf(store)
    yield shelf
    await shelf.engine.close()


async def test_an_image_of_unknown_use_counts_from_when_it_was_seen_first(
    store: Store, shelf: Shelf
) -> None:
    store.image("old")
    assert await shelf.offered() == []
    shelf.seconds = WEEK_SECONDS - 1
    store.image("new")
    assert await shelf.offered() == []
    shelf.seconds += 1
    assert await shelf.offered() == ["old:1"]


async def test_a_container_that_came_and_went_is_a_use(store: Store, shelf: Shelf) -> None:
    """Its events name the image, and what was in its list before it was removed counts too."""
    store.image("short")
    kept = store.image("kept")
    store.container("1", "web", kept)
    await shelf.offered()
    shelf.seconds = 1000
    store.say("die", "2", "short:1", 7)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shelf.watch.attend)
        await until(lambda: shelf.watch.uses.unused_seconds("sha256:short") == 0)
        tasks.cancel_scope.cancel()
    store.listing.clear()
    shelf.seconds = WEEK_SECONDS
    assert await shelf.offered() == []
    shelf.seconds = WEEK_SECONDS + 1000
    assert sorted(await shelf.offered()) == ["kept:1", "short:1"]


@pytest.mark.parametrize("pattern", ["old:1", "old", "o*", "old@sha256:*"])
async def test_names_that_are_kept_stay_with_their_tag_or_without(
    store: Store, pattern: str
) -> None:
    store.image("old")
    shelf = Shelf(store, unused_seconds=0, kept=Kept(patterns=(pattern,)))
    assert await shelf.offered() == []
    await shelf.engine.close()


@pytest.mark.parametrize("store_kind", ["podman", "containerd"])
async def test_where_every_image_has_a_digest_none_is_taken(store: Store, store_kind: str) -> None:
    """Nobody could tell what was built here and is nowhere else."""
    store.image("old")
    if store_kind == "podman":
        store.information["BuildahVersion"] = "1.28.2"
    else:
        status = [["driver-type", "io.containerd.snapshotter.v1"]]
        store.information["DriverStatus"] = status
    shelf = Shelf(store, unused_seconds=0)
    with pytest.raises(PeerError, match="no image is taken"):
        await shelf.offered()
    await shelf.engine.close()


async def test_an_image_must_have_been_here_for_long_as_the_engine_tells_it(store: Store) -> None:
    now = datetime.now(UTC)
    for name, days in (("young", 1), ("old", 8)):
        tagged = (now - timedelta(days=days)).isoformat()
        store.images[store.image(name)] = {"Metadata": {"LastTagTime": tagged}}
    store.image("unknown")
    shelf = Shelf(store, unused_seconds=0, minimum_age_seconds=WEEK_SECONDS)
    assert await shelf.offered() == ["old:1"]
    await shelf.engine.close()


def test_of_very_many_images_those_used_longest_ago_are_seen_anew() -> None:
    now = [0.0]
    uses = ImageUses(lambda: now[0])
    uses.saw({}, ["first"])
    now[0] = 10.0
    many = ["first", *(str(number) for number in range(IMAGES_MAX))]
    uses.saw({}, many)
    assert uses.unused_seconds("first") == 0, "it was forgotten, and counts as used"
    assert uses.unused_seconds("7") == 0
    now[0] = 20.0
    assert uses.unused_seconds("7") == 10
