"""Each boot of the guest once, however many tests ask what it told. [boots]"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.guest.boots import BOOTS
from tests.guest.machine import Guest, Told, collected
from tests.lab.conftest import capped_cgroup  # noqa: F401  # for the stories
from tests.lab.patience import PATIENCE

from evictd.runtimes.docker import engine, runtime

HEARD = pytest.StashKey[dict[str, Told]]()
ENGINE_DEADLINES = (
    (engine, "LIST_SECONDS"),
    (engine, "INSPECT_SECONDS"),
    (engine, "STATISTICS_SECONDS"),
    (runtime, "CONFIRM_SECONDS"),
)
SLOWEST = 6
"""Stories of each boot of which the time is shown."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each story, named as in the guest."""
    if "story" in metafunc.fixturenames:
        pairs = [(boot, story) for boot in BOOTS for story in collected(BOOTS[boot])]
        names = [f"{boot}-{story}" for boot, story in pairs]
        metafunc.parametrize(("boot", "story"), pairs, ids=names)


@pytest.fixture
def patient_with_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """For stories: evictd's own deadlines are for a machine of which not everything is emulated."""
    for module, name in ENGINE_DEADLINES:
        monkeypatch.setattr(module, name, getattr(module, name) * PATIENCE)


@pytest.fixture(scope="session")
def guests(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Guest]]:
    """Every boot of which a test asks, with the stories that are asked for.

    All at once: a story waits more than it works.
    """
    wanted: dict[str, list[str]] = {}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and "told" in item.fixturenames:
            wanted.setdefault(item.callspec.params["boot"], []).append(
                item.callspec.params["story"]
            )
    started: dict[str, Guest] = {}
    try:
        for name, stories in wanted.items():
            started[name] = Guest(BOOTS[name], stories, tmp_path_factory.mktemp(name))
        yield started
    finally:
        for guest in started.values():
            guest.end()


@pytest.fixture(scope="session")
def told(guests: dict[str, Guest], request: pytest.FixtureRequest) -> Callable[[str], Told]:
    """What a boot told; the first to ask waits for its end."""
    heard = request.config.stash.setdefault(HEARD, {})

    def waited(name: str) -> Told:
        if name not in heard:
            heard[name] = guests[name].told()
        return heard[name]

    return waited


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What took how long in the guests, which pytest here cannot know."""
    for name, told in terminalreporter.config.stash.get(HEARD, {}).items():
        terminalreporter.section(f"guest {name}")
        for line in told.figures(SLOWEST):
            terminalreporter.write_line(line)
