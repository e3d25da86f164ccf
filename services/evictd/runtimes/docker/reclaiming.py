"""Giving space back through the engine, step by step and piece by piece.

Never a volume, an image in use or a container that runs. [design, law 9] It decides neither when
nor how far: an order names its steps, and whoever carries it out says after each piece whether to
go on.
"""

from collections.abc import Collection, Mapping, Sequence

from evictd.core.errors import EvictdError
from evictd.core.orders import (
    BUILD_CACHE,
    DANGLING_IMAGES,
    DEAD_CONTAINERS,
    TRUNCATE_LOGS,
    UNUSED_IMAGES,
)
from evictd.runtimes.docker.dead_containers import DeadContainers, Refusal
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.image_memory import ImageMemory
from evictd.runtimes.docker.image_uses import ImageUses
from evictd.runtimes.docker.image_watch import ImageWatch
from evictd.runtimes.docker.long_logs import LongLogs
from evictd.runtimes.docker.pruning import BuildCache, DanglingImages
from evictd.runtimes.docker.sweep import Piece, Sweep
from evictd.runtimes.docker.unused_images import UnusedImages
from evictd.runtimes.interface import GoOn
from evictd.runtimes.reclaims import Reclaims
from evictd.shell.blocking import RunBlocking
from evictd_schemas import StepOutcome

NAMES_MAX = 20
"""Names in one outcome; their number is told besides. [contract 1: payloads are bounded]"""


class Reclaiming:
    """The steps that one engine can take, and may; `memory`: of the uses of images."""

    def __init__(
        self,
        engine: Engine,
        reclaims: Reclaims,
        refusal: Refusal,
        memory: ImageMemory,
        run_blocking: RunBlocking,
    ) -> None:
        self._prunes: Mapping[str, Sweep] = {
            DANGLING_IMAGES: DanglingImages(engine),
            BUILD_CACHE: BuildCache(engine),
        }
        self._watch: ImageWatch | None = None
        chosen: dict[str, Sweep] = {}
        if (images := reclaims.unused_images) is not None:
            self._watch = ImageWatch(engine, ImageUses(), memory, run_blocking)
            chosen[UNUSED_IMAGES] = UnusedImages(engine, images, self._watch)
        if (dead := reclaims.dead_containers) is not None:
            chosen[DEAD_CONTAINERS] = DeadContainers(engine, dead, refusal)
        if (logs := reclaims.long_logs) is not None:
            chosen[TRUNCATE_LOGS] = LongLogs(engine, logs, run_blocking)
        self._chosen: Mapping[str, Sweep] = chosen

    @property
    def steps(self) -> tuple[str, ...]:
        """By the names that orders use."""
        return (*self._prunes, *self._chosen)

    async def attend(self) -> None:
        """Keep up what the steps have to know beforehand; at once over where that is nothing."""
        if self._watch is not None:
            await self._watch.attend()

    async def rehearse(self, step: str, stopped: Collection[str] | None) -> StepOutcome:
        """What one step would take. A failure is in the outcome and never raised."""
        sweep = self._prunes.get(step) or self._chosen.get(step)
        if sweep is None:
            return _unknown(step)
        try:
            return _outcome(step, await sweep.offered(stopped))
        except EvictdError as error:
            return StepOutcome(step=step, error=str(error))

    async def take(self, step: str, stopped: Collection[str] | None, go_on: GoOn) -> StepOutcome:
        """One step. A failure is in the outcome and never raised."""
        taken: list[Piece] = []
        try:
            for sweep, piece in await self._pieces(step, stopped):
                if not await go_on():
                    break
                taken += await sweep.take(piece)
        except EvictdError as error:
            return _outcome(step, taken, error=str(error))
        return _outcome(step, taken) if step in self.steps else _unknown(step)

    async def _pieces(
        self, step: str, stopped: Collection[str] | None
    ) -> Sequence[tuple[Sweep, Piece]]:
        """What an engine takes in one call it need not list before."""
        if (prune := self._prunes.get(step)) is not None:
            return ((prune, Piece(name=step, key="")),)
        if (sweep := self._chosen.get(step)) is not None:
            return [(sweep, piece) for piece in await sweep.offered(stopped)]
        return ()


def _outcome(step: str, taken: Sequence[Piece], error: str | None = None) -> StepOutcome:
    """In the engine's own figures; what has come back the file system says."""
    listed = sum(piece.listed_bytes for piece in taken)
    return StepOutcome(
        step=step,
        listed_bytes=listed,
        taken=tuple(piece.name for piece in taken[:NAMES_MAX]),
        taken_total=len(taken),
        error=error,
    )


def _unknown(step: str) -> StepOutcome:
    return StepOutcome(step=step, error="not supported by docker")
