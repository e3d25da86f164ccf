"""Which nodes a role of this process decides for. [contract 1, Order] [contract 2]

A foreign node with a live worker of its own is left to it, and so is one on which somebody wrote a
greater pair than ours.
"""

from collections.abc import Callable, Collection, Sequence

from evictd.core.protocol.vocabulary import THERE
from evictd.core.rules import Rules
from evictd.shell.bus import Delivery, Listing
from evictd.shell.bus.marks import Mark
from evictd.shell.bus.presence import read_status
from evictd_schemas import WorkerStatus, topics
from evictd_schemas.topics import ALL, WORKER, Role

NODES_MAX = 100
"""Nodes that one worker serves; further ones are refused and counted. [contract 2]"""
REMEMBERED_MAX = 10_000
"""Foreign nodes whose workers are remembered; the rest counts as having none."""


class Served:
    """The nodes that one worker serves: those with rules, as long as there is room.

    `held`: the nodes of which the worker keeps something now. For the home node there is room
    always.
    """

    def __init__(
        self, home: str, rules: Callable[[str], Rules | None], held: Collection[str]
    ) -> None:
        self._home = home
        self._rules = rules
        self._held = held
        self.refused = 0
        """Messages of nodes beyond `NODES_MAX`."""

    def takes(self, node: str) -> bool:
        """Whether a message of this node is taken."""
        if self._rules(node) is None:
            return False
        if node == self._home or node in self._held or len(self._held) < NODES_MAX:
            return True
        self.refused += 1
        return False


class Serving:
    """A `Listener` of worker statuses."""

    def __init__(self, home: str, rules: Callable[[str], Rules | None]) -> None:
        self._home = home
        self._rules = rules
        self._live: dict[str, dict[str, Mark]] = {}
        """Of each foreign node its workers, with the place of their last status in time."""
        self._left: set[str] = set()

    @property
    def filters(self) -> Sequence[str]:
        return (WORKER.everywhere(),)

    def deliver(self, delivery: Delivery) -> None:
        place = topics.place(delivery.topic)
        if place is None or place.node == self._home:
            return
        worker = place.names["worker"]
        if not delivery.payload:
            self._forget(place.node, worker)
        elif (status := read_status(delivery.payload)) is not None:
            self._take(place.node, worker, status)

    def listed(self, listing: Listing) -> None:
        """A list says nothing that its messages did not."""

    def leave(self, node: str) -> None:
        """Somebody else decides for this foreign node."""
        self._left.add(node)

    def rules_of(self, role: Role) -> Callable[[str], Rules | None]:
        """The rules of a node for a worker of this role; None where it is not served."""
        return lambda node: self._rules(node) if self._serves(role, node) else None

    def _take(self, node: str, worker: str, status: WorkerStatus) -> None:
        """A last will that comes late, or anything else of an earlier life, says nothing."""
        mark = Mark(epoch=status.epoch, rev=status.connection)
        if mark < self._live.get(node, {}).get(worker, mark):
            return
        if status.status not in THERE:
            self._forget(node, worker)
        elif node in self._live or len(self._live) < REMEMBERED_MAX:
            self._live.setdefault(node, {})[worker] = mark

    def _forget(self, node: str, worker: str) -> None:
        workers = self._live.get(node, {})
        workers.pop(worker, None)
        if not workers:
            self._live.pop(node, None)

    def _serves(self, role: Role, node: str) -> bool:
        if node == self._home:
            return True
        live = self._live.get(node, {})
        return node not in self._left and live.keys().isdisjoint((role.value, ALL))
