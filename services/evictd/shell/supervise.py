"""The loop of every worker: feed the step, journal, obey. [design, laws 1 and 5]"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from evictd.core.effects import Tick
from evictd.core.moments import Now
from evictd.core.rules import Rules
from evictd.shell.blocking import RunBlocking
from evictd.shell.bus import Bus
from evictd.shell.clock import Clock
from evictd.shell.epoch import Epoch
from evictd.shell.inbox import Inbox
from evictd.shell.journal import Journal, Row

S = TypeVar("S")
G = TypeVar("G")
E = TypeVar("E")

Step = Callable[[str, S, G | Tick, Now], tuple[S, Sequence[E]]]
"""(key, state, given, now) to (state, effects)."""


@dataclass(frozen=True, kw_only=True)
class Outside(Generic[S, G, E]):
    """All a worker is given of the world; it reaches for nothing else.

    `node` is the home node, `scope` the node level of its filters: `+`, or the home node where it
    serves only that. `rules` compiles the configuration of a node, None for one that is not served
    here.
    """

    node: str
    scope: str
    bus: Bus
    epoch: Epoch
    inbox: Inbox[G]
    clock: Clock
    journal: Journal[S, E]
    run_blocking: RunBlocking
    rules: Callable[[str], Rules | None]


async def drive(
    step: Step[S, G, E],
    start: S,
    outside: Outside[S, G, E],
    perform: Callable[[str, E], Awaitable[None]],
    states: dict[str, S] | None = None,
) -> None:
    """Feed `step` and obey it until the inbox is closed.

    A key is a node, a target's uid or an Eviction.

    `states` is the map to work on, for a worker that shows it; a state equal to `start` is
    forgotten.

    """
    states = {} if states is None else states
    for row in await outside.journal.rows():
        if row.state is not None:
            states[row.key] = row.state
        for effect in row.effects:  # decided before a crash, perhaps not carried out
            await perform(row.key, effect)
    async for batch in outside.inbox:
        effects_by_key = _advance(step, start, outside.clock.now(), states, batch)
        rows = [
            Row(key=key, state=states.get(key), effects=effects)
            for key, effects in effects_by_key.items()
        ]
        await outside.journal.commit(rows)  # before anyone can see the effects
        for key, effects in effects_by_key.items():
            for effect in effects:
                await perform(key, effect)


def _advance(
    step: Step[S, G, E],
    start: S,
    now: Now,
    states: dict[str, S],
    batch: Sequence[tuple[str, G | Tick]],
) -> dict[str, list[E]]:
    effects_by_key: dict[str, list[E]] = {}
    for key, given in batch:
        state, effects = step(key, states.get(key, start), given, now)
        if state == start:
            states.pop(key, None)
        else:
            states[key] = state
        effects_by_key.setdefault(key, []).extend(effects)
    return effects_by_key
