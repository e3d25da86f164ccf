"""Units of systemd as people list them: what is short for what, and what can be none."""

import pytest

from evictd.shell.configuration import ConfigurationError, load_text
from evictd.shell.configuration.units import patterns
from evictd_schemas.sources import SystemdSource


def test_what_has_no_kind_is_a_service_or_a_slice() -> None:
    """As for `systemctl`; patterns too."""
    source = SystemdSource(
        units=("web", "job@*", "run-*.scope", "web.example", "db.service"),
        slices=("batch", "low-*.slice"),
    )
    assert patterns(source) == (
        "web.service",
        "job@*.service",
        "run-*.scope",
        "web.example.service",
        "db.service",
        "batch.slice",
        "low-*.slice",
    )


@pytest.mark.parametrize(
    ("key", "pattern", "said"),
    [
        ("units", "web.socket", "'web.socket' is no service and no scope"),
        ("units", "multi-user.target", "'multi-user.target' is no service and no scope"),
        ("units", "batch.slice", "no scope; slices have a list of their own"),
        ("units", "/usr/bin/web", "'/usr/bin/web' is no name of a unit, and no pattern"),
        ("units", "a b", "is no name of a unit"),
        ("slices", "web.service", "'web.service' is no slice"),
        ("slices", "", "'' is no name of a unit"),
    ],
)
def test_what_holds_no_processes_is_refused_at_its_place(key: str, pattern: str, said: str) -> None:
    text = f'sources:\n  runtimes:\n    systemd:\n      {key}: [fine, "{pattern}"]\n'
    with pytest.raises(ConfigurationError) as caught:
        load_text(text, "f")
    (problem,) = caught.value.problems
    assert problem.path == ("sources", "runtimes", "systemd", key, 1)
    assert said in problem.text


def test_nothing_is_listed_unless_it_is_said() -> None:
    loaded = load_text("mode: observe\n", "f")
    assert loaded.configuration.sources.runtimes.systemd == SystemdSource()
