"""A machine that is only played by hand gets its eviction, from the first figure to the end of the
condition."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.processes import ROLES, Site, until
from tests.integration.stories.conftest import DEMO, TRANSITION_SECONDS, Hand, pod, uid

ROOT = f"evictd/v1/{DEMO}"
WEB = pod("web", uses_mib=512, request_mib=256)
DB = pod("db", uses_mib=2048, request_mib=256, critical=True)
CACHE = pod("cache", uses_mib=128, request_mib=512)
REQUESTS = f"{ROOT}/evictionrequests/evictd.io/node-pressure/shop/"
EVICTION = f"{ROOT}/evictions/shop/pod-1-web"


def condition(site: Site) -> Any:
    """MemoryPressure as it stands."""
    pressure = site.ear.now(f"{ROOT}/pressure") or {"conditions": [{}]}
    return pressure["conditions"][0]


def asked(site: Site) -> list[str]:
    """Which requests the decision names; it follows them."""
    decision = site.ear.now(f"{ROOT}/decision") or {}
    return list(decision.get("evictionRequests", []))


def memory_runs_short(site: Site, hand: Hand) -> None:
    """400 MiB are left, and everybody can see what follows and why."""
    site.publish(hand.topic, hand.observation(0, 400, WEB, DB, CACHE))
    until("a responder has its turn", lambda: site.ear.events(DEMO, "ResponderActive"))
    assert condition(site)["type"] == "MemoryPressure"
    assert condition(site)["status"] == "True"

    until("it is told why", lambda: asked(site))
    decision = site.ear.now(f"{ROOT}/decision")
    order = [(row["pod"]["name"], row["verdict"]) for row in decision["ranking"]]
    assert order == [("db", "Critical"), ("web", "Victim"), ("cache", "Candidate")]
    assert decision["rankingTotal"] == 3
    assert all(row["why"] for row in decision["ranking"])

    requests = site.ear.below(REQUESTS)
    ((name, request),) = ((t, r) for t, r in requests.items() if not t.endswith("/status"))
    assert request["spec"]["target"]["pod"] == {"name": "web", "uid": uid("web")}
    assert decision["evictionRequests"] == [name.removeprefix(f"{ROOT}/evictionrequests/")]
    evictions = site.ear.below(f"{ROOT}/evictions/")
    assert list(evictions) == [EVICTION]
    assert evictions[EVICTION]["spec"]["target"]["pod"]["uid"] == uid("web")
    responders = evictions[EVICTION]["status"]["targetResponders"]
    active = [entry["name"] for entry in responders if entry["state"] == "Active"]
    assert active == ["imperative-eviction.k8s.io/evictor"]
    assert len(site.ear.events(DEMO, "EvictionThresholdMet")) == 1
    assert len(site.ear.events(DEMO, "EvictionRequested")) == 1
    assert site.ear.events(DEMO, "Evicted") == []


def the_victim_goes(site: Site, hand: Hand) -> None:
    """One observation without it ends the eviction, and nobody else goes."""
    site.publish(hand.topic, hand.observation(10, 912, DB, CACHE))
    until("it is evicted", lambda: site.ear.events(DEMO, "Evicted"))
    (evicted,) = site.ear.events(DEMO, "Evicted")
    assert evicted["data"]["pod"] == {"namespace": "shop", "name": "web", "uid": uid("web")}
    assert evicted["data"]["node"] == DEMO
    assert evicted["data"]["signal"] == "memory.available"
    assert evicted["data"]["requesters"] == ["evictd.io/node-pressure"]


def the_condition_stays_for_a_while(site: Site, hand: Hand) -> None:
    """It clears only after the transition period, by the times of the observations."""
    heard = len(site.ear.messages)
    for seconds in (15, TRANSITION_SECONDS - 1):
        site.publish(hand.topic, hand.observation(seconds, 912, DB, CACHE))

    def judged(sequence: int) -> bool:
        return bool(site.ear.now(f"{ROOT}/decision")["sequence"] == sequence)

    until("the last one before is judged", lambda: judged(4))
    assert condition(site)["status"] == "True"
    site.publish(hand.topic, hand.observation(TRANSITION_SECONDS + 1, 912, DB, CACHE))
    until("it clears", lambda: condition(site)["status"] == "False")
    until("that is told", lambda: site.ear.events(DEMO, "NodeHasSufficientMemory"))
    (cleared,) = site.ear.events(DEMO, "NodeHasSufficientMemory")
    assert cleared["data"]["message"]
    until("the request is cleared", lambda: not site.ear.below(REQUESTS))
    reasons = {
        m.topic.rpartition("/")[2] for m in site.ear.messages[heard:] if "/events/" in m.topic
    }
    assert reasons == {"NodeHasSufficientMemory"}
    assert len(site.ear.events(DEMO, "Evicted")) == 1


@pytest.mark.parametrize("workers", [("up",), ROLES], ids=["joined", "separate"])
def test_the_whole_story(workers: tuple[str, ...], request: pytest.FixtureRequest) -> None:
    """In one process with a broker of its own, and in five on somebody else's."""
    site: Site = request.getfixturevalue("joined" if workers == ("up",) else "separate")
    hand = Hand()
    with site.running(*workers):
        memory_runs_short(site, hand)
        the_victim_goes(site, hand)
        the_condition_stays_for_a_while(site, hand)
