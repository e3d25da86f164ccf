"""What `evictd restore`, `forget` and `hold` have in common: a wish on the bus, and its answer.

The evictor answers each wish by an event, and in its Decisions. [contract 3, Wish]
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from uuid import NAMESPACE_URL, uuid5

import msgspec

from evictd.cli.changes import Changes, rejects
from evictd.cli.reading import PARTICIPANT, talk
from evictd.client import Change, Found, Mirror
from evictd.core.decision.wishing import OVER, State
from evictd_schemas import PodReference, Wish, WishAnswer, topics

ANSWERED = "WishAnswered"
RESTORED = "Restored"
ANSWER_SECONDS = 5.0
"""For the evictor's first word, which it says at once; longer, and none serves that node."""
NAME_BYTES_MAX = 200
"""Of a workload's name in the name of a wish, which a topic's level has to hold."""


@dataclass(frozen=True, kw_only=True)
class Wished:
    """A wish of this command line and where it stands."""

    node: str
    name: str
    wish: Wish

    @property
    def levels(self) -> dict[str, str]:
        """The open levels of its topic."""
        return {**topics.levels(PARTICIPANT), "name": self.name}

    @property
    def full_name(self) -> str:
        """By which the evictor answers it."""
        return f"{PARTICIPANT}/{self.name}"

    @property
    def topic(self) -> str:
        """Where it stands on the bus."""
        return topics.WISH.at(self.node, **self.levels)


@dataclass(frozen=True, kw_only=True)
class Said:
    """One thing that was said about it. `over`: nothing more will be; `done`: and it is done."""

    text: str
    over: bool = False
    done: bool = False


def wish_name(verb: str, target: str | None) -> str:
    """The same wish about the same workload has the same name, so that it replaces the former."""
    if target is None:
        return verb.lower()
    own_name = topics.cut(target.partition("/")[2], NAME_BYTES_MAX)
    return f"{verb.lower()}-{own_name}-{uuid5(NAMESPACE_URL, target).hex[:8]}"


def own(mirror: Mirror, verb: str, node: str | None = None) -> Iterator[Found[Wish]]:
    """Wishes of that kind of this command line, whoever typed them."""
    for found in mirror.objects(topics.WISH, node):
        if found.place.participant == PARTICIPANT and found.message.verb == verb:
            yield found


def down(mirror: Mirror) -> Iterator[tuple[str, PodReference]]:
    """What is down because of evictd, each with its node."""
    for found in mirror.objects(topics.STOPPED):
        names = found.place.names
        life = PodReference(namespace=names["namespace"], name=names["name"], uid=found.message.uid)
        yield found.place.node, life


class Answers(Changes):
    """What is said of one wish. Make it before publishing: it misses nothing then."""

    def __init__(self, mirror: Mirror, wished: Wished) -> None:
        super().__init__(mirror, topics.EVENT, topics.DECISION)
        self._wished = wished
        self._restored = ""

    async def word(self, seconds: float) -> Said | None:
        """The next thing that is said, None when the time is over."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (rest := deadline - asyncio.get_running_loop().time()) > 0:
            change = await self.following(rest)
            if change is None:
                return None
            self._restored = _restored(change, self._wished) or self._restored
            said = _said(change, self._wished)
            if said is not None:
                return replace(said, text=self._restored) if said.done and self._restored else said
        return None


async def told(mirror: Mirror, wished: Wished, seconds: float | None) -> Said | None:
    """Publish it and tell each change on stderr; the last word, None where the time was over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (float("inf") if seconds is None else seconds)
    answers = Answers(mirror, wished)
    try:
        mirror.publish(topics.WISH, wished.wish, wished.node, **wished.levels)
        said = await answers.word(min(ANSWER_SECONDS, deadline - loop.time()))
        while said is not None and not said.over:
            talk(said.text)
            former = said
            while said == former:
                said = await answers.word(deadline - loop.time())
        return said
    finally:
        await answers.close()


def _said(change: Change, wished: Wished) -> Said | None:
    """What a message says about our wish, if anything."""
    if change.found is None or change.place.node != wished.node:
        return None
    message = change.found.message
    if change.place.kind is topics.DECISION:
        answers: Iterable[WishAnswer] = message.wishes
        mine = (answer for answer in answers if answer.wish == wished.full_name)
        return next((_worded(answer) for answer in mine if _about(answer, wished)), None)
    data = message.data
    if rejects(data, wished.topic):
        return Said(text=f"rejected: {data.get('message')}", over=True)
    if data.get("reason") != ANSWERED:
        return None
    try:
        answer = msgspec.convert(data.get("wish"), WishAnswer)
    except msgspec.ValidationError:  # events are written by whoever may write there
        return None
    return _worded(answer) if _about(answer, wished) else None


def _worded(answer: WishAnswer) -> Said:
    in_force = answer.state == State.IN_FORCE
    over = in_force or answer.state in OVER
    return Said(text=answer.message, over=over, done=in_force or answer.state == State.DONE)


def _about(answer: WishAnswer, wished: Wished) -> bool:
    said = (answer.wish, answer.verb, answer.until)
    return said == (wished.full_name, wished.wish.verb, wished.wish.until)


def _restored(change: Change, wished: Wished) -> str:
    """How the workload came back, where that is what happened."""
    if change.found is None or change.place.kind is not topics.EVENT:
        return ""
    event = change.found.message
    about = event.data.get("reason") == RESTORED and event.subject == wished.wish.target
    return str(event.data.get("message")) if about else ""
