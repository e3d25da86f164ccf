"""Reading a tree as a Struct: all problems at once, each at its place. It knows types, no rules.

Decoding by msgspec alone would stop at the first problem and know no line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from typing import Any

from msgspec import UNSET, inspect, structs

from evictd.shell.configuration.document import Items, Mapping, Node, Scalar
from evictd.shell.configuration.problems import KeyPath, Place, Problem, meant, path_text
from evictd_schemas.configuration import Configuration, Signals

INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
"""Fits 64 bits."""
NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
"""The only spellings of YAML 1.2."""
OLD_TRUTHS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
"""What YAML 1.1 took for them as well."""
LINES = ("evictionHard", "evictionSoft")
"""The sections whose values are lines. [field case B11: `enabled: false`]"""


@dataclass
class Reading:
    """One pass over a tree: the values found, where each came from, and what was wrong."""

    lenient: bool = False
    """True for a kubelet's own configuration, most of whose keys are not for us."""
    problems: list[Problem] = field(default_factory=list)
    places: dict[KeyPath, Place] = field(default_factory=dict)

    def read(self, node: Node, kind: inspect.Type, path: KeyPath) -> Any:
        """The value as builtins; `UNSET` where it was wrong or not given."""
        self.places[path] = node.place
        expected = _without_none(kind)
        if isinstance(node, Scalar) and node.is_null and expected is not kind:
            return None
        match expected:
            case inspect.StructType():
                return self._struct(node, expected, path)
            case inspect.DictType(value_type=value_type):
                return self._dict(node, value_type, path)
            case inspect.VarTupleType(item_type=item_type) | inspect.ListType(item_type=item_type):
                return self._items(node, item_type, path)
            case _:
                return self._scalar(node, expected, path)

    def complain(self, place: Place, path: KeyPath, text: str) -> Any:
        """Note a problem; the value counts as not given."""
        self.problems.append(Problem(place=place, path=path, text=text))
        return UNSET

    def _struct(self, node: Node, kind: inspect.StructType, path: KeyPath) -> Any:
        if not isinstance(node, Mapping):
            return self._wrong_shape(node, path, "keys with values")
        fields = {item.encode_name: item for item in kind.fields}
        values: dict[str, Any] = {}
        for key, value in self._unique(node, path):
            if key.text not in fields:
                self._unknown(key, path, fields)
            elif (read := self._entry(key, value, fields[key.text].type, path)) is not UNSET:
                values[key.text] = read
        missing = [name for name, item in fields.items() if item.required and name not in values]
        for name in missing:
            if node.get(name) is None:
                self.complain(node.place, (*path, name), "is missing")
        if not all(isinstance(fields[name].type, inspect.StrType) for name in missing):
            return UNSET
        # Nameless, so that the rest of it and its neighbours are judged all the same.
        return values | dict.fromkeys(missing, "")

    def _entry(self, key: Scalar, value: Node, kind: inspect.Type, path: KeyPath) -> Any:
        """One value of a mapping; what is about the whole of a section is said at its key."""
        read = self.read(value, kind, (*path, key.text))
        if read is None and key.text in signal_names():
            return self.complain(value.place, (*path, key.text), "has no value")
        if not isinstance(value, Scalar):
            self.places[*path, key.text] = key.place
        return read

    def _dict(self, node: Node, value_type: inspect.Type, path: KeyPath) -> Any:
        if not isinstance(node, Mapping):
            return self._wrong_shape(node, path, "names with values")
        read = {
            key.text: self._entry(key, value, value_type, path)
            for key, value in self._unique(node, path)
        }
        return {name: value for name, value in read.items() if value is not UNSET}

    def _items(self, node: Node, item_type: inspect.Type, path: KeyPath) -> Any:
        if not isinstance(node, Items):
            return self._wrong_shape(node, path, "a list")
        read = [self.read(item, item_type, (*path, index)) for index, item in enumerate(node.items)]
        return UNSET if UNSET in read else read

    def _scalar(self, node: Node, kind: inspect.Type, path: KeyPath) -> Any:
        if not isinstance(node, Scalar):
            return self._wrong_shape(node, path, "one value")
        if node.is_null:
            return self.complain(node.place, path, "has no value")
        value = _value(node, kind)
        if value is not UNSET:
            return value
        return self.complain(node.place, path, f"{node.text!r} is {_expected(kind, node.text)}")

    def _wrong_shape(self, node: Node, path: KeyPath, wanted: str) -> Any:
        found = {Scalar: "one value", Mapping: "keys with values", Items: "a list"}[type(node)]
        is_line = len(path) > 1 and path[-2] in LINES
        remedy = "; 0% switches the signal off" if is_line else ""
        if isinstance(node, Scalar) and wanted == "a list":
            remedy = "; one is written like [a, b]"
        return self.complain(node.place, path, f"{found} where {wanted} should be{remedy}")

    def _unique(self, node: Mapping, path: KeyPath) -> Iterator[tuple[Scalar, Node]]:
        first: dict[str, Place] = {}
        for key, value in node.entries:
            if key.text not in first:
                first[key.text] = key.place
                yield key, value
                continue
            earlier = first[key.text]
            text = f"is here twice, first in line {earlier.line}; which one is meant?"
            self.complain(key.place, (*path, key.text), text)

    def _unknown(self, key: Scalar, path: KeyPath, fields: Sequence[str] | dict[str, Any]) -> None:
        is_foreign = self.lenient and not path and not key.text.lower().startswith("eviction")
        if is_foreign and key.text not in signal_names():
            return
        text = _elsewhere(key.text, path) or f"is no key here{meant(key.text, fields)}"
        self.complain(key.place, (*path, key.text), text)


