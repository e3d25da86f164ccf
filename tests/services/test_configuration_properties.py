"""Whatever is written down, the loader answers: a configuration or problems, nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from evictd.shell.configuration import ConfigurationError, load_text, rules_of
from evictd.shell.configuration.forms import SEPARATORS
from evictd.shell.configuration.reading import signal_names

WORDS = st.sampled_from(
    [
        *SEPARATORS,
        *signal_names()[:4],
        *("mode", "nodes", "match", "sources", "workloads", "request", "memory", "kind", "spec"),
        *("act", "500Mi", "10%", "~", "true", "'", '"', "{", "}", "[", "]", ":", ",", "-", "\n"),
        *(" ", "  ", "&a", "*a", "!!python/object:os.system", "<", "=", "#", "0", "\t", "9" * 5000),
        "KubeletConfiguration",
    ]
)  # fmt: skip


def answered(text: str) -> bool:
    """Whether the loader took it or told what is wrong, with a place for each problem."""
    try:
        loaded = load_text(text, "f")
    except ConfigurationError as error:
        return bool(error.problems) and all(str(problem) for problem in error.problems)
    return rules_of(loaded.configuration, "here").node == "here"


@given(st.text(max_size=60))
def test_any_text_is_answered(text: str) -> None:
    assert answered(text)


@given(st.lists(WORDS, max_size=25))
def test_any_heap_of_our_own_words_is_answered(words: list[str]) -> None:
    assert answered("".join(words))


@given(
    st.dictionaries(
        st.sampled_from(signal_names()),
        st.text(alphabet="0123456789%KMGimks.-+e ", max_size=8),
        max_size=5,
    ),
    st.sampled_from(sorted(SEPARATORS)),
    st.sampled_from(["host", "kubelet"]),
)
def test_any_value_of_a_signal_is_answered(
    signals: dict[str, str], name: str, profile: str
) -> None:
    lines = "".join(f"  {signal}: '{text}'\n" for signal, text in signals.items())
    assert answered(f"profile: {profile}\n{name}:\n{lines}")


def test_brackets_without_end_are_answered() -> None:
    assert answered("[" * 100_000)
    assert answered("{a: " * 10_000)
