"""Which nodes are decided for, and what becomes of strange words on evictd's own topics.

[contract 1, Order] [contract 2]
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.contract.conftest import Outsider, pod
from tests.integration.processes import ROLES, Site, until

WEB = pod("web", uses_mib=512, request_mib=256)
DECIDING = ("evaluator", "evictor", "controller")
NODES_MAX = 100


def refused(site: Site, worker: str) -> float:
    """What a worker says of itself now: whose status is overwritten states it again at once."""
    topic = f"{site.root}/workers/{worker}"
    site.publish(topic, b"nonsense", retain=True)
    until("it is stated again", lambda: site.ear.state[topic] != b"nonsense")
    return float(site.status(worker)["lag"].get(f"{worker} refused", 0))


def status_of(worker: str, status: str) -> dict[str, Any]:
    """What a worker of another machine says."""
    return {"worker": worker, "status": status, "epoch": 5, "connection": 1}


def test_collector_and_responder_serve_their_own_machine_only(site: Site) -> None:
    served = {role: site.status(role)["serves"] for role in ROLES}
    home, all_of_ours = [site.node], [site.node, "demo-*"]
    assert served == {role: all_of_ours if role in DECIDING else home for role in ROLES}


def test_a_node_that_no_pattern_names_is_not_served(site: Site) -> None:
    other, served = Outsider(site=site, node="elsewhere-1"), Outsider(site=site)
    for one in (other, served):
        one.observe(WEB, available_mib=400)
        one.request("move-web")
    served.await_evictions(1)
    assert set(site.ear.below("evictd/v1/elsewhere-1/")) == {
        other.topic("observation"),
        other.request_topic("move-web"),
    }


@pytest.mark.parametrize("status", ["init", "ready"])
@pytest.mark.parametrize("worker", ["evaluator", "all"])
def test_a_node_with_a_worker_of_its_own_is_left_to_it(
    outsider: Outsider, worker: str, status: str
) -> None:
    """Until that one is lost."""
    topic = outsider.topic("workers", worker)
    outsider.site.publish(topic, status_of(worker, status), retain=True)
    served = Outsider(site=outsider.site)
    for one in (outsider, served):
        one.observe(WEB)
    served.await_decision()
    assert outsider.site.ear.now(outsider.topic("pressure")) is None
    outsider.site.publish(topic, status_of(worker, "lost"), retain=True)
    outsider.observe(WEB)
    outsider.await_decision()


def test_a_greater_pair_on_a_foreign_node_is_left_its_node(outsider: Outsider) -> None:
    outsider.observe(WEB)
    outsider.await_decision()
    topic = outsider.topic("pressure")
    ours = outsider.site.ear.now(topic)
    theirs = {**ours, "epoch": ours["epoch"] + 10**6, "rev": 1}
    outsider.site.publish(topic, theirs, retain=True)
    outsider.observe(WEB, available_mib=400)
    served = Outsider(site=outsider.site)
    served.observe(WEB)
    served.await_decision()
    assert outsider.site.ear.now(topic) == theirs


@pytest.mark.parametrize("kind", ["pressure", "decision"])
def test_a_greater_pair_on_the_home_node_is_outdone(site: Site, kind: str) -> None:
    topic = f"{site.root}/{kind}"
    until("something stands there", lambda: site.ear.now(topic))
    ours = site.ear.now(topic)
    theirs = {**ours, "epoch": ours["epoch"] + 10**6}
    site.publish(topic, theirs, retain=True)
    until("it is outdone", lambda: site.ear.now(topic)["epoch"] > theirs["epoch"])
    assert site.ear.now(topic)["sequence"] >= ours["sequence"]


@pytest.mark.parametrize(
    "payload", [b"", b"nonsense", b'{"epoch": 1, "rev": 1}'], ids=["nothing", "nonsense", "old"]
)
@pytest.mark.parametrize("kind", ["pressure", "decision", "eviction", "status"])
def test_anything_else_strange_is_overwritten(
    outsider: Outsider, kind: str, payload: bytes
) -> None:
    outsider.observe(WEB)
    outsider.await_decision()
    outsider.request("move-web")
    outsider.await_eviction()
    topic = {
        "eviction": outsider.topic("evictions/shop/pod-1-web"),
        "status": f"{outsider.request_topic('move-web')}/status",
    }.get(kind, outsider.topic(kind))
    until("it is there", lambda: outsider.site.ear.state.get(topic))
    ours = outsider.site.ear.state[topic]
    outsider.site.publish(topic, payload, retain=True)
    until("it is overwritten", lambda: outsider.site.ear.state.get(topic) == ours)


def test_more_than_a_hundred_nodes_are_refused_and_counted(fresh_site: Site) -> None:
    """One whose observation is cleared makes room for another."""
    crowd = [Outsider(site=fresh_site) for _ in range(NODES_MAX + 1)]
    for one in crowd:
        one.observe(WEB)
    for worker in DECIDING:
        until(f"the {worker} counts it", lambda of=worker: refused(fresh_site, of) > 0)
    served = {one.node for one in crowd if fresh_site.ear.now(one.topic("decision"))}
    assert NODES_MAX - 1 <= len(served) <= NODES_MAX  # this machine is one, too
    for one in crowd[:2]:
        fresh_site.publish(one.topic("observation"), b"", retain=True)
        until("it is forgotten", lambda of=one: not fresh_site.ear.below(of.topic("")))
    newcomer = Outsider(site=fresh_site)
    newcomer.observe(WEB, available_mib=400)
    newcomer.await_eviction()
