"""The tree of a scenario file: short forms written out, and values read with their places.

Beyond what a configuration knows, an amount may be a quantity, a moment may be given, and a
kubelet's Summary may hold whatever it likes beside what is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from msgspec import inspect

from evictd.shell.configuration import KeyPath, bytes_of
from evictd.shell.configuration.document import Items, Mapping, Node, Scalar
from evictd.shell.configuration.lines import quantity_remedy
from evictd.shell.configuration.reading import NUMBER, Reading
from evictd.simulation.scenario import ObservationForm, SummaryForm, SummaryPod
from evictd_schemas.configuration import Configuration

FOREIGN = frozenset({SummaryForm, SummaryPod, ObservationForm})
"""Documents of others, pasted whole."""
AMOUNTS = (inspect.IntType, inspect.FloatType)
SETTINGS = frozenset(item.encode_name for item in msgspec.structs.fields(Configuration))


def expanded(node: Node) -> Node:
    """The same tree with its short forms written out: `signals`, `uses` and `asks`."""
    match node:
        case Items(place=place, items=items):
            return Items(place=place, items=tuple(expanded(item) for item in items))
        case Mapping(place=place, entries=entries):
            written = tuple((key, _written_out(key.text, value)) for key, value in entries)
            return Mapping(place=place, entries=written)
        case _:
            return node


def _written_out(name: str, value: Node) -> Node:
    if name in ("uses", "asks"):
        return _as_map(value, "memory")
    if name == "signals" and isinstance(value, Mapping):
        entries = tuple((key, _as_map(item, "available")) for key, item in value.entries)
        return Mapping(place=value.place, entries=entries)
    return expanded(value)


def _as_map(value: Node, name: str) -> Node:
    if not isinstance(value, Scalar) or value.is_null:
        return value
    key = Scalar(place=value.place, text=name, plain=True)
    return Mapping(place=value.place, entries=((key, value),))


@dataclass
class ScenarioReading(Reading):
    """One pass over the tree of a scenario."""

    pasted: bool = False
    """Inside a document of others, where a key that is not needed is passed over."""

    def _struct(self, node: Node, kind: inspect.StructType, path: KeyPath) -> Any:
        if kind.cls not in FOREIGN:
            return super()._struct(node, kind, path)
        before, self.pasted = self.pasted, True
        try:
            return super()._struct(node, kind, path)
        finally:
            self.pasted = before

    def _scalar(self, node: Node, kind: inspect.Type, path: KeyPath) -> Any:
        if not isinstance(node, Scalar) or node.is_null:
            return super()._scalar(node, kind, path)
        kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        if any(isinstance(item, AMOUNTS) for item in kinds) and not _is_text(kinds):
            return self._amount(node, kind, path)
        if any(isinstance(item, inspect.DateTimeType) for item in kinds):
            return self._moment(node, path)
        return super()._scalar(node, kind, path)

    def _amount(self, node: Scalar, kind: inspect.Type, path: KeyPath) -> Any:
        if node.plain and NUMBER.fullmatch(node.text):
            return super()._scalar(node, kind, path)
        amount = bytes_of(node.text)
        if amount is not None:
            return amount
        text = f"{node.text!r} is no amount{quantity_remedy(node.text)}"
        return self.complain(node.place, path, text)

    def _moment(self, node: Scalar, path: KeyPath) -> Any:
        try:
            msgspec.convert(node.text, datetime)
        except msgspec.ValidationError:
            text = f"{node.text!r} is no time; one is written like 2026-11-30T08:00:00Z"
            return self.complain(node.place, path, text)
        return node.text

    def _unknown(self, key: Scalar, path: KeyPath, fields: Sequence[str] | dict[str, Any]) -> None:
        if self.pasted:
            return
        if not path and key.text in SETTINGS:
            text = f"is a key of the configuration; did you mean configuration.{key.text}?"
            self.complain(key.place, (key.text,), text)
        else:
            super()._unknown(key, path, fields)


def _is_text(kinds: Sequence[inspect.Type]) -> bool:
    return any(isinstance(item, inspect.StrType) for item in kinds)
