"""Watching which images are used: the engine's events, its list of containers, and every gap.

While nobody listened any image may have been used, by a container that came and went. That none was
is believed of two witnesses only: the engine still has the very event that was heard last, so that
everything since is told now; or no container was made or removed meanwhile, by the engine's own
folder. Without either each image counts as used until now. It takes nothing away.
"""

from collections.abc import Sequence
from contextlib import suppress

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from evictd.core.errors import EvictdError, PeerError
from evictd.runtimes.docker import container_folder
from evictd.runtimes.docker.container_folder import FolderMark
from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.image_memory import ImageMemory, LastEvent, Remembered
from evictd.runtimes.docker.image_uses import ImageUses
from evictd.runtimes.docker.images import names_of, parents
from evictd.runtimes.docker.inspection import EngineEvent, ImageSummary
from evictd.shell.blocking import RunBlocking

SURVEY_SECONDS = 300.0
"""Between two looks at which images are there and which have containers: two short calls."""
KEEP_SECONDS = 900.0
"""Between two writes of what is known: some kilobytes, also on a card that wears out."""
END_SECONDS = 0.5
"""For the last look before the last write."""
RECONNECT_SECONDS = 10.0
"""Before the events are listened to again; a stream that had lasted longer is so at once."""
SILENCE_SECONDS = 5.0
"""An engine tells what it remembers at once: what has not come by then it has forgotten."""
OVERLAP_NANOSECONDS = 10**9
"""Events of one moment come in any order, so that a little more than what is new is asked for."""
HELD_MAX = 1_000
"""Events held before it is known which are new; engines remember a quarter of it."""
ALL_NANOSECONDS = 1
"""Everything that the engine remembers: what it told last is where a next life goes on."""
BEGINNINGS = frozenset({"create", "start"})
"""Events at which the engine is asked which image it is: a name may mean another one by now, and
people leave out parts of it."""


class Survey(Struct, frozen=True, kw_only=True):
    """What is there. `used`: what containers refer to, running or not, and what it is built on."""

    images: Sequence[ImageSummary]
    used: frozenset[str]
    container_ids: frozenset[str]


