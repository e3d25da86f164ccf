"""A responder that asks a URL: 200 is completion, 202 means "still at it, ask again".

The URL comes from the machine's owner and never from the bus. [contract 3, Report]
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import anyio
from aiohttp import ClientResponse, ClientSession, ClientTimeout

from evictd.core.errors import PeerError
from evictd.core.protocol.vocabulary import State
from evictd.responder.author import TIMEOUT_SECONDS, Work
from evictd.responder.question import asked

ANSWER_SECONDS = 60.0
"""For one answer."""
AGAIN_SECONDS = 10.0
"""Until it is asked again, where the answer has no `Retry-After` in seconds."""
AGAIN_SECONDS_MIN = 0.5
"""However little it wants: a server in trouble is not asked as fast as it can answer."""
AGAIN_SECONDS_MAX = 300.0
"""However long it wants: a responder has to show that it gets on."""
ANSWER_BYTES_MAX = 4_000
"""Of an answer no more is read: a message has no more room. [eviction-request-api 2.3]"""
DONE, AT_IT = range(200, 202), 202


class Webhook:
    """POSTs, over and over the same until the answer is final.

    An answer is told by the Eviction's uid.
    """

    def __init__(self, url: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._url = url
        self._shown = _origin(url)
        self._timeout_seconds = timeout_seconds

    async def respond(self, work: Work) -> str:
        """The answer's text.

        Raises `PeerError` for any answer but 200, 201 and 202, and `TimeoutError` when it takes too
        long. A text that is new is progress.
        """
        last = ""
        try:
            with anyio.fail_after(self._timeout_seconds):
                while True:
                    async with self._posted(work, State.ACTIVE) as answer:
                        text = await _text(answer)
                        if answer.status in DONE:
                            return text or "done"
                        wait_seconds = _wait_seconds(answer)
                    if text != last:
                        work.progress(text)
                        last = text
                    await anyio.sleep(wait_seconds)
        except TimeoutError as error:
            raise TimeoutError(f"not done in {self._timeout_seconds:g} s: {last}") from error

    async def restore(self, work: Work) -> None:
        """Tell it that nobody wants the workload to leave any more."""
        async with self._posted(work, State.CANCELED):
            return

    @asynccontextmanager
    async def _posted(self, work: Work, state: State) -> AsyncIterator[ClientResponse]:
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=ANSWER_SECONDS)) as session,
                session.post(
                    self._url,
                    data=asked(work, state),
                    headers={"Content-Type": "application/json"},
                    allow_redirects=False,
                ) as answer,
            ):
                if answer.status not in (*DONE, AT_IT):
                    text = await _text(answer)
                    raise PeerError(f"{self._shown} answered {answer.status}: {text}")
                yield answer
        except aiohttp.ClientError as error:
            raise PeerError(f"{self._shown}: {_why(error)}") from error
        except TimeoutError as error:
            raise PeerError(f"{self._shown}: no answer in {ANSWER_SECONDS:g} s") from error


def _origin(url: str) -> str:
    """A URL as everybody may see it: login, path and query are often secrets, and a report is no
    place for them."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _why(error: aiohttp.ClientError) -> str:
    """Without the URL, which some errors tell whole."""
    if isinstance(error, aiohttp.ClientResponseError):
        return error.message
    return "is no URL" if isinstance(error, aiohttp.InvalidURL) else str(error)


async def _text(answer: ClientResponse) -> str:
    body = await answer.content.read(ANSWER_BYTES_MAX)
    return body.decode(errors="replace").strip()


def _wait_seconds(answer: ClientResponse) -> float:
    asked = answer.headers.get("Retry-After", "")
    wanted_seconds = float(asked) if asked.isdecimal() else AGAIN_SECONDS
    return min(max(wanted_seconds, AGAIN_SECONDS_MIN), AGAIN_SECONDS_MAX)
