"""A responder that asks the workload itself, on a topic of the workload's own.

A workload that speaks MQTT already needs nothing of evictd's: it hears one question, answers in the
words of a Report, and is asked again while it is silent. Both topics come from the machine's owner
and never from the bus. [contract 3, Report]
"""

from datetime import timedelta

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup

from evictd.core.errors import InputError
from evictd.core.exchange import Exchange, filled, filter_of
from evictd.core.protocol.vocabulary import State
from evictd.responder.author import HEARTBEAT_SECONDS, TIMEOUT_SECONDS, Work
from evictd.responder.question import asked
from evictd.shell.bus.foreign import HEARD_BYTES_MAX, Heard
from evictd.shell.causes import UNREADABLE
from evictd_schemas import Report

AGAIN_SECONDS = 30.0
"""Without a first answer for so long the question is put again: the workload may not have been
connected. Once it has answered, only a silence of `HEARTBEAT_SECONDS` asks again. Where the broker
was away it is asked as soon as that is back, since its last word may be lost."""
REFUSALS_MAX = 10
"""Broken answers of one turn that are told; further ones change nothing either."""

log = structlog.get_logger(__name__)


class WorkloadTopic:
    """One exchange of question and answers a turn."""

    def __init__(self, exchange: Exchange, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._exchange = exchange
        self._timeout_seconds = timeout_seconds

    @property
    def hears(self) -> tuple[str, ...]:
        """The filter for the answers of all workloads."""
        return (filter_of(self._exchange.answer),)

    async def respond(self, work: Work) -> str:
        """The message of the answer that has a `completionTime`.

        Raises `InputError` for a workload whose name can be no part of a topic, and `TimeoutError`
        when it takes too long.
        """
        exchange = _of(self._exchange, work)
        said = f"asked on {exchange.question}, no answer yet"
        work.progress(said, expected_completion=timedelta(seconds=self._timeout_seconds))
        with work.hear(exchange.answer) as heard:
            talk = _Talk(work, exchange, heard, said)
            try:
                with anyio.fail_after(self._timeout_seconds):
                    async with anyio.create_task_group() as tasks:
                        said = await talk.run(tasks)
                        tasks.cancel_scope.cancel()
            except TimeoutError as error:
                why = f"not done in {self._timeout_seconds:g} s: {talk.said}"
                raise TimeoutError(why) from error
        return said

    async def restore(self, work: Work) -> None:
        """Tell it that nobody wants it to leave any more."""
        work.say(_of(self._exchange, work).question, asked(work, State.CANCELED))


class _Talk:
    """What one turn hears, until the answer that completes it."""

    def __init__(self, work: Work, exchange: Exchange, heard: Heard, said: str) -> None:
        self._work = work
        self._exchange = exchange
        self._heard = heard
        self._last: Report | None = None
        self._committed = False
        self._again_at = 0.0
        self._refusals: dict[str, None] = {}
        self.said = said
        """What was told last."""

    async def run(self, tasks: TaskGroup) -> str:
        """Its last message. `tasks` take what goes on beside."""
        self._ask()
        while True:
            payload = await self._next()
            try:
                answer = _read(payload)
                if answer.eviction_uid != self._work.eviction.metadata.uid:
                    continue  # another question's, or one of an earlier turn
                if answer.completion_time is not None:
                    return answer.message or "done"
                if answer != self._last:
                    self._take(answer, tasks)
            except ValueError as error:
                self._refuse(str(error))

    def _ask(self) -> None:
        self._work.say(self._exchange.question, asked(self._work, State.ACTIVE))
        self._patience()

    def _patience(self) -> None:
        seconds = AGAIN_SECONDS if self._last is None else HEARTBEAT_SECONDS
        self._again_at = anyio.current_time() + seconds

    async def _next(self) -> bytes:
        """What is said next, however often it has to be asked for."""
        while True:
            with anyio.CancelScope(deadline=self._again_at):
                payload = await self._heard.take()
                if payload is not None:
                    return payload
            self._ask()

    def _take(self, answer: Report, tasks: TaskGroup) -> None:
        """It got on."""
        self.said = answer.message or self.said
        self._work.progress(self.said, expected_completion=answer.expected_completion_time)
        self._last = answer
        self._patience()
        if answer.point_of_no_return and not self._committed:
            self._committed = True
            tasks.start_soon(self._work.point_of_no_return)

    def _refuse(self, why: str) -> None:
        """Told once for each reason, where the owner of the workload looks."""
        if why in self._refusals or len(self._refusals) >= REFUSALS_MAX:
            return
        self._refusals[why] = None
        topic = self._exchange.answer
        log.warning("an answer is refused", topic=topic, pod=self._work.pod.name, reason=why)
        self.said = f"an answer on {topic} is refused: {why}"
        self._work.progress(self.said)


def _of(exchange: Exchange, work: Work) -> Exchange:
    """The topics of this workload."""
    pod = work.pod
    values = {"namespace": pod.namespace, "name": pod.name, "node": work.node}
    try:
        question, answer = filled(exchange.question, values), filled(exchange.answer, values)
    except ValueError as error:
        raise InputError(f"no topic to ask {pod.namespace}/{pod.name} on: {error}") from error
    return Exchange(question=question, answer=answer)


def _read(payload: bytes) -> Report:
    """Raises `ValueError` for what is no answer."""
    if len(payload) > HEARD_BYTES_MAX:
        raise ValueError(f"it is longer than {HEARD_BYTES_MAX} bytes")
    try:
        return msgspec.json.decode(payload, type=Report)
    except UNREADABLE as error:
        raise ValueError(str(error)) from error
