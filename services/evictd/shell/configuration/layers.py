"""The layers over the file: environment, then flags. [layout 4]

`EVICTD_` plus a key of the top level in capitals gives that key; with `_FILE` behind it, the
content of a file, so that a secret is in nobody's process list. Values are written as in the file;
signal maps as in the kubelet's flags, lists separated by commas. An empty variable gives nothing.
"""

from collections.abc import Mapping as Variables
from pathlib import Path

from msgspec import inspect

from evictd.core.errors import HostError
from evictd.shell.configuration.document import Items, Mapping, Node, Scalar, parse
from evictd.shell.configuration.forms import SEPARATORS, signal_map
from evictd.shell.configuration.problems import Place, Problem, meant
from evictd_schemas.configuration import Configuration

PREFIX = "EVICTD_"
FILE_SUFFIX = "_FILE"
OTHERS = (
    "EVICTD_CONFIG",
    "EVICTD_ENGINE_USER",
    "EVICTD_FOLDER",
    "EVICTD_IMAGE",
    "EVICTD_OOM_SCORE_ADJ",
    "EVICTD_PORT",
)
"""Variables of the command line and of the Compose files, which are no keys."""
SECRET_BYTES_MAX = 65_536
"""A value in a file is a line, not a document."""


def environment(variables: Variables[str, str]) -> tuple[Mapping, tuple[Problem, ...]]:
    """What the environment gives, and a warning for each variable of ours that is no key."""
    keys = {f"{PREFIX}{name.upper()}": name for name in _top_level()}
    entries: list[tuple[Scalar, Node]] = []
    warnings = []
    for variable, text in sorted(variables.items()):
        if not text or not variable.startswith(PREFIX) or variable in OTHERS:
            continue
        place = Place(source=f"environment {variable}")
        name = keys.get(variable)
        is_file = name is None and variable.endswith(FILE_SUFFIX)
        if is_file:
            name = keys.get(variable.removesuffix(FILE_SUFFIX))
        if name is None:
            warnings.append(Problem(place=place, path=(), text=f"is no key{meant(variable, keys)}"))
        else:
            entries.append(_entry(name, _content(text, variable) if is_file else text, place))
    return Mapping(place=Place(source="environment"), entries=tuple(entries)), tuple(warnings)


def flags(given: Variables[str, str | None]) -> Mapping:
    """What the command line gives, by key of the top level."""
    entries = tuple(
        _entry(name, text, Place(source=f"flag --{name}"))
        for name, text in given.items()
        if text is not None
    )
    return Mapping(place=Place(source="command line"), entries=entries)


def over(lower: Node, upper: Mapping) -> Node:
    """The lower layer with the keys of the upper one put in the place of its own."""
    if not isinstance(lower, Mapping):
        return lower
    replaced = {key.text for key, _ in upper.entries}
    kept = tuple(entry for entry in lower.entries if entry[0].text not in replaced)
    return Mapping(place=lower.place, entries=(*kept, *upper.entries))


def _entry(name: str, text: str, place: Place) -> tuple[Scalar, Node]:
    key = Scalar(place=place, text=name, plain=True)
    return key, _node(name, Scalar(place=place, text=text, plain=True))


def _node(name: str, scalar: Scalar) -> Node:
    kind = _top_level()[name]
    if name in SEPARATORS and "{" not in scalar.text:
        return signal_map(name, scalar)
    if kind == "list":
        texts = [part.strip() for part in scalar.text.split(",") if part.strip()]
        items = tuple(Scalar(place=scalar.place, text=text, plain=True) for text in texts)
        return Items(place=scalar.place, items=items)
    if kind == "document":
        return _placed(parse(scalar.text, scalar.place.source), scalar.place)
    return scalar


def _placed(node: Node, place: Place) -> Node:
    """A variable's text has lines and columns that nobody looks for."""
    match node:
        case Scalar(text=text, plain=plain):
            return Scalar(place=place, text=text, plain=plain)
        case Items(items=items):
            return Items(place=place, items=tuple(_placed(item, place) for item in items))
        case Mapping(entries=entries):
            placed = tuple(
                (Scalar(place=place, text=key.text, plain=key.plain), _placed(value, place))
                for key, value in entries
            )
            return Mapping(place=place, entries=placed)


def _content(name: str, variable: str) -> str:
    try:
        with Path(name).open(encoding="utf-8") as file:
            return file.read(SECRET_BYTES_MAX).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise HostError(f"environment {variable}: cannot read {name}: {error}") from error


def _top_level() -> dict[str, str]:
    """Keys of the top level and how each is written in one line: value, list or document."""
    information = inspect.type_info(Configuration)
    assert isinstance(information, inspect.StructType)  # noqa: S101 - Configuration is a Struct
    return {item.encode_name: _writing(item.type) for item in information.fields}


def _writing(kind: inspect.Type) -> str:
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    for item in kinds:
        if isinstance(item, inspect.VarTupleType):
            return "list" if isinstance(item.item_type, inspect.StrType) else "document"
        if isinstance(item, inspect.StructType | inspect.DictType):
            return "document"
    return "value"
