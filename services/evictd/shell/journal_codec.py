"""Rows of the journal as text: JSON, so that people can read what a machine decided.

An effect is known by its tag. What a `Publish` carries is known by its topic: messages have no tag,
because they are what travels. [design, One set of types]
"""

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct

from evictd.core.effects import Publish
from evictd.shell.causes import UNREADABLE
from evictd_schemas import topics

S = TypeVar("S")
E = TypeVar("E")

READING_ERRORS = (*UNREADABLE, ValueError)
"""What a row that was written by another version or damaged may raise when it is read."""


class _Tag(Struct, frozen=True, kw_only=True):
    type: str


class _Published(Struct, frozen=True, kw_only=True):
    topic: str
    message: Raw
    type: Literal["Publish"] = "Publish"


class Codec(Generic[S, E]):
    """For one worker: its state, and the union of its effects, or a tuple of them."""

    def __init__(self, state: type[S], effects: Any) -> None:
        union = get_args(effects)[0] if get_origin(effects) is tuple else effects
        kinds = [kind for kind in get_args(union) or (union,) if kind is not Publish]
        self._state: msgspec.json.Decoder[S] = msgspec.json.Decoder(state)
        self._effect: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Union[tuple(kinds)])  # noqa: UP007 - built at run time
        self._list = msgspec.json.Decoder(list[Raw])
        self._tag = msgspec.json.Decoder(_Tag)
        self._published = msgspec.json.Decoder(_Published)

    def write(self, state: S | None, effects: Sequence[E]) -> tuple[bytes | None, bytes]:
        """The two texts of a row; no state is no text."""
        return None if state is None else msgspec.json.encode(state), msgspec.json.encode(effects)

    def read(self, state: bytes | None, effects: bytes) -> tuple[S | None, tuple[E, ...]]:
        """Raises one of `READING_ERRORS`."""
        return (
            None if state is None else self._state.decode(state),
            tuple(self._read_effect(raw) for raw in self._list.decode(effects)),
        )

    def _read_effect(self, raw: Raw) -> Any:
        if self._tag.decode(raw).type != "Publish":
            return self._effect.decode(raw)
        published = self._published.decode(raw)
        message = read_message(published.topic, published.message)
        return Publish(topic=published.topic, message=message)


def read_message(topic: str, text: bytes | Raw) -> Any:
    """What is published there, by its topic. Raises one of `READING_ERRORS`."""
    place = topics.place(topic)
    if place is None:
        raise ValueError(f"{topic!r} is no topic of the contract")
    return msgspec.json.decode(text, type=place.kind.message)
