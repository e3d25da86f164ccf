"""`workloads:` as people write it: what is refused, what is odd, and what it comes to."""

import pytest

from evictd.runtimes.settings import WorkloadSettings
from evictd.runtimes.workloads import settings_of
from evictd.shell.configuration import ConfigurationError, load_text
from evictd_schemas import DeclaredResponder

HOOK = "responders:\n- {name: acme.io/hook, webhook: 'http://127.0.0.1:1/'}\n"
W = 'workloads["shop/web"]'
WORDS = "is neither a whole number nor one of low, normal, high"


def written(entry: str) -> str:
    return f"workloads:\n  shop/web: {entry}\n"


@pytest.mark.parametrize(
    ("priority", "number"),
    [("low", -1000), ("normal", 0), ("HIGH", 1000), ("7", 7), ("-7", -7), ('"7"', 7)],
)
def test_a_priority_is_a_number_or_a_word_for_one(priority: str, number: int) -> None:
    """As in a label."""
    configuration = load_text(written(f"{{priority: {priority}}}"), "f").configuration
    assert settings_of(configuration)("shop", "web") == WorkloadSettings(priority=number)


def test_names_of_what_it_needs_are_of_its_own_namespace_unless_they_say_otherwise() -> None:
    text = written("{dependsOn: [db, blog/cache], group: front, action: restart, enable: true}")
    settings = settings_of(load_text(text, "f").configuration)("shop", "web")
    assert settings == WorkloadSettings(
        depends_on=("shop/db", "blog/cache"), group="front", action="restart", enable=True
    )


def test_webhooks_are_known_for_every_workload_and_make_nobody_a_candidate() -> None:
    """Those that work in its namespace, with their priority."""
    text = (
        HOOK
        + "- {name: acme.io/far, webhook: 'http://127.0.0.1:2/', namespaces: [blog]}\n"
        + "- {name: acme.io/drain, command: ['true']}\n"
    )
    settings = settings_of(load_text(text, "f").configuration)("shop", "web")
    hook = DeclaredResponder(name="acme.io/hook", priority=10_000)
    assert settings == WorkloadSettings(named=False, webhooks=(hook,))


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{priority: urgent}", f"2:24: {W}.priority: 'urgent' {WORDS}"),
        (
            "{action: pause}",
            f"2:22: {W}.action: 'pause' is none of restart, stop, webhook",
        ),
        (
            "{restore: sometimes}",
            f"2:23: {W}.restore: 'sometimes' is none of auto, manual, never",
        ),
        (
            "{group: a/b}",
            (f"2:21: {W}.group: 'a/b' cannot be the word of a group: it holds one of / + #"),
        ),
        (
            "{dependsOn: [db, shop//db]}",
            (f"2:30: {W}.dependsOn[1]: 'shop//db' is neither a name nor a namespace/name"),
        ),
        (
            "{dependsOn: db}",
            f"2:25: {W}.dependsOn: one value where a list should be; one is written like [a, b]",
        ),
    ],
)
def test_what_no_workload_can_mean_is_refused_at_its_place(entry: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_text(written(entry), "f")
    assert [str(found) for found in caught.value.problems] == [f"f:{problem}"]


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        (
            written("{action: webhook}"),
            [
                (
                    f"f:2:22: {W}.action: nothing under responders: has a webhook,"
                    " so that only a hard eviction stops it"
                )
            ],
        ),
        (written("{action: webhook}") + HOOK, []),
        (
            written("{enable: false, protect: false}"),
            [f"f:2:38: {W}.protect: enable: false leaves it alone all the same"],
        ),
        (written("{enable: false, protect: true}"), []),
    ],
)
def test_what_would_not_do_what_it_seems_to_is_told(text: str, warnings: list[str]) -> None:
    assert [str(found) for found in load_text(text, "f").warnings] == warnings
