"""Whatever is published on a topic of this machine: what is wrong is answered once by the worker
that judges it, and changes nothing. [contract 1, Rejection]"""

from __future__ import annotations

import copy
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.kernel import PARENT, Kernel
from tests.integration.processes import HOME, ROLES, Site, until
from tests.integration.stories.conftest import NEVER_SECONDS, uid

pytestmark = pytest.mark.timeout(180)
"""Each list is waited for as long as it may take, many times over."""
ROOT = f"evictd/v1/{HOME}"
LIST_SECONDS = "2"
"""For a broker's whole list, on a busy machine too."""
LISTED = (0, 27)
"""Exit codes of `mosquitto_sub`: something came after the list, or its time is up."""
DRAIN = "acme.io/drain"
REQUEST = f"{ROOT}/evictionrequests/acme.io/mover/{PARENT}/move-greedy"
JUDGES = {
    "observation": "evaluator",
    "pressure": "evictor",
    "stopped": "evictor",
    "wishes": "evictor",
    "order status": "evictor",
    "evictionrequests": "controller",
    "report": "controller",
    "responders": "controller",
    "evictions": "responder",
    "orders": "responder",
}
TOO_LARGE = "x" * (2 << 20)
RUBBISH = {
    "nothing that is JSON": b"{not json",
    "no object": b"[1, 2]",
    "NUL bytes": b"\0" * 8,
    "no UTF-8": b'{"node": "\xff"}',
    "deep nesting": b"[" * 200_000,
}
"""Wrong on every topic."""
WRONG_TYPES: dict[str, dict[str, Any]] = {
    "observation": {"signals": 7},
    "pressure": {"conditions": "bad"},
    "stopped": {"attempts": "many"},
    "wishes": {"verb": 3},
    "order status": {"steps": 5},
    "evictionrequests": {"spec": []},
    "report": {"completionTime": 12},
    "responders": {"priority": "high"},
    "evictions": {"status": 3},
    "orders": {"steps": 5},
}
UIDS: dict[str, tuple[str | int, ...]] = {
    "observation": ("pods", 0, "uid"),
    "stopped": ("uid",),
    "evictionrequests": ("spec", "target", "pod", "uid"),
    "report": ("evictionUid",),
    "evictions": ("spec", "target", "pod", "uid"),
}
"""Where the life of a workload, or of its Eviction, is named."""


def example(name: str) -> dict[str, Any]:
    """A message that is taken, from the published examples."""
    file = Path(__file__).parents[3] / "schemas" / "examples" / f"{name}.json"
    return dict(json.loads(file.read_text())["takes"][-1]["payload"])


def good(site: Site) -> dict[str, tuple[str, dict[str, Any]]]:
    """Of each kind its topic and a message that would be taken there."""
    eviction_topic = next(topic for topic in site.ear.below(f"{ROOT}/evictions/"))
    eviction = site.ear.now(eviction_topic)
    observation = site.ear.now(f"{ROOT}/observation")
    return {
        "observation": (
            f"{ROOT}/observation",
            {**observation, "sequence": observation["sequence"] + 1},
        ),
        "pressure": (f"{ROOT}/pressure", site.ear.now(f"{ROOT}/pressure")),
        "stopped": (f"{ROOT}/stopped/{PARENT}/ghost", example("stopped")),
        "wishes": (f"{ROOT}/wishes/acme.io/ann/hold", example("wish")),
        "order status": (f"{ROOT}/orders/reclaim-1/status", example("orderstatus")),
        "evictionrequests": (REQUEST, site.ear.now(REQUEST)),
        "report": (
            f"{eviction_topic}/responders/{DRAIN}",
            {"evictionUid": eviction["metadata"]["uid"]},
        ),
        "responders": (f"{ROOT}/responders/{DRAIN}", example("registration")),
        "evictions": (eviction_topic, eviction),
        "orders": (f"{ROOT}/orders/reclaim-1", example("order")),
    }


def bad(kind: str, message: dict[str, Any]) -> Iterator[bytes]:
    """Every way to be wrong."""
    yield from RUBBISH.values()
    yield encoded({**message, **WRONG_TYPES[kind]})
    yield encoded({**message, "padding": TOO_LARGE})
    yield encoded(message).replace(b":", b":\0", 1)
    if "node" in message:
        yield encoded({**message, "node": "another"})
    if kind in UIDS:
        wrong = copy.deepcopy(message)
        *path, last = UIDS[kind]
        inside: Any = wrong
        for step in path:
            inside = inside[step]
        inside[last] = "WEB-1"
        yield encoded(wrong)


def encoded(message: dict[str, Any]) -> bytes:
    """As it travels."""
    return json.dumps(message).encode()


