"""Other people's forms of the same settings, brought into ours with their places kept.

Taken: a `KubeletConfiguration`, the same inside an OpenShift `KubeletConfig`, `kubeletArguments`,
the `kubelet-arg` of K3s, and the kubelet's flags, one a line or many as on a command line.
[kubelet-eviction 3.2] Whatever else such a file holds is not for evictd and is passed over.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evictd.shell.configuration.document import Items, Mapping, Node, Scalar
from evictd.shell.configuration.problems import Place

FLAG_LINE = re.compile(r"\s*(?:--)?(eviction-[a-z-]+)(=)(.*?)\s*")
FLAG = re.compile(r"(?<![\w-])--(eviction-[a-z-]+)(?:=|[ \t]+)(\"[^\"]*\"|'[^']*'|[^\s\"']*)")
"""One of several flags in a line; a shell's quotes hold a value together."""
ELEMENTS = re.compile(r",(?![^()]*\))")
"""A comma between elements, and none inside `max(5%,100Mi)`."""
SEPARATORS = {
    "evictionHard": "<",
    "evictionSoft": "<",
    "evictionSoftGracePeriod": "=",
    "evictionMinimumReclaim": "=",
}
"""The signal maps, and what stands between signal and value in a flag."""


@dataclass(frozen=True, kw_only=True)
class Normal:
    """A tree in our own form. `foreign`: it is a kubelet's, most of which is not for us."""

    root: Node
    foreign: bool = False


