"""Names at their limits, and what cannot be a name at all. [contract 1]"""

from __future__ import annotations

import pytest
from tests.integration.contract.conftest import Outsider, pod, uid
from tests.integration.processes import Site


def long_name(character: str) -> str:
    """As many as 253 bytes hold."""
    return character * (253 // len(character.encode()))


@pytest.mark.parametrize("character", ["w", "ü", "☃", "😀"])
def test_a_pod_with_the_longest_name_is_evicted_like_any_other(
    outsider: Outsider, character: str
) -> None:
    """A level of a topic has 253 bytes, whatever its characters are."""
    name = long_name(character)
    outsider.observe(pod(name, uses_mib=512, request_mib=256), available_mib=400)
    eviction = outsider.await_eviction()
    assert eviction["spec"]["target"]["pod"]["name"] == name
    outsider.observe()
    assert outsider.await_gone()["data"]["pod"]["name"] == name


def test_two_long_names_that_begin_alike_get_an_eviction_each(outsider: Outsider) -> None:
    first, second = "😀" * 62 + "a", "😀" * 62 + "b"
    for name, life in ((first, uid("first")), (second, uid("second"))):
        listed = {**pod(name, uses_mib=9, request_mib=9), "uid": life}
        outsider.observe(listed, podsComplete=False)
        outsider.request(f"move-{name[-1]}", target={"pod": {"name": name, "uid": life}})
    outsider.await_evictions(2)
    targets = {item["spec"]["target"]["pod"]["name"] for item in outsider.evictions()}
    assert targets == {first, second}


@pytest.mark.parametrize(
    "name", ["", "w" * 254, "😀" * 64, "a b", "a\u00a0b", "a+b", "a#b", "a/b", "$a", "a\x01b"]
)
def test_what_cannot_be_a_level_of_a_topic_is_no_name(outsider: Outsider, name: str) -> None:
    outsider.observe({**pod("web", uses_mib=1, request_mib=1), "name": name}, available_mib=400)
    assert outsider.await_rejection() == [("evaluator", "pods[0].name")]


@pytest.mark.parametrize(
    "node",
    ["demo-" + "n" * 249, "demo-a\u00a0b", "demo-" + "😀" * 63],
    ids=["long", "blank", "long in bytes"],
)
def test_what_cannot_be_a_node_is_nobodys_and_harms_nobody(site: Site, node: str) -> None:
    """Nothing can be answered below it either."""
    stray, other = Outsider(site=site, node=node), Outsider(site=site)
    stray.observe(pod("web", uses_mib=9, request_mib=9), available_mib=400)
    stray.request("move-web")
    other.observe(pod("web", uses_mib=9, request_mib=9), available_mib=400)
    other.await_eviction()
    assert all(process.poll() is None for process in site.processes.values())
    said = set(site.ear.below(f"evictd/v1/{node}/"))
    assert said == {stray.topic("observation"), stray.request_topic("move-web")}