def retained(site: Site) -> dict[str, Any]:
    """What the broker keeps of this machine, as somebody new gets it; of what is told again with
    each look only what it says."""
    listing = subprocess.run(
        [
            *site.ear.command,
            "-W",
            LIST_SECONDS,
            "--retained-only",
            "-t",
            f"{ROOT}/#",
            "-F",
            "%t %x",
        ],
        env=site.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listing.returncode in LISTED, listing.stderr
    found = (line.split(" ", 1) for line in listing.stdout.splitlines())
    return {topic: essence(topic, bytes.fromhex(text)) for topic, text in found}


def kept(site: Site) -> dict[str, Any]:
    """The same, once it is all there: of a broker that is busy the time may be over before the end
    of its list."""
    found: dict[str, Any] = {}

    def whole() -> bool:
        found.update(retained(site))
        return found.keys() == site.ear.below(f"{ROOT}/").keys()

    until("the broker lists what it keeps", whole)
    return found


def essence(topic: str, payload: bytes) -> Any:
    """Without times and numbers that grow; what cannot be read or does not hold them, as it is."""
    try:
        return without_times(topic, json.loads(payload))
    except (ValueError, RecursionError, LookupError, TypeError):
        return payload[:100]


def without_times(topic: str, message: Any) -> Any:
    """What matters of a message that its own worker wrote."""
    if "/workers/" in topic:
        return message["status"], message["epoch"], message["connection"], message["message"]
    if topic.endswith("/observation"):
        return [(pod["name"], pod["uid"]) for pod in message["pods"]]
    if topic.endswith("/pressure"):
        return [(item["type"], item["status"]) for item in message["conditions"]]
    if topic.endswith("/decision"):
        return message["action"], message["mode"], message["reason"], message["evictionRequests"]
    return message


@pytest.fixture(params=["joined", "separate"])
def site(
    request: pytest.FixtureRequest, machine: Kernel, acting: Callable[[], dict[str, Any]]
) -> Iterator[Site]:
    """A calm machine with one Eviction, whose responder has its turn and takes its time."""
    site: Site = request.getfixturevalue(request.param)
    machine.start("greedy")
    drain = {"name": DRAIN, "priority": 10000, "startDeadlineSeconds": 600}
    site.settings = acting() | {"workloads": {"greedy": {"responders": [drain]}}}
    site.settings["sources"]["intervalSeconds"] = NEVER_SECONDS
    with site.running(*(ROLES if request.param == "separate" else ("up",))):
        until("it looks", lambda: (site.ear.now(f"{ROOT}/observation") or {}).get("pods"))
        (pod,) = site.ear.now(f"{ROOT}/observation")["pods"]
        target = {"pod": {"name": "greedy", "uid": pod["uid"]}}
        spec = {"target": target, "requester": "acme.io/mover", "intent": "Eviction"}
        site.publish(REQUEST, {"spec": spec}, retain=True)
        until("the drain has its turn", lambda: site.ear.events(HOME, "ResponderActive"))
        until("it decides", lambda: site.ear.now(f"{ROOT}/decision"))
        yield site


def rejections(site: Site) -> Counter[tuple[str, str]]:
    """How often each judge has answered for each topic."""
    return Counter(
        (event["data"]["topic"], event["source"].rpartition("/")[2])
        for event in site.ear.events(HOME, "MessageRejected")
    )


def test_what_is_wrong_is_answered_once_and_changes_nothing(site: Site) -> None:
    """On every topic that somebody judges, whoever writes there."""
    messages = good(site)
    before = kept(site)
    expected: Counter[tuple[str, str]] = Counter()
    for kind, (topic, message) in messages.items():
        for payload in bad(kind, message):
            expected[topic, JUDGES[kind]] += 1
            site.publish(topic, payload, retain=topic in before and topic != REQUEST)
            if payload in RUBBISH.values():  # the same again is not answered again
                site.publish(topic, payload)
    try:
        until("all is answered", lambda: rejections(site) >= expected)
    finally:
        missing, surplus = expected - rejections(site), rejections(site) - expected
        assert (missing, surplus) == (Counter(), Counter())
    until("each owner has put its own back", lambda: retained(site) == before)
    assert rejections(site) == expected
    answers = site.ear.events(HOME, "MessageRejected")
    assert all(answer["data"]["field"] and answer["data"]["message"] for answer in answers)


def test_where_nobody_judges_the_writer_puts_its_own_back(site: Site) -> None:
    """Decision, status of a request, status of a worker."""
    before = kept(site)
    worker = "all" if "up" in site.processes else "evictor"
    for payload in (b"{not json", b"[" * 200_000, b"{}", b""):
        for topic in (f"{ROOT}/decision", f"{REQUEST}/status", f"{ROOT}/workers/{worker}"):
            assert topic in before
            site.publish(topic, payload, retain=True)
        until("each owner has put its own back", lambda: retained(site) == before)
    assert rejections(site) == Counter()


def test_a_life_that_is_not_meant_is_no_bad_input(site: Site) -> None:
    """A report about another Eviction is ignored, a request for another life gets its status."""
    before = kept(site)
    messages = good(site)
    topic, report = messages["report"]
    site.publish(topic, {**report, "evictionUid": uid("other"), "completionTime": None})
    request = f"{ROOT}/evictionrequests/acme.io/other/{PARENT}/move-other"
    target = {"pod": {"name": "greedy", "uid": uid("other")}}
    spec = {"target": target, "requester": "acme.io/other", "intent": "Eviction"}
    site.publish(request, {"spec": spec}, retain=True)
    until("it has its status", lambda: site.ear.now(f"{request}/status"))
    conditions = {c["type"]: c for c in site.ear.now(f"{request}/status")["conditions"]}
    assert conditions["TargetEvicted"]["status"] == "False"
    site.publish(request, b"", retain=True)
    until("its status goes with it", lambda: not site.ear.now(f"{request}/status"))
    until("all else is as it was", lambda: retained(site) == before)
    assert rejections(site) == Counter()
