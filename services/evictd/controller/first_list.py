"""What comes with the first list of retained messages, until that list is complete.

Own words of a former life come with it in any order; requests and reports wait for them, so that a
lost journal mints no second uid. Nothing waits that comes live. [design, law 5]
"""

from collections.abc import Iterator, Mapping
from typing import Any

from evictd.controller.desk import Desk, Entry
from evictd.controller.keys import key_of
from evictd.core.admission.objects import eviction_problems
from evictd.core.effects import unstamped
from evictd.core.protocol.inputs import Recalled, Requested
from evictd.core.protocol.policy import EVICTD
from evictd.core.protocol.steadiness import credible
from evictd.shell.bus import Delivery
from evictd.shell.reception import Opened
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
        self.unnamed: set[str] = set()
        self._kept: dict[str, Delivery] = {}
        self._statuses: dict[str, RequestStatus] = {}
        self._evictions: dict[str, list[Eviction]] = {}
        self._keys: dict[tuple[str, str, str], str] = {}

    def keeps(self, kind: Topic[Any], delivery: Delivery) -> bool:
        """Whether a message waits for the rest of the list; one that comes live replaces it."""
        self._kept.pop(delivery.topic, None)
        if delivery.payload:
            self.unnamed.discard(delivery.topic)
        if not self.open or not delivery.listed or kind not in WAITING:
            return False
        self._kept[delivery.topic] = delivery
        return True

    def recall(self, topic: str, opened: Opened) -> None:
        """Our own words of a former life."""
        if isinstance(opened.message, Eviction):
            self._recall_eviction(opened.place.node, opened.message)
        elif isinstance(opened.message, RequestStatus):
            self._statuses[topic.removesuffix("/status")] = unstamped(opened.message)

    def close(self) -> list[Delivery]:
        """Nothing waits any more; what has waited, requests first."""
        self.open = False
        kept, self._kept = self._kept, {}
        return sorted(kept.values(), key=_is_report)

    def entries(self, desk: Desk, requests: Mapping[str, Opened]) -> Iterator[Entry]:
        """Requests of the list, and in one piece with them the Evictions that were read back."""
        by_key: dict[str, list[Entry]] = {}
        for topic, opened in requests.items():
            if opened.message is None:
                yield from desk.request(topic, opened)
            else:
                found = desk.requested(topic, opened, self._statuses.get(topic))
                by_key.setdefault(found.key, []).append(found)
        for key, evictions in self._evictions.items():
            wishes = [entry.given for entry in by_key.pop(key, ())]
            given = Recalled(
                evictions=tuple(evictions),
                requests=tuple(item for item in wishes if isinstance(item, Requested)),
                sighted=desk.views.tell(key),
            )
            yield Entry(key=key, given=given, slot=("recalled",))
        for entries in by_key.values():
            yield from entries

    def key_of_eviction(self, node: str, namespace: str, name: str) -> str | None:
        """The key of an Eviction that was read back and that no step knows yet."""
        return self._keys.get((node, namespace, name))

    def _recall_eviction(self, node: str, eviction: Eviction) -> None:
        metadata, pod = eviction.metadata, eviction.spec.target.pod
        problems = eviction_problems(EVICTD, eviction, None)
        if pod is None or any(problems) or not credible(eviction):
            return  # not a word of ours
        key = str(key_of(node, metadata.namespace, pod))
        self._keys[node, metadata.namespace, metadata.name] = key
        self._evictions.setdefault(key, []).append(unstamped(eviction))


def _is_report(delivery: Delivery) -> bool:
    place = topics.place(delivery.topic)
    return place is not None and place.kind is topics.REPORT
