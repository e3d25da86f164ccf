"""What is in force for a node, value by value, and where each came from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from evictd.core.wording import SECRET, without_logins
from evictd.shell.configuration.compile import override_of, served_patterns, settings_of
from evictd.shell.configuration.defaults import OWNED, complete, state_folder
from evictd.shell.configuration.lines import default_texts, takes_defaults, texts
from evictd.shell.configuration.loader import Loaded
from evictd.shell.configuration.problems import KeyPath, path_text
from evictd_schemas.configuration import Configuration, NodeSettings


@dataclass(frozen=True, kw_only=True)
class Row:
    """One value in force: `path` as it is written in problems, `origin` as people find it."""

    path: str
    value: str
    origin: str


def rows(loaded: Loaded, node: str) -> Iterator[Row]:
    """Everything in force for a node, in the order of the documentation."""
    settings = settings_of(loaded.configuration, node)
    default = f"default of profile {complete(settings).profile}"
    for path, value in _node_values(settings):
        yield _row(path, value, _origin(loaded, node, path) or default)
    for path, value in _process_values(loaded.configuration, node):
        yield _row(path, value, _origin(loaded, node, path) or "default")


def _node_values(settings: NodeSettings) -> Iterator[tuple[KeyPath, Any]]:
    given = texts(settings.eviction_hard)
    defaults = default_texts(settings) if takes_defaults(settings) else {}
    values = msgspec.to_builtins(complete(settings))
    values["evictionHard"] = {**defaults, **given}
    for name in (item.encode_name for item in msgspec.structs.fields(NodeSettings)):
        if name in values:
            yield from _leaves((name,), values[name])


def _process_values(configuration: Configuration, node: str) -> Iterator[tuple[KeyPath, Any]]:
    own = {item.encode_name for item in msgspec.structs.fields(NodeSettings)}
    given = {
        name: value for name, value in msgspec.to_builtins(configuration).items() if name not in own
    }
    if "brokerPassword" in given:
        given["brokerPassword"] = SECRET
    defaults = {
        "node": node,
        "serve": list(served_patterns(configuration)),
        "broker": OWNED,
        "stateFolder": str(state_folder()),
    }
    given.pop("nodes", None)
    for name, value in {**defaults, **given}.items():
        yield from _leaves((name,), value)


def _leaves(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves((*path, name), inner)
    else:
        yield path, value


def _origin(loaded: Loaded, node: str, path: KeyPath) -> str | None:
    """The place where a value was written; that of what holds it, if it has none of its own."""
    entry = override_of(loaded.configuration, node)
    paths = [path]
    if entry is not None and path[0] in msgspec.to_builtins(entry):
        paths.insert(0, ("nodes", loaded.configuration.nodes.index(entry), *path))
    place = next((loaded.places[item] for item in paths if item in loaded.places), None)
    return None if place is None else str(place)


def _row(path: KeyPath, value: Any, origin: str) -> Row:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return Row(path=path_text(path), value=without_logins(text), origin=origin)
