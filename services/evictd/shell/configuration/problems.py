"""Places and problems: every complaint names where it is, what is wrong and what was meant."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from evictd.core.errors import InputError

KeyPath = tuple[str | int, ...]
"""Keys and indices from the top of the configuration down to one value."""

Note = tuple[KeyPath, str]
"""A path in the configuration and what is to be said about it."""

SIMILARITY = 0.6
"""Share of equal letters from which a word counts as a misspelling of another; difflib's own."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where something was written: a file with line and column, a variable or a flag."""

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        if self.line is None:
            return self.source
        return f"{self.source}:{self.line}:{self.column}"

    def shifted(self, characters: int) -> "Place":
        """A place further on in the same line."""
        if self.column is None:
            return self
        return replace(self, column=self.column + characters)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong, or (as a warning) probably not meant."""

    place: Place
    path: KeyPath
    text: str

    def __str__(self) -> str:
        where = path_text(self.path)
        return f"{self.place}: {where}: {self.text}" if where else f"{self.place}: {self.text}"


class ConfigurationError(InputError):
    """Everything that is wrong with a configuration, one line each, and what else is odd in it."""

    def __init__(self, problems: Sequence[Problem], warnings: Sequence[Problem] = ()) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)


def named_once(key: str, names: Sequence[str], entries_max: int) -> Iterator[Note]:
    """Of a list of entries with names: it is not endless, and no name is there twice."""
    if len(names) > entries_max:
        yield (key,), f"more than {entries_max} entries"
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if (known := first.setdefault(name, index)) != index:
            yield (key, index, "name"), f"{name!r} is the name of {key}[{known}]"


def unfollowing(findings: Iterable[Problem], unread: Iterable[Problem]) -> list[Problem]:
    """Findings without those about what could not be read, or about what would have held it.

    A section whose only key is misspelt is not empty, and need not be told so.
    """
    paths = {problem.path for problem in unread}
    paths |= {path[:-1] for path in paths}
    return [finding for finding in findings if finding.path not in paths]


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """In the order of the file, each once; what has no line comes last."""
    unique = {str(problem): problem for problem in problems}
    return sorted(
        unique.values(),
        key=lambda problem: (
            problem.place.line is None,
            problem.place.line or 0,
            problem.place.column or 0,
        ),
    )


def nearest(places: Mapping[KeyPath, Place], path: KeyPath) -> Place | None:
    """Where a value was written, else what holds it; None where nothing of it was."""
    every = (places.get(path[:length]) for length in range(len(path), -1, -1))
    return next((place for place in every if place is not None), None)


def path_text(path: KeyPath) -> str:
    """`nodes[0].evictionHard.memory.available`; names with a slash or a star are quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif any(character in step for character in "/*?[ "):
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text


def meant(word: str, words: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing when no word is near."""
    by_folded = {known.casefold(): known for known in words}
    near = get_close_matches(word.casefold(), by_folded, n=1, cutoff=SIMILARITY)
    return f"; did you mean {by_folded[near[0]]}?" if near else ""
