"""Where a workload is asked about its own eviction: topics of its own, written as templates.

`plant/{namespace}/{name}/evict` is one topic for each workload, and one filter for all of them.
Nothing that a template is filled with adds a level or a wildcard, and none leads below `evictd/`,
where each topic has its one writer. It knows nothing of what is said there.
"""

from collections.abc import Mapping
from string import Formatter

from msgspec import Struct

from evictd_schemas.topics import is_outside, segment_problem

PLACEHOLDERS = ("namespace", "name", "node")
TEMPLATE_BYTES_MAX = 1_000
"""With every placeholder filled it stays far below MQTT's 65,535 bytes of a topic."""
LEVELS_MAX = 50
"""Brokers refuse topics of hundreds of levels; Mosquitto's own limit is 200."""


class Exchange(Struct, frozen=True, kw_only=True):
    """The templates of the topic on which a workload is asked and of that on which it answers."""

    question: str
    answer: str


def template_problem(text: str) -> str | None:
    """Why a text cannot be such a template, with the remedy; None where it can."""
    if not text or text.startswith("/") or text.endswith("/") or "//" in text:
        return "it has an empty level"
    if len(text.encode(errors="surrogatepass")) > TEMPLATE_BYTES_MAX:
        return f"it is longer than {TEMPLATE_BYTES_MAX} bytes"
    if text.count("/") >= LEVELS_MAX:
        return f"it has more than {LEVELS_MAX} levels"
    if "+" in text or "#" in text:
        return "it holds + or #, and a question is put on one topic"
    if any(character.isspace() or not character.isprintable() for character in text):
        return "it holds a blank or a control character"
    if text.startswith("$"):
        return "it begins with $, which is the broker's own"
    return _placeholder_problem(text) or _level_problem(text)


def filled(template: str, values: Mapping[str, str]) -> str:
    """The topic of one workload; `values` has each of `PLACEHOLDERS`.

    Raises `ValueError` for a value that cannot stand in one level of a topic.
    """
    for value in values.values():
        if (problem := segment_problem(value)) is not None:
            raise ValueError(f"{value!r} cannot be in a level of a topic: {problem}")
    return template.format(**values)


def filter_of(template: str) -> str:
    """The filter for the topics of all workloads."""
    return "/".join("+" if "{" in level else level for level in template.split("/"))


def may_meet(one: str, other: str) -> bool:
    """Whether the filters of two templates take a topic in common: logins are given filters."""
    levels, others = filter_of(one).split("/"), filter_of(other).split("/")
    return len(levels) == len(others) and all(
        level == another or "+" in (level, another)
        for level, another in zip(levels, others, strict=True)
    )


def _placeholder_problem(text: str) -> str | None:
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        return f"it holds a brace that belongs to none of {known}"
    for literal, name, form, conversion in parts:
        if "{" in literal or "}" in literal:
            return f"it holds a brace that belongs to none of {known}"
        if name is not None and (name not in PLACEHOLDERS or form or conversion):
            return f"it knows no {{{name}}}; what can be filled in is {known}"
    return None


def _level_problem(text: str) -> str | None:
    first, *others = text.split("/")
    if any(level.count("{") > 1 for level in others):
        return "two are filled into one level, where names could meet: put a / between them"
    if "{" in first:
        return "its first level is filled in, and must be a word such as plant/{name}"
    if not is_outside(text):
        return "it is evictd's own; take one outside evictd/, such as plant/{name}/evict"
    return None