class ImageWatch:
    """Of one engine. Without `memory` it begins anew with each life."""

    def __init__(
        self,
        engine: Engine,
        uses: ImageUses,
        memory: ImageMemory,
        run_blocking: RunBlocking,
    ) -> None:
        self.uses = uses
        self._engine = engine
        self._memory = memory
        self._run_blocking = run_blocking
        self.last_event: LastEvent | None = None
        """Up to which everything was heard."""
        self.is_doubtful = False
        """Whether there is a gap of which it is not known yet what was used in it."""
        self._mark: FolderMark | None = None
        self._changed = anyio.Event()
        self._sought: LastEvent | None = None
        self._same_folder = False
        self._held: list[EngineEvent] = []
        self._connections = 0

    async def attend(self) -> None:
        """Follow which images are used, for as long as this is awaited."""
        await self._recall()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._survey_often)
                tasks.start_soon(self._keep_often)
                await self._listen_on(tasks)
        finally:
            with anyio.CancelScope(shield=True):
                await self.keep()

    async def survey(self) -> Survey:
        """Look at what is there, and remember it as used where it is. Raises `PeerError`."""
        images = await self._engine.images()
        containers = await self._engine.containers()
        self.uses.saw(
            {name: image.id for image in images for name in names_of(image)},
            (image.id for image in images),
        )
        direct = frozenset(summary.image_id for summary in containers)
        used = direct.union(*(parents(image_id, images) for image_id in direct if image_id))
        for image_id in used:
            self.uses.used(image_id)
        return Survey(
            images=images, used=used, container_ids=frozenset(one.id for one in containers)
        )

    async def judged(self, seconds: float) -> bool:
        """Whether nothing of the past is doubtful any more; waits so long at most."""
        with anyio.move_on_after(seconds):
            while self.is_doubtful:
                await self._changed.wait()
        return not self.is_doubtful

    async def keep(self) -> None:
        """Write down what is known, unless that is doubtful: then the earlier words are better."""
        if self.is_doubtful:
            return
        with suppress(EvictdError), anyio.move_on_after(END_SECONDS):
            self._mark = await self._folder_mark(await self.survey())
        if not self.is_doubtful:
            await self._memory.keep(
                Remembered(
                    unused_seconds=self.uses.ages(),
                    last_event=self.last_event,
                    folder=self._mark,
                )
            )

    async def _recall(self) -> None:
        found = await self._memory.recalled()
        if found is not None:
            self.uses.recall(found.unused_seconds)
            self.last_event, self._mark = found.last_event, found.folder
            self.is_doubtful = True

    async def _survey_often(self) -> None:
        while True:
            with suppress(PeerError):  # an engine that is away uses no image
                await self.survey()
            await anyio.sleep(SURVEY_SECONDS)

    async def _keep_often(self) -> None:
        while True:
            await anyio.sleep(KEEP_SECONDS)
            await self.keep()

    async def _listen_on(self, tasks: TaskGroup) -> None:
        while True:
            began_seconds = anyio.current_time()
            with suppress(EvictdError):
                await self._listen(tasks)
            self._connections += 1  # what is still to be said of that one comes too late
            self.is_doubtful = True
            if anyio.current_time() - began_seconds < RECONNECT_SECONDS:
                await anyio.sleep(RECONNECT_SECONDS)

    async def _listen(self, tasks: TaskGroup) -> None:
        """From the last event that was heard on, until the stream ends.

        Names of images first, so that each event finds its own. Where no image is ever taken
        nothing is asked: such an engine may tell its events of weeks.
        """
        if (await self._engine.information()).has_digests_for_all:
            await anyio.sleep(SURVEY_SECONDS)
            return
        mark = await self._folder_mark(await self.survey())
        self._same_folder = mark is not None and mark == self._mark
        self._sought, self._held = self.last_event, []
        since = ALL_NANOSECONDS
        if self._sought is not None:
            since = max(ALL_NANOSECONDS, self._sought.time_nano - OVERLAP_NANOSECONDS)
            tasks.start_soon(self._await_silence, self._connections)
        elif self.is_doubtful:
            self._judge()
        async for event in self._engine.events(since):
            await self._hear(event)

    async def _await_silence(self, connection: int) -> None:
        await anyio.sleep(SILENCE_SECONDS)
        if connection == self._connections and self._sought is not None:
            self._judge()

    async def _hear(self, event: EngineEvent) -> None:
        """What comes before the event that is sought was heard by then."""
        sought = self._sought
        if sought is None:
            await self._count(event)
        elif _same(event, sought):
            self._sought, self._held = None, []
            self._close()
        else:
            self._held.append(event)
            is_later = event.time_nano > sought.time_nano + OVERLAP_NANOSECONDS
            if is_later or len(self._held) > HELD_MAX:
                self._judge()

    def _judge(self) -> None:
        """The engine does not remember so far back: the folder alone can tell.

        Names are as they were a moment ago, when it was listened to anew.
        """
        held, self._held, self._sought = self._held, [], None
        known = [self.uses.used(event.actor.image) for event in held if event.actor.image]
        if not (self._same_folder and all(known)):
            self.uses.all_used()
        if held:
            self.last_event = _last(held[-1])
        self._close()

    async def _count(self, event: EngineEvent) -> None:
        """Every event of a container is a use of its image. Raises `PeerError`: not counted yet."""
        if name := event.actor.image:
            asked = await self._engine.image(name) if event.action in BEGINNINGS else None
            self.uses.used(asked.id if asked is not None and asked.id else name)
        self.last_event = _last(event)

    def _close(self) -> None:
        self.is_doubtful = False
        self._changed.set()
        self._changed = anyio.Event()

    async def _folder_mark(self, survey: Survey) -> FolderMark | None:
        root = (await self._engine.information()).docker_root_dir
        return await self._run_blocking(lambda: container_folder.mark(root, survey.container_ids))


def _last(event: EngineEvent) -> LastEvent:
    return LastEvent(time_nano=event.time_nano, action=event.action, container_id=event.actor.id)


def _same(event: EngineEvent, sought: LastEvent) -> bool:
    return _last(event) == sought
