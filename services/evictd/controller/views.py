"""What each node is known to run, and which targets have to hear of it.

Hundreds of targets are cheap: a target hears of an observation only when its own pod looks
different, or when it waits for one.
"""

from collections.abc import Iterable, Iterator

from msgspec import structs

from evictd.controller.keys import read_key
from evictd.core.moments import moment
from evictd.core.observations import duplicate, merge
from evictd.core.protocol.inputs import Sighted
from evictd_schemas import Observation, Pod


class Views:
    """The merged observation of each node, and what each key was told last."""

    def __init__(self) -> None:
        self._held: dict[str, Observation] = {}
        self._pods: dict[str, dict[tuple[str, str], Pod]] = {}
        self._told: dict[str, tuple[Pod | None, bool]] = {}
        """The pod, and whether that told for certain if the target is there."""

    def held(self, node: str) -> Observation | None:
        """The view that the node's observations have added up to."""
        return self._held.get(node)

    def observe(self, node: str, observation: Observation) -> bool:
        """Take one more observation; False when it says nothing new."""
        held = self._held.get(node)
        if duplicate(held, observation):
            return False
        merged = merge(held, observation)
        self._held[node] = merged
        if observation.pods is not None:
            pods = merged.pods or ()
            self._pods[node] = {(pod.namespace, pod.name): pod for pod in pods}
        return True

    def forget(self, node: str) -> None:
        """The node has no observation any more; nothing follows from that."""
        self._held.pop(node, None)
        self._pods.pop(node, None)

    def tell(self, key: str) -> Sighted | None:
        """What is held of one target, for a key that hears of it with something else."""
        found = self._sighted(key, live=False)
        if found is not None:
            self._told[key] = (found.pod, _present(key, found))
        return found

    def news(
        self, keys: Iterable[str], waiting: Iterable[str], *, live: bool
    ) -> Iterator[tuple[str, Sighted]]:
        """What is new for these keys after an observation; `waiting` want to hear in any case."""
        wanting = set(waiting)
        for key in keys:
            found = self._sighted(key, live=live)
            if found is None:
                continue
            if key in wanting or self._told.get(key) != (found.pod, True):
                proven = _present(key, found) or (live and found.complete)
                self._told[key] = (found.pod, proven)
                yield key, found

    def drop(self, key: str) -> None:
        """Nothing is held for the key any more."""
        self._told.pop(key, None)

    def _sighted(self, key: str, *, live: bool) -> Sighted | None:
        """None where its node has never listed pods."""
        target = read_key(key)
        view, pods = self._held.get(target.node), self._pods.get(target.node)
        if view is None or pods is None:
            return None
        pod = pods.get(target.place)
        return Sighted(
            pod=None if pod is None else _plain(pod),
            moment=moment(view),
            live=live,
            complete=view.pods_complete,
        )


def _present(key: str, found: Sighted) -> bool:
    return found.pod is not None and found.pod.uid == read_key(key).uid


def _plain(pod: Pod) -> Pod:
    """The pod without its statistics, which change all the time and decide nothing here."""
    return structs.replace(pod, stats=None)