def _without_none(kind: inspect.Type) -> inspect.Type:
    """The type of a value that may also be absent."""
    if isinstance(kind, inspect.Metadata):
        return _without_none(kind.type)
    if isinstance(kind, inspect.UnionType):
        others = [item for item in kind.types if not isinstance(item, inspect.NoneType)]
        if len(others) == 1:
            return _without_none(others[0])
    return kind


def _value(scalar: Scalar, kind: inspect.Type) -> Any:
    """A scalar as the type wants it, or `UNSET`."""
    text, plain = scalar.text, scalar.plain
    match kind:
        case inspect.StrType():
            return text
        case inspect.BoolType() if plain:
            return TRUTHS.get(text, UNSET)
        case inspect.IntType() if plain and INTEGER.fullmatch(text):
            return int(text)
        case inspect.FloatType() if plain and NUMBER.fullmatch(text) and isfinite(float(text)):
            return float(text)
        case inspect.UnionType(types=types):
            tried = (_value(scalar, item) for item in types)
            return next((value for value in tried if value is not UNSET), UNSET)
        case inspect.LiteralType(values=values) if text in values:
            return text
        case inspect.EnumType(cls=cls):
            return text if text in [member.value for member in cls] else UNSET
    return UNSET


def _expected(kind: inspect.Type, text: str) -> str:
    """What a value is not, and which right one is near it."""
    match kind:
        case inspect.BoolType():
            old = OLD_TRUTHS.get(text.lower())
            return "not true or false" + (f"; did you mean {old}?" if old else "")
        case inspect.IntType():
            return "not a whole number"
        case inspect.FloatType():
            return "not a number"
        case inspect.LiteralType(values=values):
            words = [str(value) for value in values]
            return f"none of {', '.join(words)}{meant(text, words)}"
        case inspect.EnumType(cls=cls):
            words = [str(member.value) for member in cls]
            return f"none of {', '.join(words)}{meant(text, words)}"
    return "not of the right kind"


def _elsewhere(name: str, path: KeyPath) -> str | None:
    """Whether a key that is unknown here is known at another level. [field case B6]"""
    if name in signal_names():
        return f"{name} is a signal; did you mean evictionHard?"
    homes = [home for home in _homes().get(name, ()) if home != path]
    if not homes:
        return None
    if not homes[0]:
        return "is a key of the top level; is it indented too far?"
    home = path_text(homes[0])
    return f"is a key of {home}; did you mean {path_text((*homes[0], name))}?"


@cache
def signal_names() -> tuple[str, ...]:
    """Every signal that can be configured."""
    return tuple(item.encode_name for item in structs.fields(Signals))


@cache
def _homes() -> dict[str, list[KeyPath]]:
    """Key to the paths of the sections that have it, the highest first."""
    homes: dict[str, list[KeyPath]] = {}
    waiting: list[tuple[KeyPath, inspect.Type]] = [((), inspect.type_info(Configuration))]
    while waiting:
        path, kind = waiting.pop(0)
        match kind:
            case inspect.VarTupleType(item_type=item_type):
                waiting.append(((*path, "*"), item_type))
            case inspect.DictType(value_type=value_type):
                waiting.append(((*path, "*"), value_type))
            case inspect.StructType(fields=fields):
                for item in fields:
                    homes.setdefault(item.encode_name, []).append(path)
                    waiting.append(((*path, item.encode_name), _without_none(item.type)))
    return homes
