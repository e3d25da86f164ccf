"""Names of Evictions: always a level of a topic, always free."""

from hypothesis import given
from hypothesis import strategies as st

from evictd.core.protocol.naming import eviction_name, next_number
from evictd.core.protocol.relevance import natural
from evictd_schemas.topics import segment_problem

pod_names = st.from_regex(r"[a-z0-9][-a-z0-9.]{0,250}[a-z0-9]?", fullmatch=True) | st.from_regex(
    "[ü☃😀]{1,63}", fullmatch=True
)


@given(pod_names, st.integers(1, 10**6))
def test_a_name_is_a_level_of_a_topic(pod_name: str, number: int) -> None:
    name = eviction_name(pod_name, number)
    assert segment_problem(name) is None
    assert name[-1] not in "-."


@given(pod_names, st.sets(st.integers(0, 50)))
def test_the_next_number_gives_a_name_that_is_free(pod_name: str, taken: set[int]) -> None:
    names = [eviction_name(pod_name, number) for number in taken]
    number = next_number(pod_name, names)
    assert number == 1 + max(taken, default=0)
    assert eviction_name(pod_name, number) not in names


def test_a_cut_name_counts_for_every_pod_whose_name_begins_like_it() -> None:
    first, second = "a" * 250 + "-b", "a" * 250 + "-c"
    assert next_number(second, [eviction_name(first, 4)]) == 5


def test_names_are_ordered_as_people_count() -> None:
    names = ["pod-10-web", "pod-9-web", "mine", "pod-9-db"]
    assert sorted(names, key=natural) == ["mine", "pod-9-db", "pod-9-web", "pod-10-web"]
