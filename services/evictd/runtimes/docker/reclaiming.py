"""Giving space back through the engine.

Never a volume, an image in use or a container that runs. [design, law 9] It decides neither when
nor how far: an order names its steps.
"""

from evictd.core.errors import PeerError
from evictd.core.orders import BUILD_CACHE, DANGLING_IMAGES
from evictd.runtimes.docker.engine import Engine
from evictd_schemas import StepOutcome


class Reclaiming:
    """The steps that one engine can take."""

    def __init__(self, engine: Engine) -> None:
        self._prunes = {
            DANGLING_IMAGES: engine.prune_dangling_images,
            BUILD_CACHE: engine.prune_build_cache,
        }

    @property
    def steps(self) -> tuple[str, ...]:
        """By the names that orders use."""
        return tuple(self._prunes)

    async def take(self, step: str) -> StepOutcome:
        """One step. A failure is in the outcome and never raised."""
        if step not in self._prunes:
            return StepOutcome(step=step, error="not supported by docker")
        try:
            return StepOutcome(step=step, freed_bytes=await self._prunes[step]())
        except PeerError as error:
            return StepOutcome(step=step, error=str(error))
