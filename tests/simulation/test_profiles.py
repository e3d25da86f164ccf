"""The two profiles, switch by switch: the page about them is written from the code itself.

`pytest tests/simulation/test_profiles.py --update-golden` writes it again.
"""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import fill

import pytest
from msgspec import structs

from evictd.core import rules
from evictd.core.rules import HOST, KUBELET, Profile
from evictd.core.signals.thresholds import Part, Threshold
from evictd.shell.configuration.profiles import HOST_HARD, HOST_SOFT, KUBELET_HARD

PAGE = Path(__file__).parents[2] / "docs" / "profiles.md"
HEAD = """\
# The two profiles

`profile: kubelet` takes exactly the decisions of a kubelet, its oddities included. `profile: host`,
the default, differs from it only in the switches below and in its lines; each has its reason. This
page is written from the code: what it says is what runs.

## Switches
"""
LINES = """\
## Lines

What holds where `evictionHard` and `evictionSoft` are not given. `max(...)` is the greatest of
several values, `min(...)` the least. A stall signal is what is left of a hundred: `<60%` means that
everything waits for memory for more than 40% of the time.

"""


def texts() -> Iterator[tuple[str, str]]:
    """Every switch with the text below it."""
    module = ast.parse(inspect.getsource(rules))
    classes = (node for node in module.body if isinstance(node, ast.ClassDef))
    body = next(node for node in classes if node.name == Profile.__name__).body
    for step, after in pairwise([*body, ast.Pass()]):
        if isinstance(step, ast.AnnAssign):
            text = getattr(getattr(after, "value", None), "value", "")
            yield ast.unparse(step.target), " ".join(text.split())


def value_text(value: object) -> str:
    """A switch's value for people."""
    words = {True: "yes", False: "no"}
    if isinstance(value, bool):
        return words[value]
    return (
        "none" if value is None else f"{value:g}" if isinstance(value, int | float) else f"{value}"
    )


def part_text(part: Part) -> str:
    """A further condition."""
    return f"`{part.signal}<{part.value.text}`" + (" or no swap" if part.met_when_absent else "")


def line_text(line: Threshold) -> str:
    """One line of a list."""
    text = f"- {'hard' if line.hard else 'soft'}: `{line.signal}<{line.value.text}`"
    if line.all_of:
        text += " and " + " and ".join(map(part_text, line.all_of))
    if line.any_of:
        text += " and one of " + ", ".join(map(part_text, line.any_of))
    seconds = line.sustained_seconds or line.grace_seconds
    return fill(text + (f", for {seconds:g} s" if seconds else ""), 108, subsequent_indent="  ")


def document() -> str:
    """The whole page."""
    switches = [
        f"### `{name}`\n\nkubelet: {value_text(getattr(KUBELET, name))}; "
        f"host: {value_text(getattr(HOST, name))}\n\n{fill(text, 100)}\n"
        for name, text in texts()
    ]
    host = "\n".join(map(line_text, (*HOST_HARD, *HOST_SOFT)))
    kubelet = "\n".join(f"- hard: `{signal}<{text}`" for signal, text in KUBELET_HARD.items())
    lines = f"{LINES}Of a host:\n\n{host}\n\nOf a kubelet:\n\n{kubelet}\n"
    return "\n".join((HEAD, *switches, lines))


def test_every_switch_says_what_it_does_and_why() -> None:
    told = dict(texts())
    assert list(told) == [field.name for field in structs.fields(Profile)]
    assert all(text.endswith(".") for text in told.values())


def test_a_host_differs_in_every_switch_and_a_kubelet_in_none() -> None:
    """What differs nowhere would be no switch."""
    assert Profile() == KUBELET
    names = [field.name for field in structs.fields(Profile)]
    assert not [name for name in names if getattr(HOST, name) == getattr(KUBELET, name)]


def test_the_page_about_profiles_says_what_the_code_says(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(document())
    assert PAGE.read_text() == document()
