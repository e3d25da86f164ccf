"""Uses of images over restarts of evictd, of the engine and of the machine: none is ever missed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.contract.store_double import Store
from tests.waiting import until

from evictd.core.errors import PeerError
from evictd.runtimes.docker import Engine, container_folder, image_watch, unused_images
from evictd.runtimes.docker.image_memory import ImageMemory
from evictd.runtimes.docker.image_uses import ImageUses
from evictd.runtimes.docker.image_watch import ImageWatch
from evictd.runtimes.docker.unused_images import UnusedImages
from evictd.runtimes.reclaims import UnusedImages as Settings
from evictd.shell.blocking import in_thread

DAY_SECONDS = 86_400.0
WEEK_SECONDS = 7 * DAY_SECONDS
SECOND = 10**9
PATIENCE_SECONDS = 20
SILENCE_SECONDS = 1.0
"""Long enough for an engine that does remember, on a machine that is busy."""
SETTINGS = Settings(unused_seconds=WEEK_SECONDS, minimum_age_seconds=0)


class House:
    """An engine with images, a state folder, a clock of the test's own, and lives of evictd."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "docker.sock")
        self.seconds = 1000.0
        self.proc = folder / "proc"
        self.file = folder / "image-uses"
        self.data = folder / "data"
        (self.data / "containers").mkdir(parents=True)
        self.boot("first")

    def boot(self, boot_id: str) -> None:
        """The machine is started: the engine remembers nothing, the clock begins anew."""
        file = self.proc / "sys/kernel/random/boot_id"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{boot_id}\n")
        self.store.events = []

    def shows_its_folder(self) -> None:
        """evictd sees where the engine keeps its containers."""
        self.store.information["DockerRootDir"] = str(self.data)

    async def container(self, number: str, image: str) -> None:
        """One more container that runs, and what the engine keeps of it."""
        container = self.store.container(number, f"c{number}", image)
        await in_thread((self.data / "containers" / container).mkdir)

    @asynccontextmanager
    async def life(self, *, killed: bool = False) -> AsyncIterator["Life"]:
        """evictd runs, and ends as a service does, or is killed."""
        self.store.heard = anyio.Event()
        life = Life(self)
        before = await in_thread(self.file.read_bytes) if killed else b""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(life.watch.attend)
            yield life
            tasks.cancel_scope.cancel()
        await life.engine.close()
        if killed:
            await in_thread(lambda: self.file.write_bytes(before))


