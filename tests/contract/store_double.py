"""An engine's double with images, of which some are in use, and with a memory of events."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from aiohttp import web
from tests.contract.engine_double import EngineDouble


class Store(EngineDouble):
    """An engine with images; it refuses to delete what is in `in_use`."""

    def __init__(self, socket: Path) -> None:
        super().__init__(socket)
        self.image_listing: list[dict[str, Any]] = []
        self.in_use: set[str] = set()
        self.deleted: list[str] = []
        self.heard = anyio.Event()
        """Somebody has been told all events that were asked for."""
        self._news = asyncio.Event()
        self._broken = asyncio.Event()

    def image(self, name: str, *, parent: str = "", digest: bool = True, size: int = 10) -> str:
        """One image called `name:1`; its id."""
        number = f"sha256:{name}"
        digests = [f"{name}@sha256:d"] if digest else []
        self.image_listing.append(
            {
                "Id": number,
                "ParentId": parent,
                "RepoTags": [f"{name}:1"],
                "RepoDigests": digests,
                "Size": size,
            }
        )
        return number

    def container(self, number: str, name: str, image: str, **state: Any) -> str:
        """A container of that image, which runs unless its state says otherwise."""
        container_id = self.add(number, name)
        self.listing[-1]["ImageID"] = image
        if state:
            self.listing[-1]["State"] = "exited"
            self.inspections[container_id]["State"] = {"Running": False, **state}
        return container_id

    def say(self, action: str, number: str, image: str, nanoseconds: int) -> None:
        """Something happens to a container; whoever listens hears of it."""
        self.events.append(
            {
                "Action": action,
                "Actor": {"ID": number, "Attributes": {"image": image}},
                "timeNano": nanoseconds,
            }
        )
        self._news.set()

    def hang_up(self) -> None:
        """End every stream of events, as a proxy does that has had enough."""
        self.heard = anyio.Event()
        self._broken.set()
        self._broken = asyncio.Event()

    async def close(self) -> None:
        """Hang up on those too who listen."""
        self._broken.set()
        await super().close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"].partition("v1.41/")[2]
        if request.method != "DELETE":
            return await super()._answer(request)
        name = path.partition("/")[2]
        if name in self.in_use:
            return web.json_response({"message": "conflict: it is in use"}, status=409)
        self.deleted.append(name)
        return web.json_response([])

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """Those from a moment on that it remembers, then what comes, until somebody hangs up."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        seconds, _, rest = request.query.get("since", "0").partition(".")
        since = int(seconds) * 10**9 + int(rest or 0)
        news = [event for event in self.events if event["timeNano"] >= since]
        broken = self._broken
        while not broken.is_set():
            self._news.clear()
            told = len(self.events)
            for event in news:
                await response.write(json.dumps(event).encode() + b"\n")
            self.heard.set()
            waits = [asyncio.create_task(one.wait()) for one in (self._news, broken)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
            if request.transport is None or request.transport.is_closing():
                break
            news = self.events[told:]
        return response

    def _found(self, path: str, words: list[str]) -> Any:
        if path == "images/json":
            return self.image_listing
        if path == "system/df":
            lately = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            cache = (
                {"ID": "old", "Size": 5, "LastUsedAt": "2020-01-01T08:00:00.123456789Z"},
                {"ID": "never", "Size": 1, "LastUsedAt": None},
                {"ID": "fresh", "Size": 9, "LastUsedAt": lately},
                {"ID": "busy", "Size": 7, "InUse": True},
            )
            return {"BuildCache": cache}
        return super()._found(path, words)
