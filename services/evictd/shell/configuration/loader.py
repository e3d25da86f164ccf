"""Loading a configuration: file, environment and flags in one tree, read and checked as a whole."""

from collections.abc import Mapping as ByName
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import inspect

from evictd.shell.configuration import checks, layers
from evictd.shell.configuration.document import Mapping, Node, Scalar, content, parse
from evictd.shell.configuration.forms import Normal, flag_lines, normalised, signal_map
from evictd.shell.configuration.problems import (
    ConfigurationError,
    KeyPath,
    Place,
    Problem,
    in_order,
    unfollowing,
)
from evictd.shell.configuration.reading import Reading
from evictd_schemas.configuration import Configuration

NOTHING: ByName[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A configuration that passed every check, where each of its values came from, and warnings."""

    configuration: Configuration
    places: ByName[KeyPath, Place]
    warnings: tuple[Problem, ...] = ()


def load(
    file: Path | None,
    *,
    variables: ByName[str, str] = NOTHING,
    flags: ByName[str, str | None] = NOTHING,
    kubelet: bool = False,
) -> Loaded:
    """Load a file (None: no file) with environment and flags over it.

    `kubelet`: it is a kubelet's own file, whether it says so or not.
    Raises `ConfigurationError` with every problem, `InputError` for a file that cannot be read.
    """
    text = "" if file is None else content(file)
    source = str(file or "defaults")
    return load_text(text, source, variables=variables, flags=flags, kubelet=kubelet)


def load_text(
    text: str,
    source: str,
    *,
    variables: ByName[str, str] = NOTHING,
    flags: ByName[str, str | None] = NOTHING,
    kubelet: bool = False,
) -> Loaded:
    """The same for a text that is at hand; `source` is the file's name in problems."""
    tree = flag_lines(text, source, kubelet=kubelet) or parse(text, source)
    return load_tree(tree, variables, flags, kubelet=kubelet)


def load_tree(
    tree: Node,
    variables: ByName[str, str] = NOTHING,
    flags: ByName[str, str | None] = NOTHING,
    *,
    kubelet: bool = False,
) -> Loaded:
    """The same for a tree that is part of another file."""
    normal = normalised(tree, kubelet=kubelet)
    given, strangers = layers.environment(variables)
    root = layers.over(layers.over(_based(normal), given), layers.flags(flags))
    reading = Reading(lenient=normal.foreign)
    values = reading.read(root, inspect.type_info(Configuration), ())
    if values is msgspec.UNSET:
        raise ConfigurationError(in_order(reading.problems))
    configuration = msgspec.convert(values, Configuration)
    findings = checks.check(configuration, reading.places)
    warnings = in_order([*strangers, *unfollowing(findings.warnings, reading.problems)])
    if errors := in_order([*reading.problems, *unfollowing(findings.errors, reading.problems)]):
        raise ConfigurationError(errors, warnings)
    return Loaded(configuration=configuration, places=reading.places, warnings=tuple(warnings))


def _based(normal: Normal) -> Node:
    """The file's tree; signal maps may be written as flags, a kubelet's file is of its profile."""
    root = normal.root
    if not isinstance(root, Mapping):
        return root
    entries = [(key, signal_map(key.text, value)) for key, value in root.entries]
    if normal.foreign:
        place = Place(source="the form of the file")
        key, value = (Scalar(place=place, text=text, plain=True) for text in ("profile", "kubelet"))
        entries.append((key, value))
    return Mapping(place=root.place, entries=tuple(entries))
