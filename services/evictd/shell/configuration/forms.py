"""Other people's forms of the same settings, brought into ours with their places kept.

Taken: a `KubeletConfiguration`, the same inside an OpenShift `KubeletConfig`, `kubeletArguments`,
and the kubelet's flags one a line. [kubelet-eviction 3.2] Whatever else such a file holds is not
for evictd and is passed over.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evictd.shell.configuration.document import Items, Mapping, Node, Scalar
from evictd.shell.configuration.problems import Place

FLAG_LINE = re.compile(r"\s*(?:--)?(eviction-[a-z-]+)(=)(.*?)\s*")
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


def flag_lines(text: str, source: str) -> Mapping | None:
    """A file of nothing but flags, one a line; None when it is something else."""
    entries: list[tuple[Scalar, Node]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if (found := FLAG_LINE.fullmatch(line)) is None:
            return None
        key, value = (
            Scalar(
                place=Place(source=source, line=number, column=found.start(group) + 1),
                text=found[group],
                plain=True,
            )
            for group in (1, 3)
        )
        entries.append((key, value))
    return Mapping(place=entries[0][0].place, entries=tuple(entries)) if entries else None


def normalised(root: Node) -> Normal:
    """Ours as it is; a kubelet's form as ours."""
    if not isinstance(root, Mapping):
        return Normal(root=root)
    wrapped = _inner(root, "spec", "kubeletConfig")
    if wrapped is not None:
        return Normal(root=_headless(wrapped), foreign=True)
    if (arguments := _inner(root, "kubeletArguments")) is not None:
        return Normal(root=_from_flags(arguments), foreign=True)
    kind = root.get("kind")
    if isinstance(kind, Scalar) and kind.text == "KubeletConfiguration":
        return Normal(root=_headless(root), foreign=True)
    if root.entries and all(key.text.startswith("eviction-") for key, _ in root.entries):
        return Normal(root=_from_flags(root), foreign=True)
    return Normal(root=root)


def signal_map(name: str, node: Node) -> Node:
    """A signal map that was written as a flag's text, as a map; anything else as it is."""
    if name not in SEPARATORS:
        return node
    parts = node.items if isinstance(node, Items) else (node,)
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


def _from_flags(mapping: Mapping) -> Mapping:
    """`eviction-hard` as `evictionHard`, with its text taken apart."""
    entries = []
    for key, value in mapping.entries:
        first, *rest = key.text.split("-")
        name = first + "".join(word.capitalize() for word in rest)
        single = value.items[0] if isinstance(value, Items) and len(value.items) == 1 else value
        renamed = Scalar(place=key.place, text=name, plain=key.plain)
        entries.append((renamed, signal_map(name, value if name in SEPARATORS else single)))
    return Mapping(place=mapping.place, entries=tuple(entries))
