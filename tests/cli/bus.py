"""A bus in memory, filled by hand, and the mirror through which the verbs read it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from evictd.client import Mirror
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER
from evictd.shell.bus import Router
from evictd_schemas import topics
from evictd_schemas.topics import Topic

NOW = datetime(2026, 11, 30, 8, 10, tzinfo=UTC)
NODE = "edge-7"
MIB = 1 << 20
WEB = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
DRAIN = "acme.io/drain"


def ago(seconds: float) -> str:
    """A moment so long before now, as it is written."""
    return (NOW - timedelta(seconds=seconds)).isoformat()


def pod(name: str, uid: str = WEB, **fields: Any) -> dict[str, Any]:
    """A workload of the shop."""
    return {"namespace": "shop", "name": name, "uid": uid, **fields}


class Stage:
    """What is on the bus."""

    def __init__(self) -> None:
        self.router = Router()
        self.mirror = Mirror(self.router)
        self.router.attach(self.mirror)

    def say(self, kind: Topic[Any], message: dict[str, Any] | None, **names: str) -> None:
        """Somebody publishes; None clears."""
        topic = kind.at(names.pop("node", NODE), **names)
        payload = b"" if message is None else msgspec.json.encode(message)
        self.router.publish(topic, payload, retain=kind.retained)

    def observe(
        self, *pods: dict[str, Any], node: str = NODE, **signals: tuple[float, float]
    ) -> None:
        """The collector's word, ten seconds ago. Signals by name with `_` for the dot."""
        readings = {
            name.replace("_", "."): {"available": available, "capacity": capacity}
            for name, (available, capacity) in signals.items()
        }
        message = {"node": node, "time": ago(10), "signals": readings, "pods": list(pods)}
        self.say(topics.OBSERVATION, message, node=node)

    def judge(self, status: str = "True", **threshold: Any) -> None:
        """The evaluator's word: MemoryPressure and one line."""
        conditions = [
            {
                "type": kind,
                "status": status if kind == "MemoryPressure" else "False",
                "reason": "NodeHasInsufficientMemory",
                "message": "memory.available is 400Mi, below the hard threshold 500Mi",
                "lastTransitionTime": ago(300),
            }
            for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")
        ]
        line = {
            "signal": "memory.available",
            "operator": "LessThan",
            "value": "500Mi",
            "gracePeriodSeconds": 0,
            "met": status == "True",
            **threshold,
        }
        message = {
            "node": NODE,
            "time": ago(10),
            "sequence": 1,
            "conditions": conditions,
            "thresholds": [line],
        }
        self.say(topics.PRESSURE, message)

    def decide(self, *rows: dict[str, Any], **fields: Any) -> None:
        """The evictor's word."""
        message = {
            "node": NODE,
            "time": ago(10),
            "sequence": 1,
            "mode": "act",
            "action": "Evict",
            "reason": "memory.available is below 500Mi",
            "signal": "memory.available",
            "ranking": list(rows),
            "rankingTotal": len(rows),
            **fields,
        }
        self.say(topics.DECISION, message)

    def request(self, name: str = "move", requester: str = "evictd.io/cli", **spec: Any) -> None:
        """Somebody wants web to leave."""
        domain, key = requester.split("/")
        body = {
            "target": {"pod": {"name": "web", "uid": WEB}},
            "requester": requester,
            "intent": "Eviction",
            **spec,
        }
        levels = {"domain": domain, "key": key, "namespace": "shop", "name": name}
        self.say(topics.REQUEST, {"spec": body}, **levels)

    def answer(self, *conditions: dict[str, Any], name: str = "move", **fields: Any) -> None:
        """The controller's answer to a request of this command line."""
        levels = {"domain": "evictd.io", "key": "cli", "namespace": "shop", "name": name}
        message = {
            "uid": "1d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11",
            "generation": 1,
            "observedGeneration": 1,
            "creationTimestamp": ago(60),
            "conditions": list(conditions),
            **fields,
        }
        self.say(topics.REQUEST_STATUS, message, **levels)

    def evict(self, name: str = "pod-1-web", **status: Any) -> None:
        """The controller's Eviction of web: a drain is at work, the stop comes after it."""
        message = {
            "metadata": {
                "name": name,
                "namespace": "shop",
                "uid": EVICTION,
                "creationTimestamp": ago(60),
            },
            "spec": {"target": {"pod": {"name": "web", "uid": WEB}}},
            "status": {
                "conditions": [condition("Failed", "False"), condition("TargetEvicted", "False")],
                "requesters": [{"name": "evictd.io/cli", "intent": "Eviction"}],
                "targetResponders": [
                    {"name": DRAIN, "priority": 10000, "state": "Active"},
                    {"name": DEFAULT_RESPONDER, "priority": 100, "state": "Inactive"},
                ],
                "responders": [
                    {
                        "name": DRAIN,
                        "startTime": ago(60),
                        "heartbeatTime": ago(5),
                        "deadlineTime": ago(-115),
                        "message": "copied 3 of 7 volumes",
                    },
                    {"name": DEFAULT_RESPONDER},
                ],
                "node": NODE,
                "reason": {"signal": "memory.available", "message": "moving house"},
                **status,
            },
        }
        self.say(topics.EVICTION, message, namespace="shop", name=name)


EVICTION = "2d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
REFERENCE = {"namespace": "shop", "name": "pod-1-web", "uid": EVICTION}


def condition(
    kind: str, status: str, reason: str = "AwaitingEviction", message: str = ""
) -> dict[str, Any]:
    """One of the controller's two."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": ago(20),
    }


EVICTED = (
    condition("Failed", "False", "Succeeded"),
    condition("TargetEvicted", "True", "PodDeleted", "Target pod has been deleted."),
)


def failed(reason: str, message: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Failed=True and its counterpart."""
    return (
        condition("Failed", "True", reason, message),
        condition("TargetEvicted", "False", "EvictionFailed"),
    )
