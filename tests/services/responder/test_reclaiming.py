"""How far a reclaim goes, measured on a file system that the test fills and empties."""

import asyncio
from collections.abc import Collection

import pytest
from msgspec import structs

from evictd.responder.reclaiming import Reclaiming
from evictd.responder.room import Disks, Room
from evictd.runtimes import GoOn
from evictd.shell.blocking import inline
from evictd.testing.runtime import FakeRuntime
from evictd_schemas import Order, StepOutcome

pytestmark = pytest.mark.looptime

ORDER = Order(
    uid="one",
    kind="Reclaim",
    signal="nodefs.available",
    steps=("images", "logs"),
    until_available=100,
)


class Disk(Disks):
    """A file system with so much left."""

    def __init__(self, bytes_left: int, inodes_left: int = 0) -> None:
        super().__init__({}, inline)
        self.left = Room(bytes=bytes_left, inodes=inodes_left)
        self.hidden = False

    async def room(self, signal: str | None) -> Room | None:
        del signal
        return None if self.hidden else self.left

    def free(self, amount: int, inodes: int = 0) -> None:
        self.left = Room(bytes=self.left.bytes + amount, inodes=self.left.inodes + inodes)


class Shelf(FakeRuntime):
    """A runtime whose steps are pieces, each of which gives back so much, in a second."""

    def __init__(self, disk: Disk, late_seconds: float = 0, **steps: list[int]) -> None:
        super().__init__()
        self.disk = disk
        self.steps = steps
        self.late_seconds = late_seconds
        self.stopped: Collection[str] | None = None

    @property
    def reclaim_steps(self) -> frozenset[str]:
        return frozenset(self.steps)

    async def reclaim(
        self, step: str, *, stopped: Collection[str] | None, go_on: GoOn
    ) -> StepOutcome:
        self.stopped = stopped
        taken = 0
        for piece in self.steps[step]:
            if not await go_on():
                break
            await asyncio.sleep(1)
            if self.late_seconds:
                loop = asyncio.get_running_loop()
                loop.call_later(self.late_seconds, self.disk.free, piece, piece // 10)
            else:
                self.disk.free(piece, piece // 10)
            taken += 1
        return StepOutcome(step=step, listed_bytes=7 * taken, taken_total=taken)

    async def rehearse(self, step: str, *, stopped: Collection[str] | None) -> StepOutcome:
        del stopped
        await asyncio.sleep(100)
        return StepOutcome(step=step)

    async def attend(self) -> None:
        """It has to know nothing beforehand."""


def reclaiming(shelf: Shelf, stopped: frozenset[str] | None = frozenset()) -> Reclaiming:
    return Reclaiming([FakeRuntime(), shelf], shelf.disk, lambda: stopped)


async def test_it_ends_as_soon_as_there_is_enough_also_within_a_step() -> None:
    """And a step that is not needed is not begun."""
    shelf = Shelf(Disk(70), images=[20, 20, 20], logs=[5])
    (images,) = await reclaiming(shelf).carry_out(ORDER)
    assert (images.step, images.freed_bytes, images.taken_total) == ("images", 40, 2)
    assert images.freed_inodes == 4
    assert images.listed_bytes == 14, "the runtime's own figure beside it"


async def test_where_there_is_enough_nothing_is_begun() -> None:
    shelf = Shelf(Disk(100), images=[20], logs=[5])
    assert await reclaiming(shelf).carry_out(ORDER) == ()


async def test_of_inodes_the_inodes_are_asked() -> None:
    order = structs.replace(ORDER, signal="nodefs.inodesFree", until_available=6)
    shelf = Shelf(Disk(1000, 4), images=[10, 10, 10], logs=[5])
    (images,) = await reclaiming(shelf).carry_out(order)
    assert (images.freed_inodes, images.taken_total) == (2, 2)


async def test_without_a_target_everything_is_taken() -> None:
    shelf = Shelf(Disk(500), images=[20, 20], logs=[5])
    outcomes = await reclaiming(shelf).carry_out(structs.replace(ORDER, until_available=None))
    assert [one.freed_bytes for one in outcomes] == [40, 5]


async def test_what_is_freed_late_is_waited_for() -> None:
    shelf = Shelf(Disk(0), 0.5, images=[20], logs=[])
    images, logs = await reclaiming(shelf).carry_out(ORDER)
    assert (images.freed_bytes, logs.freed_bytes) == (20, 0)


async def test_a_step_whose_pieces_give_nothing_back_ends() -> None:
    """They lie on another file system, or what they share stays."""
    shelf = Shelf(Disk(0), images=[0] * 30, logs=[1])
    images, logs = await reclaiming(shelf).carry_out(ORDER)
    assert (images.freed_bytes, images.taken_total) == (0, 10)
    assert logs.freed_bytes == 1


async def test_a_file_system_that_tells_nothing_leaves_the_runtimes_figure() -> None:
    shelf = Shelf(Disk(0), images=[20, 20], logs=[])
    shelf.disk.hidden = True
    images, _ = await reclaiming(shelf).carry_out(ORDER)
    assert (images.freed_bytes, images.freed_inodes) == (14, 0)


async def test_no_step_is_begun_after_the_deadline_and_the_running_one_is_left() -> None:
    shelf = Shelf(Disk(0), images=[1, 1, 1, 1, 1], logs=[5])
    (images,) = await reclaiming(shelf).carry_out(structs.replace(ORDER, deadline_seconds=2.5))
    assert (images.error, images.freed_bytes) == ("not done in time", 2)


async def test_a_rehearsal_that_takes_too_long_says_so() -> None:
    outcomes = await reclaiming(Shelf(Disk(0), images=[1], logs=[])).rehearse(ORDER)
    assert [one.error for one in outcomes] == ["not told in time", "not told in time"]


@pytest.mark.parametrize("stopped", [None, frozenset({"3fa9"})])
async def test_runtimes_are_told_what_evictd_has_stopped(stopped: frozenset[str] | None) -> None:
    shelf = Shelf(Disk(0), images=[1], logs=[])
    await reclaiming(shelf, stopped).carry_out(ORDER)
    assert shelf.stopped == stopped
