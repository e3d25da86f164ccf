"""Whatever order things happen in, with the real controller: at most one work at a time for an
Eviction and for a workload, none out of turn, each completion once."""

from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random

import anyio
import pytest

from evictd.responder import Ending, Responder, Work
from evictd.testing import Stage, staged

pytestmark = pytest.mark.looptime
NAMES = ("web", "db")
DEEDS_MAX = 40
LATE_SECONDS = 1.0
"""How long work may run after its turn: what the stage needs to hand on a message."""


class Careless:
    """Work of any length, which now and then fails, commits itself, or leaves slowly."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.at_work: dict[str, Work] = {}
        self.committed: set[str] = set()
        self.targets: Counter[str] = Counter()
        self.story: Counter[str] = Counter()
        self.broken: list[str] = []

    async def respond(self, work: Work) -> str:
        uid = work.eviction.metadata.uid
        self.story["begin"] += 1
        self._check(uid not in self.at_work, "twice at once")
        self._check(not self.targets[work.pod.uid], "two Evictions of one workload at once")
        self.at_work[uid] = work
        self.targets[work.pod.uid] += 1
        try:
            return await self._work(work, uid)
        finally:
            self.story[str(work.ending)] += 1
            with anyio.CancelScope(shield=True):
                await anyio.sleep(self._random.choice((0, 0, 0.3)))
            del self.at_work[uid]
            self.committed.discard(uid)
            self.targets[work.pod.uid] -= 1

    async def restore(self, work: Work) -> None:
        self._check(work.ending is Ending.CANCELED, "restored without being canceled")
        self._check(not self.targets[work.pod.uid], "restored while work goes on")
        self.targets[work.pod.uid] += 1
        await anyio.sleep(self._random.uniform(0, 20))
        self.targets[work.pod.uid] -= 1

    def _check(self, holds: bool, rule: str) -> None:
        """What is raised in work only ends the turn as failed: it is kept for the test."""
        if not holds:
            self.broken.append(rule)

    async def _work(self, work: Work, uid: str) -> str:
        for part in range(self._random.randint(0, 5)):
            await anyio.sleep(self._random.choice((0.1, 5, 300)))
            work.progress(f"part {part}")
            if self._random.random() < 0.2:
                await work.point_of_no_return()
                self.committed.add(uid)
            if self._random.random() < 0.1:
                raise OSError("it failed")
        return "done"


def deeds(stage: Stage, random: Random) -> tuple[Callable[[], Awaitable[None]], ...]:
    """What may happen next."""

    async def ask() -> None:
        await stage.evict(random.choice(NAMES))

    async def withdraw() -> None:
        await stage.withdraw(random.choice(NAMES))

    async def force() -> None:
        name = random.choice(NAMES)
        await stage.evict(name)
        await stage.force(name)

    async def another_life() -> None:
        await stage.add(random.choice(NAMES))

    async def wait() -> None:
        await stage.after(random.choice((0.1, 3, 30, 400)))

    return (
        *(ask, ask, withdraw, wait, wait, wait, force, another_life),
        *(stage.lose_contact, stage.find_contact, stage.find_contact, stage.restart),
    )


def active(stage: Stage, work: Work) -> bool:
    for item in stage.evictions():
        if item.metadata.uid == work.eviction.metadata.uid:
            chain = item.status.target_responders
            return any(one.name == stage.responder.name and one.state == "Active" for one in chain)
    return False


@pytest.mark.parametrize("seed", range(40))
async def test_any_order(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - the same story for the same seed
    careless = Careless(random)
    responder = Responder(
        name="acme.io/careless", respond=careless.respond, restore=careless.restore
    )
    async with staged(responder) as stage:
        await stage.evict("web")
        for _ in range(DEEDS_MAX):
            await random.choice(deeds(stage, random))()
            await stage.after(LATE_SECONDS)
            for uid, work in careless.at_work.items():
                assert active(stage, work) or uid in careless.committed, work.ending
        said = [item for name in NAMES for item in stage.reports(name)]
        complete = Counter(item.eviction_uid for item in said if item.completion_time is not None)
        assert set(complete.values()) <= {1}
        assert careless.broken == []
        assert careless.story["begin"] > 0
