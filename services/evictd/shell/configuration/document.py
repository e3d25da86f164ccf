"""A YAML text as a tree that still knows its places. Scalars are those of YAML 1.2.

PyYAML itself keeps the last of two equal keys, reads `no` as false and `10:30` as 630; here a
scalar stays text until the type it is read as is known, and every key is kept for the reader.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

from evictd.core.errors import Bug, InputError
from evictd.shell.configuration.problems import ConfigurationError, Place, Problem

FILE_BYTES_MAX = 1 << 20
"""A configuration is written by people; a larger file is something else."""
NODES_MAX = 100_000
"""Aliases can make a short text endless."""
DEPTH_MAX = 32
"""Deeper than any key of ours, and far below the interpreter's own limit."""


TOO_DEEP = "nested too deeply or repeated too often"


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """A text; `plain` without quotes, so that it may also be a number, true, false or null."""

    place: Place
    text: str
    plain: bool

    @property
    def is_null(self) -> bool:
        """Nothing was given. [YAML 1.2.2, 10.3.2]"""
        return self.plain and self.text in ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, kw_only=True)
class Mapping:
    """Keys and values in the order of the file, equal keys included."""

    place: Place
    entries: tuple[tuple[Scalar, "Node"], ...]

    def get(self, name: str) -> "Node | None":
        """The first value under a key."""
        return next((value for key, value in self.entries if key.text == name), None)


@dataclass(frozen=True, kw_only=True)
class Items:
    """A sequence."""

    place: Place
    items: tuple["Node", ...]


Node: TypeAlias = Scalar | Mapping | Items


UNFIT = re.compile("[\0\ud800-\udfff]")
"""What YAML can write as an escape, and no path, no name and no message can hold."""
UNFIT_TEXT = "holds a NUL character or half of a surrogate pair, which no path and no name can"


class PlainLoader(yaml.SafeLoader):
    """Composes nodes and resolves no scalar."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own class attribute


def content(file: Path) -> str:
    """What a file holds, no more than `parse` needs to refuse it. Raises `InputError`."""
    try:
        with file.open("rb") as stream:
            return stream.read(FILE_BYTES_MAX + 1).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 (byte {error.start})") from error


def parse(text: str, source: str) -> Node:
    """The tree of one document. Raises `ConfigurationError` at the place that is no YAML."""
    if len(text.encode(errors="surrogatepass")) > FILE_BYTES_MAX:
        raise _refusal(source, None, f"larger than {FILE_BYTES_MAX} bytes; is this the right file?")
    try:
        loader = PlainLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _refusal(source, mark, _sentence(error)) from None
    except yaml.reader.ReaderError as error:
        sentence = f"character {error.character!r} is not allowed in YAML"
        raise _refusal(source, None, sentence) from None
    except RecursionError:
        raise _refusal(source, None, TOO_DEEP) from None
    if root is None:
        return Mapping(place=Place(source=source, line=1, column=1), entries=())
    return _Conversion(source).node(root, 0)


def _sentence(error: yaml.MarkedYAMLError) -> str:
    parts = (error.context, error.problem)
    return "not YAML: " + ", ".join(part for part in parts if part) + _remedy(error)


def _remedy(error: yaml.MarkedYAMLError) -> str:
    """What was probably meant, of the mistakes that people make."""
    if "alias" in f"{error.context} {error.problem}":
        return '; a name or a pattern that begins with * stands in quotes, such as "*-batch"'
    if "'\\t'" in (error.problem or ""):
        return "; YAML is indented by spaces, not by tabs"
    return ""


def _refusal(source: str, mark: yaml.Mark | None, text: str) -> ConfigurationError:
    return ConfigurationError([Problem(place=_place(source, mark), path=(), text=text)])


def _place(source: str, mark: yaml.Mark | None) -> Place:
    if mark is None:
        return Place(source=source)
    return Place(source=source, line=mark.line + 1, column=mark.column + 1)


class _Conversion:
    """From PyYAML's nodes to ours, with bounds."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._count = 0

    def node(self, node: yaml.Node, depth: int) -> Node:
        self._count += 1
        if depth > DEPTH_MAX or self._count > NODES_MAX:
            raise _refusal(self._source, node.start_mark, TOO_DEEP)
        place = _place(self._source, node.start_mark)
        match node:
            case yaml.MappingNode():
                return Mapping(place=place, entries=tuple(self._entries(node, depth)))
            case yaml.SequenceNode():
                items = tuple(self.node(item, depth + 1) for item in node.value)
                return Items(place=place, items=items)
            case yaml.ScalarNode() if UNFIT.search(node.value):
                raise _refusal(self._source, node.start_mark, UNFIT_TEXT)
            case yaml.ScalarNode():
                return Scalar(place=place, text=node.value, plain=node.style is None)
            case _:
                raise Bug(f"PyYAML composed a {type(node).__name__}")

    def _entries(self, node: yaml.MappingNode, depth: int) -> Iterator[tuple[Scalar, Node]]:
        for key, value in node.value:
            name = self.node(key, depth + 1)
            if not isinstance(name, Scalar):
                raise _refusal(self._source, key.start_mark, "a key must be one word")
            yield name, self.node(value, depth + 1)
