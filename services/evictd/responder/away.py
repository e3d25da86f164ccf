"""What is down because of evictd, and what is about to be: everybody that looks counts it in.

It knows records and states, nothing of how anything is stopped.
"""

from collections.abc import Mapping

from msgspec import structs

from evictd.core.duty import Duty, Neighbours
from evictd.core.duty.budgets import stopped_life
from evictd.core.effects import Owned
from evictd_schemas import Pod, Stopped, topics


class Away:
    """`published`: by topic what the responder says, the records of what is down among it.

    `told`: the bus has said what was there of a former life.
    """

    def __init__(self, published: Mapping[str, Owned]) -> None:
        self._published = published
        self._going: dict[str, Pod] = {}
        """What is being stopped, or has just been, by key of its duty."""
        self.told = False

    def follow(self, key: str, duty: Duty) -> None:
        """Two that look at the same moment must not both find the other one healthy.

        What has begun to go is known to whatever steps next.
        """
        if duty.going and duty.pod is not None:
            self._going[key] = duty.pod
        else:
            self._going.pop(key, None)

    def counted_in(self, neighbours: Neighbours) -> Neighbours:
        """With what evictd has stopped and is stopping, as of now."""
        if not self.told:
            problem = "what is down already is not known before the bus has told it"
            return structs.replace(neighbours, problem=neighbours.problem or problem)
        down = (
            stopped_life(place.names, record)
            for topic, record in self._published.items()
            if isinstance(record, Stopped) and (place := topics.place(topic)) is not None
        )
        return structs.replace(neighbours, away=(*self._going.values(), *down))

    def runtime_ids(self) -> frozenset[str] | None:
        """Runtime ids of what evictd has stopped or is stopping, None before the bus has told."""
        if not self.told:
            return None
        down = (one.runtime_id for one in self._published.values() if isinstance(one, Stopped))
        return frozenset((*down, *(pod.runtime_id for pod in self._going.values())))
