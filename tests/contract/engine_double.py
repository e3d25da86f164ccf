"""An engine's HTTP interface on a real socket, with the faults that real engines have."""

import asyncio
import json
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from aiohttp import web
from tests.sockets import within_reach

from evictd.runtimes.docker.endpoints import endpoint

RUNNING = {"Running": True, "Pid": 0, "StartedAt": "2026-11-30T08:00:00.000000000Z"}


class EngineDouble:
    """Answers from plain values. Whatever path is in `hanging` is never answered."""

    def __init__(self, socket: Path) -> None:
        reach = ExitStack()
        weakref.finalize(self, reach.close)
        self._socket = str(reach.enter_context(within_reach(socket.parent)) / socket.name)
        self.address = f"unix://{self._socket}"
        self.version: dict[str, Any] | bytes = {"ApiVersion": "1.41"}
        self.information: dict[str, Any] = {"CgroupDriver": "cgroupfs"}
        self.listing: list[dict[str, Any]] = []
        self.inspections: dict[str, dict[str, Any]] = {}
        self.images: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.hanging: set[str] = set()
        self.statistics: dict[str, dict[str, Any]] = {}
        self.refused: set[str] = set()
        """What a proxy lets nobody do: beginnings of `METHOD path`."""
        self.asked: list[str] = []
        self.unlisted: list[str] = []
        """Calls that nobody has listed: no test may end with one."""
        self.garbage: bytes | None = None
        """What every call is answered with, but for the one for the version, which comes first."""
        self.after_start: dict[str, Any] = {**RUNNING, "StartedAt": "2026-11-30T09:00:00Z"}
        """The state of a container that was started again."""
        self.vanishes = False
        """The other end of an event stream is gone and nobody is told: it says nothing for ever."""
        self._runner: web.AppRunner | None = None

    def add(self, number: str, name: str, **labels: str) -> str:
        """A running container with labels, underscores for dots and dashes; its id."""
        container_id = number * 64
        clear = {key.replace("__", "-").replace("_", "."): value for key, value in labels.items()}
        self.listing.append(
            {"Id": container_id, "Names": [f"/{name}"], "Labels": clear, "State": "running"}
        )
        self.inspections[container_id] = {
            "Id": container_id,
            "Name": f"/{name}",
            "Image": "sha256:1",
            "State": dict(RUNNING),
            "Config": {"Hostname": container_id[:12], "Image": "web:1", "Labels": clear},
            "HostConfig": {},
        }
        return container_id

    async def open(self) -> None:
        """Listen on the socket."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.UnixSite(self._runner, self._socket).start()

    async def port(self) -> str:
        """Listen on a port too; its address."""
        assert self._runner is not None
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, number = self._runner.addresses[-1]
        return f"tcp://{host}:{number}"

    async def close(self) -> None:
        """Hang up on everybody."""
        if self._runner is not None:
            await self._runner.cleanup()
        assert self.unlisted == [], f"not in evictd.runtimes.docker.endpoints: {self.unlisted}"

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"].partition("v1.41/")[2] or request.match_info["path"]
        self.asked.append(f"{request.method} {path}?{request.query_string}".rstrip("?"))
        if endpoint(request.method, f"/{path}") is None:
            self.unlisted.append(f"{request.method} /{path}")
        if any(path.startswith(hanging) for hanging in self.hanging):
            await asyncio.Event().wait()
        if any(f"{request.method} {path}".startswith(refused) for refused in self.refused):
            return web.Response(status=403)
        if self.garbage is not None and path != "version":
            return web.Response(body=self.garbage, content_type="application/json")
        words = path.split("/")
        if path == "events":
            return await self._stream(request)
        if words[-1] == "stop" and words[1] in self.inspections:
            self.inspections[words[1]]["State"] = {**RUNNING, "Running": False, "ExitCode": 143}
            return web.Response(status=204)
        if words[-1] == "start" and words[1] in self.inspections:
            self.inspections[words[1]]["State"] = dict(self.after_start)
            return web.Response(status=204)
        found = self._found(path, words)
        if found is None:
            return web.json_response({"message": f"no such thing: {path}"}, status=404)
        if isinstance(found, bytes):
            return web.Response(body=found, content_type="application/json")
        return web.json_response(found)

    def _found(self, path: str, words: list[str]) -> Any:
        if path == "version":
            return self.version
        if path == "info":
            return self.information
        if path == "containers/json":
            return self.listing
        if path in ("images/prune", "build/prune"):
            return {"SpaceReclaimed": 4096}
        if words[-1] == "stats":
            return self.statistics.get(words[1])
        kind = self.inspections if words[0] == "containers" else self.images
        return kind.get(words[1])

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        """What there is, and the end: a proxy that drops idle streams."""
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for event in self.events:
            await response.write(json.dumps(event).encode() + b"\n")
        if self.vanishes:
            await asyncio.Event().wait()
        await response.write_eof()
        return response
