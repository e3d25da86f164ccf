"""Starts, after which those are restarted that share the network of what was started.

Each restart is a key of its own in the inbox, so that the journal has it before anybody is stopped:
it does not depend on whoever waits here. It decides nothing, `core.duty` does. [design, law 5]
"""

from typing import Any

import anyio
import structlog
from msgspec import structs

from evictd.core.duty import Given, Rejoin, StartEnded, StartOutcome, StopEnded
from evictd.core.effects import Tick
from evictd.core.wording import name_text
from evictd.responder.hands import Hands
from evictd.runtimes import Bereft
from evictd.shell.supervise import Outside
from evictd_schemas import Pod, PodReference

PREFIX = "network/"
"""Of the keys; an Eviction's key has one slash, such a one has two."""
LOOK_SECONDS = 10.0
"""For who shares the network: a few questions to an engine."""
WAIT_SECONDS = 20.0
"""So long the answer to a start waits for the others; they are restarted all the same."""

log = structlog.get_logger(__name__)


def concerns(key: str) -> bool:
    """Whether a key of the inbox is a restart; a namespace may have the name of the prefix."""
    return key.startswith(PREFIX) and key.count("/") > 1


class _Waiting:
    """For the end of one restart."""

    def __init__(self) -> None:
        self.over = anyio.Event()
        self.sentence = "is being restarted"


class Rejoining:
    """What starts, and what is waited for, by key."""

    def __init__(self, outside: Outside[Any, Given, Any], hands: Hands) -> None:
        self.hands = hands
        self._inbox = outside.inbox
        self._waiting: dict[str, _Waiting] = {}

    async def restarted(self, pod: PodReference, runtime_id: str) -> str:
        """What became of those that share its network, for people; empty where nobody does.

        They are known and written down whoever gives up waiting for this.
        """
        bereft = Bereft(problems=("who shares its network was not told in time",))
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + LOOK_SECONDS):
            bereft = await self.hands.bereft(pod, runtime_id)
        waiting = {PREFIX + name_text(one): (one, _Waiting()) for one in bereft.pods}
        for key, (one, wait) in waiting.items():
            self._waiting[key] = wait
            self._inbox.feed(key, Rejoin(pod=one))
        with anyio.move_on_after(WAIT_SECONDS):
            for _, wait in waiting.values():
                await wait.over.wait()
        told = [_told(one, wait.sentence) for one, wait in waiting.values()]
        return "; ".join(sorted((*bereft.problems, *told)))

    def follow(self, key: str, given: Given | Tick) -> None:
        """A step of that restart: whether it is over, as far as people wait for it."""
        match given:
            case StartEnded(outcome=started):
                why = None if started.runs else started.why
            case StopEnded(outcome=stopped) if not stopped.ended:
                why = stopped.why
            case _:
                return
        if why is not None:
            log.warning("one that shares a network is not restarted yet", which=key, problem=why)
        if (wait := self._waiting.pop(key, None)) is not None:
            wait.sentence = "was restarted" if why is None else f"was not restarted: {why}"
            wait.over.set()


def with_sharers(outcome: StartOutcome, told: str) -> StartOutcome:
    """The end of a start, with what became of the others."""
    return structs.replace(outcome, why="; ".join(filter(None, (outcome.why, told))))


def _told(pod: Pod, sentence: str) -> str:
    if sentence.startswith("was not"):
        return f"{name_text(pod)} shares its network and {sentence}"
    return f"{name_text(pod)}, which shares its network, {sentence}"