class Life:
    """One life of evictd, as far as it is about images."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.engine = Engine(house.store.address)
        memory = ImageMemory(house.file, house.proc, in_thread, lambda: house.seconds)
        self.uses = ImageUses(lambda: house.seconds)
        self.watch = ImageWatch(self.engine, self.uses, memory, in_thread)
        self.step = UnusedImages(self.engine, SETTINGS, self.watch)

    async def offered(self) -> list[str]:
        return sorted(piece.name for piece in await self.step.offered(None))

    async def settled(self) -> None:
        """It listens, and knows what it can know of the past."""
        with anyio.fail_after(PATIENCE_SECONDS):
            await self.house.store.heard.wait()
        assert await self.watch.judged(PATIENCE_SECONDS)

    async def hears(self, *event: Any) -> None:
        """Something happens, and evictd has heard of it."""
        self.house.store.say(*event)
        await until(
            lambda: (
                self.watch.last_event is not None and self.watch.last_event.time_nano == event[-1]
            )
        )


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    monkeypatch.setattr(image_watch, "SILENCE_SECONDS", SILENCE_SECONDS)
    monkeypatch.setattr(image_watch, "RECONNECT_SECONDS", 0.05)
    monkeypatch.setattr(container_folder, "SETTLED_NANOSECONDS", 0)
    return House(tmp_path)


@pytest.fixture
async def house(closed: House) -> AsyncIterator[House]:
    async with closed.store:
        yield closed


async def lived(house: House) -> None:
    """A first life of a week less a day: two images that nothing uses, `late` for less long.

    An event of `web` is the last that was heard.
    """
    house.store.image("old")
    house.store.image("late")
    await house.container("1", house.store.image("web"))
    async with house.life() as life:
        await life.settled()
        house.seconds += 5 * DAY_SECONDS
        await life.hears("die", "2", "late:1", 10 * SECOND)
        await life.hears("exec_die", "1", "web:1", 20 * SECOND)
        house.seconds += DAY_SECONDS


async def test_what_the_engine_still_remembers_is_heard_after_a_restart(house: House) -> None:
    """The event that was heard last comes again, so that nothing can have been missed since."""
    await lived(house)
    house.seconds += DAY_SECONDS
    async with house.life() as life:
        await life.settled()
        assert await life.offered() == ["old:1"]
        house.seconds += 5 * DAY_SECONDS
        assert await life.offered() == ["late:1", "old:1"]


async def test_the_event_that_was_heard_last_is_no_use_again(house: House) -> None:
    """Whoever restarts evictd every week would else never see that image go."""
    house.store.image("job")
    async with house.life() as life:
        await life.settled()
        await life.hears("start", "2", "job:1", 20 * SECOND - 1)
        await life.hears("die", "2", "job:1", 20 * SECOND)
    house.seconds += WEEK_SECONDS
    async with house.life() as life:
        await life.settled()
        assert await life.offered() == ["job:1"]


async def test_a_container_that_came_and_went_while_evictd_was_down_is_a_use(house: House) -> None:
    await lived(house)
    house.seconds += DAY_SECONDS
    house.store.say("start", "3", "old:1", 30 * SECOND)
    house.store.say("die", "3", "old:1", 31 * SECOND)
    async with house.life() as life:
        await life.settled()
        await until(lambda: life.uses.unused_seconds("sha256:old") == 0)
        assert await life.offered() == []
        assert life.uses.unused_seconds("sha256:late") == 2 * DAY_SECONDS


@pytest.mark.parametrize("since", [[], [("start", "4", "web:1", 99 * SECOND)]])
async def test_where_the_engine_remembers_less_every_image_counts_as_just_used(
    house: House, since: list[Any]
) -> None:
    """It says nothing of that event, or begins later."""
    await lived(house)
    house.store.events = []
    for event in since:
        house.store.say(*event)
    house.seconds += DAY_SECONDS
    async with house.life() as life:
        await life.settled()
        assert set(life.uses.ages().values()) == {0.0}


async def test_where_no_container_came_or_went_no_image_was_used(house: House) -> None:
    """Over a restart of the machine: by the engine's own folder. Time that it was off is not
    counted, and what comes after is heard."""
    house.shows_its_folder()
    await lived(house)
    await in_thread(lambda: house.boot("second"))
    house.seconds = DAY_SECONDS
    async with house.life() as life:
        await life.settled()
        assert await life.offered() == ["old:1"]
        await life.hears("start", "5", "old:1", 5 * SECOND)
        assert await life.offered() == []


@pytest.mark.parametrize("what", ["one came", "one came and went", "another engine's", "nothing"])
async def test_where_one_may_have_come_every_image_counts_as_just_used(
    house: House, what: str
) -> None:
    house.shows_its_folder()
    await lived(house)
    await in_thread(lambda: house.boot("second"))
    containers = house.data / "containers"
    if what == "one came":
        await house.container("6", "sha256:web")
    elif what == "one came and went":
        await in_thread((containers / "6").mkdir)
        await in_thread((containers / "6").rmdir)
    elif what == "another engine's":
        house.store.container("7", "elsewhere", "sha256:web")
    else:
        house.store.information["DockerRootDir"] = "/nowhere"
    house.seconds = DAY_SECONDS
    async with house.life() as life:
        await life.settled()
        assert set(life.uses.ages().values()) == {0.0}


async def test_of_an_empty_folder_nobody_could_tell_whose_it_is(house: House) -> None:
    house.shows_its_folder()
    house.store.image("old")
    async with house.life() as life:
        await life.settled()
        house.seconds += WEEK_SECONDS
    await in_thread(lambda: house.boot("second"))
    async with house.life() as life:
        await life.settled()
        assert await life.offered() == []


async def test_a_killed_evictd_hears_again_what_it_had_not_written_down(house: House) -> None:
    """The event up to which everything is known is written down with the uses themselves."""
    await lived(house)
    async with house.life(killed=True) as life:
        await life.settled()
        await life.hears("die", "8", "old:1", 50 * SECOND)
    house.seconds += DAY_SECONDS
    async with house.life() as life:
        await life.settled()
        await until(lambda: life.uses.unused_seconds("sha256:old") == 0)


async def test_while_the_past_is_doubtful_nothing_is_offered_and_nothing_written(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is not listened to yet: what the earlier life wrote stays for the next one."""
    monkeypatch.setattr(unused_images, "JUDGE_SECONDS", 0.05)
    await lived(house)
    written = await in_thread(house.file.read_bytes)
    house.store.refused.add("GET containers/json")
    async with house.life() as life:
        await until(lambda: "GET containers/json?all=1" in "".join(house.store.asked))
        await until(lambda: life.watch.is_doubtful)
        with pytest.raises(PeerError, match="not known yet"):
            await life.offered()
    assert await in_thread(house.file.read_bytes) == written


async def test_an_engine_that_was_restarted_meanwhile_makes_every_image_young(
    house: House,
) -> None:
    """A stream that ends is a gap like any other, unless the engine still remembers."""
    await lived(house)
    async with house.life() as life:
        await life.settled()
        house.store.hang_up()
        await life.settled()
        house.seconds += DAY_SECONDS
        assert await life.offered() == ["old:1"]
        house.store.events = []
        house.store.hang_up()
        await until(lambda: set(life.uses.ages().values()) == {0.0})


async def test_of_a_stream_that_has_ended_nothing_is_concluded(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nobody listens the past stays doubtful, however long it was silent before."""
    await lived(house)
    house.store.events = []
    monkeypatch.setattr(image_watch, "RECONNECT_SECONDS", 60)
    async with house.life() as life:
        with anyio.fail_after(PATIENCE_SECONDS):
            await house.store.heard.wait()
        house.store.hang_up()
        assert not await life.watch.judged(1.5 * SILENCE_SECONDS)
        assert life.uses.unused_seconds("sha256:old") == 6 * DAY_SECONDS


async def test_podman_is_not_asked_for_its_events_of_weeks(house: House) -> None:
    """None of its images is ever taken."""
    house.store.information["BuildahVersion"] = "1.28.2"
    house.store.image("old")
    async with house.life() as life:
        await until(life.uses.ages)
        await until(lambda: "info" in "".join(house.store.asked))
    assert not [asked for asked in house.store.asked if "events" in asked]


async def test_an_image_is_found_under_the_name_that_people_typed(house: House) -> None:
    """Without a tag, or with one that had meant another image before: the engine knows."""
    house.store.image("old")
    house.store.images["old"] = {"Id": "sha256:old"}
    async with house.life() as life:
        await life.settled()
        house.seconds += WEEK_SECONDS
        assert await life.offered() == ["old:1"]
        await life.hears("start", "9", "old", 60 * SECOND)
        assert await life.offered() == []
