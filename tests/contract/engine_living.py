"""An engine's double whose containers live: they heed their stop signal or do not, are killed when
their grace is over, live again when they are started, and everybody who listens hears of it."""

import asyncio
import json
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.contract.engine_double import RUNNING, EngineDouble

OWN_GRACE_SECONDS = 10
PROJECT = "bench"


class LivingEngine(EngineDouble):
    """Containers of one Compose project, by the name of their service."""

    def __init__(self, socket: Path) -> None:
        super().__init__(socket)
        self._numbers = count(1)
        self._deaf: set[str] = set()
        self._deadlines: dict[str, float] = {}
        self._changed = asyncio.Event()
        self._listeners: list[asyncio.Queue[dict[str, Any] | None]] = []

    def run(self, name: str, *, deaf: bool = False, **labels: str) -> str:
        """One more container; its id."""
        number = next(self._numbers)
        container = self.add("0", f"{PROJECT}-{name}-1", **labels)
        found = self.inspections.pop(container)
        own = f"{number:064x}"
        marks = {"com.docker.compose.project": PROJECT, "com.docker.compose.service": name}
        found["Id"] = self.listing[-1]["Id"] = own
        found["Config"]["Labels"] |= marks
        self.inspections[own] = found
        self._live(own)
        if deaf:
            self._deaf.add(own)
        return own

    def remove(self, name: str) -> None:
        """Kill and take away the newest container of a service."""
        own = next(
            item["Id"]
            for item in reversed(self.listing)
            if item["Labels"]["com.docker.compose.service"] == name
        )
        self._end(own, 137)
        self.listing = [item for item in self.listing if item["Id"] != own]
        del self.inspections[own]

    async def close(self) -> None:
        """Hang up on everybody who listens, too."""
        for queue in self._listeners:
            queue.put_nowait(None)
        await super().close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        words = request.match_info["path"].split("/")
        container = words[-2] if len(words) > 1 else ""
        if container in self.inspections and words[-1] == "stop":
            self.asked.append(f"{request.method} {'/'.join(words)}")
            await self._stop(container, float(request.query.get("t", OWN_GRACE_SECONDS)))
            return web.Response(status=204)
        if container in self.inspections and words[-1] == "start":
            self._live(container)
            return web.Response(status=204)
        return await super()._answer(request)

    async def _stop(self, own: str, grace_seconds: float) -> None:
        """Of two at once the shorter grace counts, and both are answered at the end."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (grace_seconds if own in self._deaf else 0)
        self._deadlines[own] = min(deadline, self._deadlines.get(own, deadline))
        self._tell()
        while self._runs(own) and (rest := self._deadlines[own] - loop.time()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), rest)
        if self._runs(own):
            self._end(own, 137 if own in self._deaf else 143)
        self._deadlines.pop(own, None)

    def _runs(self, own: str) -> bool:
        return own in self.inspections and bool(self.inspections[own]["State"]["Running"])

    def _live(self, own: str) -> None:
        started = f"2026-11-30T08:00:00.{next(self._numbers):09d}Z"
        self.inspections[own]["State"] = {**RUNNING, "StartedAt": started}
        self._say("start", own)

    def _end(self, own: str, code: int) -> None:
        self.inspections[own]["State"] |= {"Running": False, "ExitCode": code}
        self._say("die", own)
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _say(self, action: str, own: str) -> None:
        event = {
            "Type": "container",
            "Action": action,
            "Actor": {"ID": own},
            "timeNano": next(self._numbers),
        }
        for queue in self._listeners:
            queue.put_nowait(event)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Everything from now on, until one of us hangs up."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._listeners.append(queue)
        try:
            while (event := await queue.get()) is not None:
                await response.write(json.dumps(event).encode() + b"\n")
        finally:
            self._listeners.remove(queue)
        return response
