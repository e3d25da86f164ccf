"""What a restarted evictor finds of itself on the bus, until the list is complete.

Statuses of requests and orders wait behind it, since they mean nothing to a plan that does not know
the requests yet. [design, law 5]
"""

from collections.abc import Hashable, Iterator

from evictd.core.decision import Given, Recalled, Retained
from evictd_schemas import Decision, EvictionRequest


class Recovery:
    """What the list says of one node."""

    def __init__(self) -> None:
        self._decision: Decision | None = None
        self._requests: dict[str, EvictionRequest] = {}
        self._statuses: dict[Hashable, Given] = {}

    def decision(self, decision: Decision) -> None:
        """Our own last Decision."""
        self._decision = decision

    def request(self, topic: str, request: EvictionRequest) -> None:
        """One of our own requests."""
        self._requests[topic] = request

    def status(self, slot: Hashable, given: Given) -> None:
        """Something that is said about them."""
        self._statuses[slot] = given

    def complete(self) -> Iterator[tuple[Hashable, Given]]:
        """Everything in the order in which it makes sense."""
        if self._decision is not None or self._requests:
            retained = tuple(
                Retained(topic=topic, request=request) for topic, request in self._requests.items()
            )
            yield Recalled, Recalled(decision=self._decision, requests=retained)
        yield from self._statuses.items()
