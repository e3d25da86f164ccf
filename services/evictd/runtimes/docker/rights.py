"""What an engine, or the proxy before it, lets us ask: each endpoint once, and nothing is changed.

A call that would change something is made about a container that does not exist: "not found" says
that it is allowed. A prune has no such way and is never tried. It judges nothing.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import aiodocker
import aiohttp
import anyio
import msgspec
from msgspec import Struct, structs

from evictd.core.errors import PeerError
from evictd.runtimes.docker.engine import CONNECT_SECONDS, client_of

CALL_SECONDS = 3.0
"""Of one endpoint; an engine that is well answers within milliseconds."""
CONTAINERS_MAX = 500
"""Containers that are inspected at most: a person waits."""
AT_ONCE = 8
ANSWER_BYTES_MAX = 16 << 20
"""Of one answer: a list has about 2 KiB for each container."""
WHY_CHARACTERS_MAX = 200
NOBODY = "0" * 64
"""An id that no container has. In the form of an id, so that a proxy's expression lets it by."""


PAST_EVENTS = "/events?since=1&until=2"
"""Those of a second long ago: there are none, and the stream ends at once."""


class Answer(Struct, frozen=True, kw_only=True):
    """One endpoint. `status` None: nobody answered, and `why` says what happened instead.

    `seconds`: how long it took.
    """

    endpoint: str
    status: int | None = None
    why: str = ""
    seconds: float = 0.0


