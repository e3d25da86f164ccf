"""Values at the ends of their types, wherever an outsider may write: taken or answered, and
everybody lives. [contract 1, Rejection]"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.contract.conftest import MOVER, Outsider, pod, uid
from tests.integration.processes import until

TIMES = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")
NUMBERS = (2**63 - 1, -(2**63), 10**400, 1e308, 0, -1)
WEB = pod("web", uses_mib=512, request_mib=256)


def extremes(time: str, number: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of each kind below a node, one message."""
    target = {"pod": {"name": "web", "uid": uid("web")}}
    hard = {"type": "SoftWithDeadline", "deadlineSeconds": number, "gracePeriodSeconds": number}
    spec = {"target": target, "requester": MOVER, "intent": "Eviction", **hard}
    metadata = {"generation": number, "creationTimestamp": time}
    yield f"evictionrequests/{MOVER}/shop/odd", {"spec": spec, "metadata": metadata}
    yield "wishes/acme.io/ann/odd", {"verb": "Hold", "target": "shop/web", "until": time}
    fall = {"attempts": number, "lastUsage": number, "nextTryTime": time, "dependsOn": ["shop/db"]}
    yield "stopped/shop/db", {"uid": uid("db"), "time": time, **fall}
    step = {"step": "images", "freedBytes": number, "freedInodes": number}
    finished = {"bootId": "b", "uptimeSeconds": number, "time": time}
    state = {"orderUid": uid("order"), "state": "Finished", "steps": [step]}
    yield "orders/reclaim/status", {**state, "finished": finished}
    silence = {"heartbeatSeconds": number, "startDeadlineSeconds": number}
    ready = {"status": "ready", "epoch": number, "connection": number, "priority": number}
    yield "responders/acme.io/drain", {**ready, **silence}
    report = {"evictionUid": uid("eviction"), "expectedCompletionTime": time}
    yield "evictions/shop/pod-1-web/responders/acme.io/drain", {**report, "heartbeatTime": time}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{float(str(number)[:5]):g}")
@pytest.mark.parametrize("time", TIMES, ids=["first", "last"])
def test_nobody_ends_by_an_extreme_value(outsider: Outsider, time: str, number: float) -> None:
    outsider.observe(WEB)
    outsider.await_decision()
    for topic, content in extremes(time, number):
        outsider.site.publish(outsider.topic(topic), content, retain=True)
    signal = {"available": number, "capacity": number, "time": time}
    outsider.observe(WEB, signals={"memory.available": signal}, time=time, uptimeSeconds=number)
    served = Outsider(site=outsider.site)
    served.observe(WEB, available_mib=400)
    served.await_eviction()
    until("a wish is judged", lambda: outsider.site.ear.now(outsider.topic("decision")))
    assert all(process.poll() is None for process in outsider.site.processes.values())
