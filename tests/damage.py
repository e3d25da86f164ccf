"""Texts as a broken, foreign or hostile machine may give them: whole ones, damaged in all ways."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hypothesis import strategies as st

WORDS = (
    "",
    "-1",
    "max",
    "9" * 23,
    "9" * 5_000,
    "18446744073709551615",
    "\u0663\u0664",
    "\u00b2",
    "1e999",
    "nan",
    "inf",
    "0x1f",
    "\0",
    "\x0c",
    "\u2028x",
    "=",
    ":",
    "/",
)
"""What may stand where a word was expected; many are digits to one test of Python's, and no number
to the next."""


DAMAGES_MAX = 600
"""Of one text; of a long one only every so manieth is tried."""


Write = Callable[[str, str], None]
"""Lays a file of that name and text."""


def laid(folder: Path, texts: Mapping[str, str]) -> Write:
    """All of these files in a folder, and a way to lay one anew."""

    def lay(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name, text in texts.items():
        lay(name, text)
    return lay


def damages(text: str) -> list[str]:
    """Single damages: cut anywhere, a line gone, twice, empty or in two, a word replaced."""
    every = list(_every(text))
    return every[:: max(1, len(every) // DAMAGES_MAX)]


def _every(text: str) -> Iterator[str]:
    for length in range(len(text)):
        yield text[:length]
    lines = text.split("\n")
    for index, line in enumerate(lines):
        for others in ((), (line, line), ("",), (line, "", line)):
            yield "\n".join((*lines[:index], *others, *lines[index + 1 :]))
        for changed in _line_damages(line):
            yield "\n".join((*lines[:index], changed, *lines[index + 1 :]))


def _line_damages(line: str) -> Iterator[str]:
    words = line.split(" ")
    for index in range(len(words)):
        yield " ".join((*words[:index], *words[index + 1 :]))
        for word in WORDS:
            yield " ".join((*words[:index], word, *words[index + 1 :]))
    for mark in "=:/":
        head, found, _ = line.partition(mark)
        if found:
            yield from (f"{head}{mark}{word}" for word in WORDS)


@st.composite
def ruins(draw: st.DrawFn, text: str) -> str:
    """Several damages in a row."""
    for _ in range(draw(st.integers(1, 4))):
        lines = text.split("\n")
        index = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(("cut", "gone", "twice", "word", "character"))):
            case "cut":
                text = text[: draw(st.integers(0, len(text)))]
            case "gone":
                text = "\n".join((*lines[:index], *lines[index + 1 :]))
            case "twice":
                text = "\n".join((*lines[:index], lines[index], *lines[index:]))
            case "word":
                words = lines[index].split(" ")
                words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(WORDS))
                text = "\n".join((*lines[:index], " ".join(words), *lines[index + 1 :]))
            case _:
                place = draw(st.integers(0, len(text)))
                character = draw(st.characters(exclude_categories=("Cs",)))
                text = text[:place] + character + text[place + 1 :]
    return text
