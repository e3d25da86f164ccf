"""Words of strangers on topics that have one writer. [contract 1: one writer]"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.kernel import PARENT, Kernel, kernel
from tests.integration.processes import HOME, ROLES, Site, until
from tests.integration.stories.conftest import LINE_MIB, settings, uid

ROOT = f"evictd/v1/{HOME}"
DEFAULT = "imperative-eviction.k8s.io/evictor"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Kernel]:
    """Real workloads, and what the kernel says of them."""
    with kernel(tmp_path) as made:
        yield made


@pytest.fixture(params=["joined", "separate"])
def acting(request: Any, machine: Kernel, broker: Any, tmp_path: Path) -> Iterator[Site]:
    """A calm machine that would act."""
    machine.start("web")
    wanted = settings(
        mode="act",
        profile="kubelet",
        evictionHard={"memory.available": f"{LINE_MIB}Mi"},
        sources=machine.sources,
    )
    separate = request.param == "separate"
    site = Site(folder=tmp_path, settings=wanted, broker=broker.url if separate else None)
    with site.running(*(ROLES if separate else ("up",))):
        until("it decides", lambda: site.ear.now(f"{ROOT}/decision"))
        yield site


def ghost(site: Site) -> dict[str, Any]:
    """An Eviction as the controller would have written it, of the only workload."""
    (pod,) = site.ear.now(f"{ROOT}/observation")["pods"]
    chain = [{"name": DEFAULT, "priority": 100, "state": "Active"}]
    status = {"type": "Hard", "observedGeneration": 1, "targetResponders": chain}
    return {
        "metadata": {"namespace": PARENT, "name": "ghost", "uid": uid("ghost"), "generation": 1},
        "spec": {"target": {"pod": {"name": "web", "uid": pod["uid"]}}},
        "status": {**status, "responders": [{"name": DEFAULT, "startTime": pod_time(site)}]},
        "epoch": site.status("up" if "up" in site.processes else "controller")["epoch"] + 1,
        "rev": 1,
    }


def pod_time(site: Site) -> str:
    """When the workload was last seen."""
    return str(site.ear.now(f"{ROOT}/observation")["time"])


def test_an_eviction_that_the_controller_did_not_write_does_not_last(acting: Site) -> None:
    topic = f"{ROOT}/evictions/{PARENT}/ghost"
    for _ in range(2):
        acting.publish(topic, ghost(acting), retain=True)
        until("it is cleared", lambda: acting.ear.state.get(topic) == b"")


@pytest.mark.parametrize("acting", ["joined"], indirect=True)
def test_nobody_acts_on_it_where_the_controller_is_in_the_same_process(
    acting: Site, machine: Kernel
) -> None:
    """Separate processes need the broker's access list for that."""
    topic = f"{ROOT}/evictions/{PARENT}/ghost"
    acting.publish(topic, ghost(acting), retain=True)
    until("it is cleared", lambda: acting.ear.state.get(topic) == b"")
    looked = acting.ear.now(f"{ROOT}/observation")["sequence"]
    until("it looks again", lambda: acting.ear.now(f"{ROOT}/observation")["sequence"] > looked + 1)
    assert machine.workloads["web"].signals == 0
    assert acting.ear.below(f"{ROOT}/stopped/") == {}


@pytest.mark.parametrize("kind", ["orders/ghost", "orders/ghost/status", "stopped/shop/ghost"])
def test_nothing_else_of_a_stranger_stands_where_one_writer_is_ours(
    acting: Site, kind: str
) -> None:
    topic = f"{ROOT}/{kind}"
    acting.publish(topic, {"state": "Finished", "orderUid": uid("ghost")}, retain=True)
    until("it is cleared", lambda: acting.ear.state.get(topic) == b"")


@pytest.mark.parametrize(
    "epoch", [2**62 + 1, 2**63, 10**400], ids=["62 bits", "63 bits", "400 digits"]
)
@pytest.mark.parametrize("kind", ["pressure", "decision", "workers"])
def test_an_epoch_that_no_clock_counts_ends_nobody(site: Site, kind: str, epoch: int) -> None:
    """It is overwritten like anything else that is strange."""
    topic = f"{ROOT}/{kind}" if kind != "workers" else f"{ROOT}/workers/evictor"
    until("something stands there", lambda: site.ear.now(topic))
    theirs = {**site.ear.now(topic), "epoch": epoch}
    site.publish(topic, theirs, retain=True)
    until("it is overwritten", lambda: site.ear.now(topic)["epoch"] < 2**62)
    assert all(process.poll() is None for process in site.processes.values())


def test_rubbish_that_stood_there_before_hinders_no_start(fresh_site: Site) -> None:
    """A broker keeps it while evictd is away."""
    topics = [f"{ROOT}/{kind}" for kind in ("pressure", "decision", "workers/evictor")]
    until("all is there", lambda: all(fresh_site.ear.now(topic) for topic in topics))
    for worker in ("evaluator", "evictor"):
        fresh_site.kill(worker)
    for topic in topics:
        theirs = {**fresh_site.ear.now(topic), "epoch": 10**30, "status": "lost"}
        fresh_site.publish(topic, theirs, retain=True)
    for worker in ("evaluator", "evictor"):
        fresh_site.start(worker)
    for topic in topics:
        until("it is overwritten", lambda of=topic: fresh_site.ear.now(of)["epoch"] < 2**62)
    assert all(process.poll() is None for process in fresh_site.processes.values())