def flag_lines(text: str, source: str, *, kubelet: bool = False) -> Mapping | None:
    """A file of nothing but flags, one a line or as on a command line.

    None when it is something else. `kubelet`: with other lines between them, as in a unit's file.
    """
    entries: list[tuple[Scalar, Node]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = list(FLAG.finditer(line))
        alone = FLAG_LINE.fullmatch(line) if len(found) < 2 else None
        if alone is None and not kubelet and not _is_command_line(line):
            return None
        entries += [
            _flag(match, Place(source=source, line=number, column=1))
            for match in ([alone] if alone is not None else found)
        ]
    return Mapping(place=entries[0][0].place, entries=tuple(entries)) if entries else None


def _is_command_line(line: str) -> bool:
    """Whether every word after the first is a flag's, as in `ExecStart=kubelet --v=2`."""
    return " --" in f" {line}" and not line.lstrip().startswith(("- ", "["))


def _flag(match: re.Match[str], start: Place) -> tuple[Scalar, Node]:
    """Name and value; the quotes around a value are a shell's."""
    name, value = match[1], match.groups()[-1]
    text = value.strip("\"'")
    column = match.start(match.lastindex or 0) + (len(value) - len(value.lstrip("\"'")))
    return (
        Scalar(place=start.shifted(match.start(1)), text=name, plain=True),
        Scalar(place=start.shifted(column), text=text, plain=True),
    )


def normalised(root: Node, *, kubelet: bool = False) -> Normal:
    """Ours as it is; a kubelet's form as ours. `kubelet`: a file without its type line too."""
    if not isinstance(root, Mapping):
        return Normal(root=root)
    wrapped = _inner(root, "spec", "kubeletConfig")
    if wrapped is not None:
        return Normal(root=_headless(wrapped), foreign=True)
    if (arguments := _inner(root, "kubeletArguments")) is not None:
        return Normal(root=_from_flags(arguments), foreign=True)
    if isinstance(words := root.get("kubelet-arg"), Items):
        return Normal(root=_from_flags(_named(words)), foreign=True)
    kind = root.get("kind")
    if isinstance(kind, Scalar) and kind.text == "KubeletConfiguration":
        return Normal(root=_headless(root), foreign=True)
    if root.entries and all(key.text.startswith("eviction-") for key, _ in root.entries):
        return Normal(root=_from_flags(root), foreign=True)
    return Normal(root=_headless(root) if kubelet else root, foreign=kubelet)


def signal_map(name: str, node: Node) -> Node:
    """A signal map that was written as a flag's text, as a map; anything else as it is."""
    if name not in SEPARATORS:
        return node
    parts = _parts(node)
    texts = [part for part in parts if isinstance(part, Scalar) and not part.is_null]
    if len(texts) != len(parts):
        return node
    last = {key.text: (key, value) for text in texts for key, value in _pairs(text, name)}
    return Mapping(place=node.place, entries=tuple(last.values()))


def _pairs(scalar: Scalar, name: str) -> Iterator[tuple[Scalar, Node]]:
    """The elements of one flag: blanks are cut, the first separator splits."""
    start = scalar.place.shifted(0 if scalar.plain else 1)
    offset = 0
    for element in ELEMENTS.split(scalar.text):
        signal, _, value = element.partition(SEPARATORS[name])
        if element.strip():
            yield (
                _part(start, offset, signal),
                _part(start, offset + len(signal) + 1, value),
            )
        offset += len(element) + 1


def _part(start: Place, offset: int, text: str) -> Scalar:
    blanks = len(text) - len(text.lstrip())
    return Scalar(place=start.shifted(offset + blanks), text=text.strip(), plain=bool(text.strip()))


def _inner(root: Mapping, *names: str) -> Mapping | None:
    node: Node | None = root
    for name in names:
        node = node.get(name) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else None


def _headless(mapping: Mapping) -> Mapping:
    """Without the type line that Kubernetes puts on every document."""
    entries = tuple(
        (key, value) for key, value in mapping.entries if key.text not in ("kind", "apiVersion")
    )
    return Mapping(place=mapping.place, entries=entries)


def _named(arguments: Items) -> Mapping:
    """`name=value` texts as keys and values."""
    entries: list[tuple[Scalar, Node]] = []
    for item in arguments.items:
        if isinstance(item, Scalar):
            name, _, value = item.text.partition("=")
            start = item.place.shifted(0 if item.plain else 1)
            key = Scalar(place=start, text=name.removeprefix("--"), plain=True)
            place = start.shifted(len(name) + 1)
            entries.append((key, Scalar(place=place, text=value, plain=True)))
    return Mapping(place=arguments.place, entries=tuple(entries))


def _together(mapping: Mapping) -> Iterator[tuple[Scalar, Node]]:
    """A map's flag that is there more than once adds up; any other that is there twice stays so."""
    uses: dict[str, list[tuple[Scalar, Node]]] = {}
    for key, value in mapping.entries:
        uses.setdefault(key.text, []).append((key, value))
    for name, found in uses.items():
        if len(found) > 1 and camel(name) in SEPARATORS:
            values = tuple(part for _, value in found for part in _parts(value))
            yield found[0][0], Items(place=found[0][1].place, items=values)
        else:
            yield from found


def _parts(value: Node) -> tuple[Node, ...]:
    return value.items if isinstance(value, Items) else (value,)


def _plain(value: Node) -> Node:
    """A flag's value is a text, quoted or not, whatever it is read as."""
    if not isinstance(value, Scalar):
        return value
    place = value.place.shifted(0 if value.plain else 1)
    return Scalar(place=place, text=value.text, plain=True)


def camel(flag: str) -> str:
    """`eviction-hard` as `evictionHard`."""
    first, *rest = flag.split("-")
    return first + "".join(word.capitalize() for word in rest)


def _from_flags(mapping: Mapping) -> Mapping:
    """`eviction-hard` as `evictionHard`, with its text taken apart."""
    entries = []
    for key, value in _together(mapping):
        name = camel(key.text)
        parts = _parts(value)
        single = _plain(parts[0]) if len(parts) == 1 else value
        renamed = Scalar(place=key.place, text=name, plain=key.plain)
        entries.append((renamed, signal_map(name, value if name in SEPARATORS else single)))
    return Mapping(place=mapping.place, entries=tuple(entries))
