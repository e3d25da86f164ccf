"""One look at this machine through the collector's own sources, without a bus."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import anyio
from msgspec import structs

from evictd.cli.workloads import runtimes
from evictd.collector import composition
from evictd.collector.sight import Seen, Sight
from evictd.core.signals.names import MEMORY_AVAILABLE
from evictd.runtimes import Runtime
from evictd.shell.blocking import in_thread
from evictd.shell.clock import SystemClock
from evictd_schemas import Observation
from evictd_schemas.configuration import Configuration

LOOK_SECONDS_MAX = 2.0
"""A person waits for it, and a start must not wait for a disk that hangs."""
AGAIN_SECONDS = 0.05
"""Between two looks while a source has not answered."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was seen, which sources failed, by name and reason, and who has not answered yet."""

    observation: Observation
    failures: dict[str, str]
    silent: tuple[str, ...] = ()


def figures(configuration: Configuration, node: str, *, with_workloads: bool) -> Figures:
    """Read this machine once. `with_workloads`: ask its runtimes too, where there are any."""
    return asyncio.run(_figures(configuration, node, with_workloads=with_workloads))


async def _figures(configuration: Configuration, node: str, *, with_workloads: bool) -> Figures:
    async with AsyncExitStack() as stack:
        found: list[Runtime] = []
        made = await in_thread(lambda: tuple(runtimes(configuration))) if with_workloads else ()
        for runtime in made:
            stack.push_async_callback(runtime.close)
            found.append(runtime)
        seen, silent = await _seen(configuration, found)
    observation = composition.observation(
        seen.look,
        node=node,
        sequence=1,
        boot_id=None,
        interval_seconds=configuration.sources.interval_seconds,
    )
    whole, _ = composition.admissible(observation)
    # Who was not asked for is not told as nobody.
    told = whole if with_workloads else structs.replace(whole, pods=None)
    return Figures(observation=told, failures=seen.failures, silent=silent)


async def _seen(
    configuration: Configuration, found: Sequence[Runtime]
) -> tuple[Seen, tuple[str, ...]]:
    """Look until every source has said something, or the time is over; who was silent then."""
    sight = Sight(
        sources=configuration.sources,
        runtimes=found,
        clock=SystemClock(),
        run_blocking=in_thread,
        answered=lambda _source: None,
    )
    async with anyio.create_task_group() as tasks:
        seen = await sight.look(tasks)
        with anyio.move_on_after(LOOK_SECONDS_MAX):
            while not _is_whole(seen, found):
                await anyio.sleep(AGAIN_SECONDS)
                seen = await sight.look(tasks)
        silent = tuple(sight.silent())
        tasks.cancel_scope.cancel()
    return seen, silent


def _is_whole(seen: Seen, found: Sequence[Runtime]) -> bool:
    layout = seen.look.layout
    said = set(seen.look.signals)
    answered = MEMORY_AVAILABLE in said and layout is not None and layout.error is None
    return bool(seen.failures) or (answered and (not found or seen.look.pods_complete))
