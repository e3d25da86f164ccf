"""What the hands are at: each stop, start and look is a task that ends as an input of its key.

Each step asks again for what it wants, so that the same one runs once. It decides nothing; only
mode and hold are looked at once more before the hands move.
"""

from collections.abc import Mapping

import anyio
from msgspec import structs

from evictd.core.duty import (
    Duty,
    Effect,
    Given,
    Listed,
    Look,
    Start,
    StartEnded,
    StartOutcome,
    StartResult,
    StopEnded,
    StopOutcome,
    StopResult,
    forbidden,
)
from evictd.core.duty.ways import hard
from evictd.core.effects import Stop
from evictd.core.pods import reference
from evictd.core.wording import name_text
from evictd.responder.holding import HoldFile
from evictd.responder.rejoining import Rejoining, with_sharers
from evictd.responder.restoring import START_SECONDS
from evictd.shell.supervise import Outside
from evictd_schemas import PodReference, PodStatistics

SAME_STOP_SECONDS = 2.0
"""The rest of a grace is told in whole seconds: this much sooner is the same stop."""


class Handiwork:
    """What runs, by key and life. `duties`: the state of each key, as it is now."""

    def __init__(
        self,
        outside: Outside[Duty, Given, Effect],
        rejoining: Rejoining,
        hold_file: HoldFile,
        duties: Mapping[str, Duty],
    ) -> None:
        self._outside = outside
        self._hands = rejoining.hands
        self._rejoining = rejoining
        self._hold_file = hold_file
        self._duties = duties
        self.statistics: Mapping[str, PodStatistics] = {}
        """Last figures of each life, by its uid."""
        self._looking: set[tuple[str, Look]] = set()
        self._stopping: dict[tuple[str, str], list[float]] = {}
        self._starting: set[tuple[str, str]] = set()

    async def stop(self, key: str, effect: Stop) -> None:
        """Unless a stop for this key that ends no later runs already: each step says so again."""
        uid, grace_seconds = effect.pod.uid, effect.grace_seconds
        grace = float("inf") if grace_seconds is None else float(grace_seconds)
        deadline = self._outside.clock.now().boot_seconds + grace
        running = self._stopping.setdefault((key, uid), [])
        if any(other <= deadline + SAME_STOP_SECONDS for other in running):
            return
        running.append(deadline)
        try:
            outcome = await self._stopped(key, effect)
        finally:
            running.remove(deadline)
            if not running:
                self._stopping.pop((key, uid), None)
        given = StopEnded(uid=uid, outcome=outcome)
        self._outside.inbox.feed(key, given, slot=(StopEnded, uid, outcome.result))

    async def start(self, key: str, effect: Start) -> None:
        """Unless one for this key runs already: each step says so again."""
        uid = effect.pod.uid
        if (key, uid) in self._starting:
            return
        self._starting.add((key, uid))
        try:
            outcome = await self._started(effect)
        finally:
            self._starting.discard((key, uid))
        given = StartEnded(uid=uid, outcome=outcome)
        self._outside.inbox.feed(key, given, slot=(StartEnded, uid))

    async def look(self, key: str, effect: Look) -> None:
        """Unless the same one runs already."""
        if (key, effect) in self._looking:
            return
        self._looking.add((key, effect))
        try:
            listed = await self._listed(effect)
            listed = structs.replace(listed, held=await self._held(key, effect.pod))
        finally:
            self._looking.discard((key, effect))
        self._outside.inbox.feed(key, listed, slot=(Listed, effect.pod.uid))

    async def _stopped(self, key: str, effect: Stop) -> StopOutcome:
        """Mode and hold are looked at once more before the hands move."""
        why = self._forbidden() or await self._held(key, effect.pod)
        if why is not None:
            return StopOutcome(result=StopResult.REFUSED, why=why)
        return await self._hands.stop(effect.pod, effect.grace_seconds)

    async def _started(self, effect: Start) -> StartOutcome:
        if (why := self._forbidden()) is not None:
            return StartOutcome(result=StartResult.REFUSED, why=why)
        outcome = StartOutcome(result=StartResult.FAILED, why=f"not started in {START_SECONDS:g} s")
        with anyio.move_on_after(START_SECONDS):
            outcome = await self._hands.start(effect.pod, effect.runtime_id)
        if not outcome.runs:
            return outcome
        return with_sharers(outcome, await self._rejoining.restarted(effect.pod, effect.runtime_id))

    async def _listed(self, effect: Look) -> Listed:
        statistics = self.statistics.get(effect.pod.uid)
        if not effect.everyone:
            pod = await self._hands.look(effect.pod, statistics)
            return Listed(uid=effect.pod.uid, pod=pod)
        neighbours = await self._hands.survey()
        found = (pod for pod in neighbours.pods if reference(pod) == effect.pod)
        mine = next((structs.replace(pod, stats=statistics) for pod in found), None)
        return Listed(uid=effect.pod.uid, pod=mine, neighbours=neighbours)

    async def _held(self, key: str, pod: PodReference) -> str | None:
        duty = self._duties.get(key)
        eviction = None if duty is None else duty.eviction
        return await self._hold_file.keeps(name_text(pod), hard=hard(eviction))

    def _forbidden(self) -> str | None:
        """The mode, once more before the hands move."""
        rules = self._outside.rules(self._outside.node)
        return "this node is not served" if rules is None else forbidden(rules)
