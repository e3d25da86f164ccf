"""The webhook responder against a real server, a stage in memory, real time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from evictd.responder import Responder, webhook
from evictd.responder.webhook import Webhook
from evictd.testing import Stage, staged

NAME = "acme.io/hook"
Answer = Callable[[int], web.Response]


class Server:
    """Answers by number of the question, and keeps what was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[Any] = []
        self.url = ""

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/drain")

    async def handle(self, request: web.Request) -> web.Response:
        assert request.headers["Content-Type"] == "application/json"
        self.asked.append(msgspec.json.decode(await request.read()))
        return self._answer(len(self.asked))


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Server]:
    server = Server(answer)
    application = web.Application()
    handle: Callable[[web.Request], Awaitable[web.StreamResponse]] = server.handle
    application.router.add_post("/drain", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/drain"
    try:
        yield server
    finally:
        await runner.cleanup()


def responder(url: str, seconds: float = 30.0) -> Responder:
    hook = Webhook(url, timeout_seconds=seconds)
    return Responder(name=NAME, respond=hook.respond, restore=hook.restore)


async def ended(stage: Stage) -> str:
    await stage.until(lambda: stage.state("web") in ("Completed", "Interrupted"), 20)
    return stage.reports("web")[-1].message


async def test_a_final_answer_is_completion_and_its_text_the_message() -> None:
    async with serving(lambda _: web.Response(text="moved to edge-8")) as server:
        async with staged(responder(server.url)) as stage:
            await stage.evict("web")
            assert await ended(stage) == "moved to edge-8"
        (asked,) = server.asked
        assert (asked["node"], asked["state"], asked["resumed"]) == ("stage-1", "Active", False)
        assert asked["eviction"]["spec"]["target"]["pod"]["name"] == "web"


async def test_while_it_is_at_it_it_is_asked_again() -> None:
    def answer(number: int) -> web.Response:
        if number < 3:
            return web.Response(status=202, text=f"part {number}", headers={"Retry-After": "0"})
        return web.Response()

    async with serving(answer) as server, staged(responder(server.url)) as stage:
        await stage.evict("web")
        assert await ended(stage) == "done"
        assert len({asked["eviction"]["metadata"]["uid"] for asked in server.asked}) == 1
        assert len(server.asked) == 3


async def test_any_other_answer_is_told_as_failed() -> None:
    for status in (302, 404, 500):

        def answer(_: int, status: int = status) -> web.Response:
            return web.Response(status=status, text="no", headers={"Location": "/other"})

        async with serving(answer) as server, staged(responder(server.url)) as stage:
            await stage.evict("web")
            message = await ended(stage)
            assert message == f"failed: PeerError: {server.origin} answered {status}: no"
            assert len(server.asked) == 1


async def test_nobody_there_is_told_as_failed() -> None:
    async with staged(responder("http://127.0.0.1:9/drain")) as stage:
        await stage.evict("web")
        assert (await ended(stage)).startswith("failed: PeerError: http://127.0.0.1:9: ")


async def test_what_is_secret_in_a_url_is_told_nobody() -> None:
    """Reports are for everybody who may read."""

    def broken(_: int) -> web.Response:
        return web.Response(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8bno gzip")

    async with serving(broken) as server:
        there = server.url.replace("//", "//me:secret@")
        for url in (f"{there}/secret?token=secret", f"{there}?token=secret", "http://x@:9/secret"):
            async with staged(responder(url)) as stage:
                await stage.evict("web")
                message = await ended(stage)
                assert message.startswith("failed: PeerError: http://")
                assert "secret" not in message


async def test_what_takes_too_long_is_told_as_failed() -> None:
    def answer(_: int) -> web.Response:
        return web.Response(status=202, text="copying", headers={"Retry-After": "1"})

    async with serving(answer) as server, staged(responder(server.url, 0.5)) as stage:
        await stage.evict("web")
        assert await ended(stage) == "failed: TimeoutError: not done in 0.5 s: copying"


async def test_a_cancellation_is_told_so_that_it_can_undo() -> None:
    async with (
        serving(lambda _: web.Response(status=202)) as server,
        staged(responder(server.url)) as stage,
    ):
        await stage.evict("web")
        await stage.until(lambda: server.asked, 10)
        await stage.withdraw("web")
        await stage.until(lambda: len(server.asked) == 2, 10)
        assert [asked["state"] for asked in server.asked] == ["Active", "Canceled"]


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("7", 7),
        ("0", webhook.AGAIN_SECONDS_MIN),
        ("9" * 5_000, webhook.AGAIN_SECONDS_MAX),
        ("", webhook.AGAIN_SECONDS),
        ("-1", webhook.AGAIN_SECONDS),
        ("Mon, 30 Nov 2026 12:00:00 GMT", webhook.AGAIN_SECONDS),
        ("\u00b2", webhook.AGAIN_SECONDS),
    ],
)
def test_it_is_asked_again_neither_at_once_nor_never(asked: str, seconds: float) -> None:
    answer: Any = web.Response(headers={"Retry-After": asked})
    assert webhook._wait_seconds(answer) == seconds


@asynccontextmanager
async def saying(answer: bytes) -> AsyncIterator[str]:
    """Whoever connects is told this and no more; gives the URL."""

    async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(tell, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/drain"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "failed: PeerError: "),
        (b"\x00\xff no HTTP\r\n\r\n", "failed: PeerError: "),
        (b"HTTP/1.1 99999 OK\r\n\r\n", "failed: PeerError: "),
        (b"HTTP/1.1 600 OK\r\nContent-Length: 2\r\n\r\nhi", "failed: PeerError: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi", "failed: PeerError: "),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", "failed: PeerError: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", "\ufffd\ufffd"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: a; charset=b\r\n\r\nhi", "hi"),
    ],
)
async def test_whatever_is_answered_the_turn_ends_with_a_sentence(
    answer: bytes, message: str
) -> None:
    async with saying(answer) as url, staged(responder(url)) as stage:
        await stage.evict("web")
        assert (await ended(stage)).startswith(message)
