"""What this machine itself knows where no broker answers: signs of life, the journal, one own look.

The look goes through the collector's sources, the engine's socket included, and is judged as the
workers would judge it; so conditions hold as of now, without what was before.
"""

import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from evictd.cli import absence, past
from evictd.cli.alive import runtime_folder, signs
from evictd.cli.eviction_texts import end_time, name_told
from evictd.cli.figures import Figures, figures
from evictd.cli.health import boot_seconds, is_alive
from evictd.cli.situation import of_observation
from evictd.cli.standing import (
    Down,
    Gone,
    Leaving,
    Standing,
    eligible,
    following,
    held,
    is_known,
    leaving,
)
from evictd.core.decision.explanation import explained
from evictd.core.errors import HostError
from evictd.core.orders import comes_back
from evictd.core.protocol.conditions import holds
from evictd.core.protocol.vocabulary import ConditionType
from evictd.shell.configuration import rules_of
from evictd_schemas import Eviction, Observation
from evictd_schemas.configuration import Configuration

LATELY = timedelta(days=1)
"""How far back is told what was evicted."""
DOWN = timedelta(days=7)
"""What was evicted longer ago and does not run is nobody's news any more."""
SHOWN = 10
"""Rows of each kind."""


def silent_seconds() -> dict[str, float | None]:
    """How long each worker of this machine has been silent; none is running where it is empty.

    None for a sign of life that cannot be read.
    """
    found: dict[str, float | None] = {}
    for file in signs():
        try:
            found[file.stem] = time.clock_gettime(time.CLOCK_BOOTTIME) - boot_seconds(file)
        except HostError:
            if file.exists():  # else it has just ended
                found[file.stem] = None
    return found


def late_workers() -> Iterator[str]:
    """Those whose loop has not come round for too long."""
    for worker, seconds in silent_seconds().items():
        if seconds is None:
            yield f"{worker}: {runtime_folder()}/{worker}.alive cannot be read"
        elif not is_alive(seconds):
            yield f"{worker} has been silent for {seconds:.0f} s"


def alive_workers() -> Iterator[str]:
    """Those whose loop has."""
    for worker, seconds in silent_seconds().items():
        if seconds is not None and is_alive(seconds):
            yield worker


def standing(configuration: Configuration, node: str, journal: Path, now: datetime) -> Standing:
    """Of this machine: what its journal remembers, and what can be seen of it now."""
    return told(configuration, figures(configuration, node, with_workloads=True), journal, now)


def told(configuration: Configuration, seen: Figures, journal: Path, now: datetime) -> Standing:
    """The same for a look that has been had."""
    observation = seen.observation
    look = of_observation(configuration, observation)
    order = explained(look)
    failing = (f"{source}: {reason}" for source, reason in sorted(seen.failures.items()))
    running, ended, problem = _remembered(journal)
    by_hand = _left_down(journal)
    return Standing(
        node=observation.node,
        source="machine",
        mode=rules_of(configuration, observation.node).mode,
        observed=observation.time,
        known=is_known(look.given.pressure),
        conditions=tuple(held(look.given.pressure)),
        leaving=running,
        down=tuple(_down(ended, by_hand, observation, now)),
        next=following(eligible(order.ranking, spared=order.spared), running),
        workers=tuple(alive_workers()),
        late=(*late_workers(), *failing, *seen.silent),
        evicted=tuple(_gone(past.ended_since(ended, now - LATELY)))[-SHOWN:],
        journal=problem,
    )


def _remembered(journal: Path) -> tuple[tuple[Leaving, ...], list[Eviction], str]:
    """What ran when the journal was written last, what had ended, and why nothing is known."""
    if not past.readable(journal):
        return (), [], f"none that can be read at {journal}"
    try:
        found = [leaving(item, item.metadata.namespace) for item in past.running(journal)]
        ended = [*_evicted(past.history(journal))]
    except HostError as error:
        return (), [], str(error)
    return tuple(item for item in found if item is not None)[:SHOWN], ended, ""


def _left_down(journal: Path) -> frozenset[tuple[str, str]]:
    """By name; a journal that cannot be read is the doctor's to tell."""
    try:
        return frozenset((pod.namespace, pod.name) for pod in past.left_down(journal))
    except HostError:
        return frozenset()


def _evicted(ended: Iterable[Eviction]) -> Iterator[Eviction]:
    """Those that ended with the end of their target."""
    for item in ended:
        if holds(item.status.conditions, ConditionType.TARGET_EVICTED):
            yield item


def _gone(ended: Iterable[Eviction]) -> Iterator[Gone]:
    for item in ended:
        yield Gone(
            namespace=item.metadata.namespace,
            name=name_told(item),
            node=item.status.node or "",
            time=end_time(item.status),
            why=past.why(item),
        )


def _down(
    ended: list[Eviction],
    by_hand: frozenset[tuple[str, str]],
    seen: Observation,
    now: datetime,
) -> Iterator[Down]:
    """What was evicted here and does not run; nothing where it cannot be told what runs."""
    if not seen.pods_complete or seen.pods is None:
        return
    running = {(pod.namespace, pod.name) for pod in seen.pods}
    here = [item for item in past.ended_since(ended, now - DOWN) if item.status.node == seen.node]
    last = {(item.metadata.namespace, name_told(item)): item for item in here}
    for (namespace, name), item in last.items():
        since = end_time(item.status)
        if (namespace, name) in running or since is None:
            continue
        signal = None if item.status.reason is None else item.status.reason.signal
        by_itself = comes_back(signal) and (namespace, name) not in by_hand
        yield Down(
            namespace=namespace,
            name=name,
            since=since,
            signal=signal,
            returns=absence.ROOM if by_itself else absence.SOMEBODY,
        )
