"""What leads from a topic to the targets that it concerns. It knows no rules and no bus."""

from collections import Counter
from collections.abc import Iterable, Iterator

from evictd.controller.keys import Key, read_key
from evictd.core.protocol.announcement import request_topic
from evictd.core.protocol.case import Case
from evictd.core.protocol.naming import next_number
from evictd_schemas import EvictionRequest, topics

REPORTS_NOTED_MAX = 10_000
"""Topics of reports remembered until their Eviction is collected; further ones stay."""
SHARED_NAME_BYTES = 240
"""Longer pod names may share the names of their Evictions, which are cut at 253 bytes, and at a
dash or a dot before that."""


class Directory:
    """Indexes over all cases: by request topic, by the name of an Eviction, by node and pod."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[str, EvictionRequest]] = {}
        self._wishes: Counter[str] = Counter()
        self._evictions: dict[tuple[str, str, str], str] = {}
        self._numbered: dict[tuple[str, str, str], set[str]] = {}
        self._nodes: dict[str, set[str]] = {}
        self._reports: dict[str, set[str]] = {}
        self._noted = 0

    def restore(self, key: str, case: Case) -> None:
        """A case that the journal kept."""
        node = read_key(key).node
        for held in case.requests:
            self.take_request(request_topic(node, held), key, held.request)
        self.update(key, Case(), case)

    def update(self, key: str, old: Case, new: Case) -> None:
        """Follow a step of a key."""
        target = read_key(key)
        self._note(key, target, present=new != Case())
        if old.evictions is new.evictions:
            return
        before, after = _names(old), _names(new)
        shared = self._numbered.setdefault(_shared(target), set())
        for namespace, name in before - after:
            self._evictions.pop((target.node, namespace, name), None)
            shared.discard(name)
        for namespace, name in after - before:
            self._evictions[target.node, namespace, name] = key
            shared.add(name)
        if not shared:
            del self._numbered[_shared(target)]

    def request(self, topic: str) -> EvictionRequest | None:
        """The newest request of a topic, as it was accepted."""
        known = self._requests.get(topic)
        return None if known is None else known[1]

    def take_request(self, topic: str, key: str, request: EvictionRequest) -> None:
        """A request was accepted for a key."""
        self.drop_request(topic)
        self._requests[topic] = (key, request)
        self._wishes[key] += 1

    def drop_request(self, topic: str) -> str | None:
        """A request is gone; the key that it was for."""
        known = self._requests.pop(topic, None)
        if known is None:
            return None
        self._wishes[known[0]] -= 1
        if not self._wishes[known[0]]:
            del self._wishes[known[0]]
        return known[0]

    def wishes(self, key: str) -> int:
        """How many requests are held for one target."""
        return self._wishes[key]

    def forget_requests(self, node: str) -> None:
        """No request on the node is held any more."""
        for topic, (key, _) in tuple(self._requests.items()):
            if read_key(key).node == node:
                self.drop_request(topic)

    @property
    def requests(self) -> int:
        """How many requests are held."""
        return len(self._requests)

    def request_topics(self) -> Iterator[tuple[str, str]]:
        """Every request topic that is known, with its key."""
        for topic, (key, _) in self._requests.items():
            yield topic, key

    def key_of_eviction(self, node: str, namespace: str, name: str) -> str | None:
        """The key of the target of an Eviction."""
        return self._evictions.get((node, namespace, name))

    def holds(self, topic: str) -> bool:
        """Whether a topic of ours, or a report beneath it, belongs to something that is there."""
        place = topics.place(topic)
        if place is None:
            return False
        if place.kind is topics.REQUEST_STATUS:
            return topics.REQUEST.at(place.node, **place.names) in self._requests
        names = place.names
        eviction = (place.node, names.get("namespace", ""), names.get("name", ""))
        return eviction in self._evictions

    def note_report(self, topic: str, *, present: bool) -> None:
        """Somebody reported, whether it was taken or not, or cleared the report."""
        beneath = topic.rsplit("/", 3)[0]
        reports = self._reports.setdefault(beneath, set())
        if present and topic not in reports and self._noted < REPORTS_NOTED_MAX:
            reports.add(topic)
            self._noted += 1
        elif not present and topic in reports:
            reports.discard(topic)
            self._noted -= 1
        if not reports:
            del self._reports[beneath]

    def take_reports(self, eviction_topic: str) -> tuple[str, ...]:
        """The reports beneath an Eviction that is collected; they are not noted any more.

        [contract 1: one writer]
        """
        found = tuple(sorted(self._reports.pop(eviction_topic, ())))
        self._noted -= len(found)
        return found

    def keys_of(self, node: str) -> Iterable[str]:
        """Every key of a node for which something is held."""
        return tuple(self._nodes.get(node, ()))

    def next_number(self, key: Key) -> int:
        """The next free number for an Eviction of this pod name."""
        return next_number(key.name, self._numbered.get(_shared(key), ()))

    def _note(self, key: str, target: Key, *, present: bool) -> None:
        keys = self._nodes.setdefault(target.node, set())
        if present:
            keys.add(key)
        else:
            keys.discard(key)
        if not keys:
            del self._nodes[target.node]


def _names(case: Case) -> set[tuple[str, str]]:
    return {(item.metadata.namespace, item.metadata.name) for item in case.evictions}


def _shared(key: Key) -> tuple[str, str, str]:
    return key.node, key.namespace, topics.cut(key.name, SHARED_NAME_BYTES).rstrip("-.")
