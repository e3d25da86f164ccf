"""What comes with the first list of retained messages, until that list is complete.

Own words of a former life come with it in any order; requests and reports wait for them, so that a
lost journal mints no second uid. Nothing waits that comes live. [design, law 5]
"""

from typing import Any

from evictd.controller.keys import key_of
from evictd.shell.bus import Delivery
from evictd_schemas import Eviction, RequestStatus, topics
from evictd_schemas.topics import Topic

WAITING = (topics.REQUEST, topics.REPORT)


class FirstList:
    """The list so far. `unnamed`: request topics of the journal that it has not named yet.

    `open`: messages of the list still wait for the rest of it. `judged`: what the journal knows and
    the list does not name has been decided on.
    """

    def __init__(self) -> None:
        self.open = True
        self.judged = False
        self.kept: dict[str, Delivery] = {}
        self.statuses: dict[str, RequestStatus] = {}
        self.evictions: list[tuple[str, Eviction]] = []
        self.unnamed: set[str] = set()

    def keeps(self, kind: Topic[Any], delivery: Delivery) -> bool:
        """Whether a message waits for the rest of the list; one that comes live replaces it."""
        self.kept.pop(delivery.topic, None)
        if delivery.payload:
            self.unnamed.discard(delivery.topic)
        if not self.open or not delivery.listed or kind not in WAITING:
            return False
        self.kept[delivery.topic] = delivery
        return True

    def evictions_by_key(self) -> dict[str, list[Eviction]]:
        """What was read back, by target."""
        found: dict[str, list[Eviction]] = {}
        for node, eviction in self.evictions:
            pod = eviction.spec.target.pod
            if pod is not None:
                key = str(key_of(node, eviction.metadata.namespace, pod))
                found.setdefault(key, []).append(eviction)
        return found

    def key_of_eviction(self, node: str, namespace: str, name: str) -> str | None:
        """The key of an Eviction that was read back and that no step knows yet."""
        for home, eviction in self.evictions:
            metadata, pod = eviction.metadata, eviction.spec.target.pod
            found = (home, metadata.namespace, metadata.name) == (node, namespace, name)
            if found and pod is not None:
                return str(key_of(home, namespace, pod))
        return None