class EngineSelf(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /info, as far as it says what the machine can do. None: this engine does not tell."""

    docker_root_dir: str | None = None
    memory_limit: bool | None = None
    swap_limit: bool | None = None
    pids_limit: bool | None = None
    containers: int = 0
    images: int = 0


class Component(Struct, frozen=True, kw_only=True, rename="pascal"):
    """A part of an engine."""

    name: str = ""


class EngineVersion(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /version."""

    version: str = ""
    components: tuple[Component, ...] | None = None


class Settings(Struct, frozen=True, kw_only=True, rename="pascal"):
    """What a container was made with; `env` as `NAME=value`."""

    image: str = ""
    labels: dict[str, str] | None = None
    env: tuple[str, ...] | None = None
    cmd: tuple[str, ...] | None = None
    entrypoint: tuple[str, ...] | None = None


class Policy(Struct, frozen=True, kw_only=True, rename="pascal"):
    """When the engine itself starts it again."""

    name: str = ""


class Host(Struct, frozen=True, kw_only=True, rename="pascal"):
    """What a container has of the machine."""

    oom_score_adj: int | None = None
    restart_policy: Policy = Policy()


class Being(Struct, frozen=True, kw_only=True, rename="pascal"):
    """Whether it runs."""

    running: bool = False


class Listed(Struct, frozen=True, kw_only=True, rename="pascal"):
    """One of GET /containers/json."""

    id: str


class Container(Struct, frozen=True, kw_only=True, rename="pascal"):
    """GET /containers/{id}/json, as far as an owner's mistakes can be seen in it."""

    id: str
    name: str = ""
    state: Being = Being()
    config: Settings = Settings()
    host_config: Host = Host()


class Sight(Struct, frozen=True, kw_only=True):
    """All that one engine said. `containers_left_out`: more than were inspected."""

    answers: tuple[Answer, ...] = ()
    version: EngineVersion | None = None
    information: EngineSelf | None = None
    containers: tuple[Container, ...] = ()
    containers_left_out: int = 0


async def asked(address: str, *, images: bool = False, containers: bool = False) -> Sight:
    """Ask an engine at `unix://…` or `tcp://…`. Never raises for what an engine can answer.

    `images`, `containers`: the calls too that only removing those needs.
    """
    timeout = aiohttp.ClientTimeout(total=CALL_SECONDS, sock_connect=CONNECT_SECONDS)
    try:
        client = client_of(address, timeout)
    except PeerError as error:
        return Sight(answers=(Answer(endpoint="GET /version", why=str(error)),))
    try:
        return await _Questions(client).all(images=images, containers=containers)
    finally:
        await client.close()


class _Questions:
    """One engine being asked."""

    def __init__(self, client: aiodocker.Docker) -> None:
        self._client = client
        self._prefix = ""
        self._answers: list[Answer] = []

    async def all(self, *, images: bool, containers: bool) -> Sight:
        version = await self._get("/version", "/version")
        if self._answers[0].status is None:
            return Sight(answers=tuple(self._answers))
        self._prefix = _prefix(version)
        information = await self._get("/info", "/info")
        listed = await self._get("/containers/json", "/containers/json?all=1")
        ids = [one.id for one in _converted(listed, tuple[Listed, ...]) or ()]
        inspected = await self._inspected(ids)
        await self._get("/containers/{id}/stats", f"/containers/{NOBODY}/stats?stream=false")
        await self._get("/images/{id}/json", f"/images/{NOBODY}/json")
        await self._get("/images/json", "/images/json")
        await self._get("/events", PAST_EVENTS)
        for verb in ("stop", "start"):
            await self._ask("POST", f"/containers/{{id}}/{verb}", f"/containers/{NOBODY}/{verb}")
        if images:
            await self._ask("DELETE", "/images/{id}", f"/images/{NOBODY}")
        if containers:
            await self._ask("DELETE", "/containers/{id}", f"/containers/{NOBODY}")
        return Sight(
            answers=tuple(self._answers),
            version=_converted(version, EngineVersion),
            information=_converted(information, EngineSelf),
            containers=inspected,
            containers_left_out=max(0, len(ids) - CONTAINERS_MAX),
        )

    async def _inspected(self, ids: list[str]) -> tuple[Container, ...]:
        """The first tells whether it is allowed; without any, one that does not exist does."""
        endpoint = "/containers/{id}/json"
        first = await self._get(endpoint, f"/containers/{ids[0] if ids else NOBODY}/json")
        found = [first]
        if first is not None:
            limit = anyio.CapacityLimiter(AT_ONCE)

            async def look(number: str) -> None:
                async with limit:
                    found.append((await self._call("GET", f"/containers/{number}/json"))[1])

            async with anyio.create_task_group() as tasks:
                for number in ids[1:CONTAINERS_MAX]:
                    tasks.start_soon(look, number)
        read = (_converted(one, Container) for one in found)
        return tuple(sorted((one for one in read if one is not None), key=lambda one: one.name))

    async def _get(self, endpoint: str, path: str) -> Any:
        return await self._ask("GET", endpoint, path)

    async def _ask(self, method: str, endpoint: str, path: str) -> Any:
        began_seconds = anyio.current_time()
        answer, content = await self._call(method, path)
        took = anyio.current_time() - began_seconds
        self._answers.append(
            structs.replace(answer, endpoint=f"{method} {endpoint}", seconds=round(took, 3))
        )
        return content

    async def _call(self, method: str, path: str) -> tuple[Answer, Any]:
        url = f"{_base(self._client.docker_host)}{self._prefix}{path}"
        try:
            async with self._client.session.request(method, url) as response:
                text = await _text(response)
                content = _decoded(text)
                said = content.get("message", "") if isinstance(content, Mapping) else text
                why = "" if response.status < 300 else str(said).strip()[:WHY_CHARACTERS_MAX]
                good = content if response.status < 300 else None
                return Answer(endpoint=path, status=response.status, why=why), good
        except TimeoutError:
            return Answer(endpoint=path, why=f"no answer within {CALL_SECONDS:g} s"), None
        except (aiohttp.ClientError, OSError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            return Answer(endpoint=path, why=why[:WHY_CHARACTERS_MAX]), None


async def _text(response: aiohttp.ClientResponse) -> str:
    """The whole answer. Raises `ClientPayloadError` for one that has no end."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > ANSWER_BYTES_MAX:
            raise aiohttp.ClientPayloadError(f"more than {ANSWER_BYTES_MAX >> 20} MiB")
    return body.decode(errors="replace")


def _base(host: str) -> str:
    """As aiodocker builds its addresses: the socket itself is in the connector."""
    return host.replace("unix://", "http://", 1).replace("tcp://", "http://", 1)


def _prefix(version: Any) -> str:
    """The same version in the path that the client of every day puts there."""
    number = version.get("ApiVersion") if isinstance(version, Mapping) else None
    return f"/v{number}" if isinstance(number, str) else ""


def _decoded(text: str) -> Any:
    """The first value of an answer; None for what is no JSON, as of a stream of events."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _converted(content: Any, kind: type[Any]) -> Any:
    """None for none, and for what is no such thing."""
    try:
        return None if content is None else msgspec.convert(content, kind)
    except msgspec.ValidationError:
        return None


def environment(container: Container) -> Iterator[tuple[str, str]]:
    """Its variables, name and value."""
    for entry in container.config.env or ():
        name, _, value = entry.partition("=")
        yield name, value
