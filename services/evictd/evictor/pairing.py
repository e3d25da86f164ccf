"""Joining the two streams that a decision needs.

Pressure N is judged only with a view of the node at N or later. [contract 3, Pressure]
"""

from dataclasses import dataclass

from evictd.core.decision import Judged
from evictd.core.observations import merge, sequence_of
from evictd_schemas import Observation, Pressure


@dataclass(frozen=True, kw_only=True)
class _Held:
    view: Observation
    listed: bool


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    pressure: Pressure
    listed: bool


class Pairing:
    """The view of one node and the Pressure that waits for it; an older Pressure is forgotten."""

    def __init__(self) -> None:
        self._held: _Held | None = None
        self._waiting: _Waiting | None = None

    @property
    def view(self) -> Observation | None:
        """All that successive observations add up to."""
        return None if self._held is None else self._held.view

    def observe(self, observation: Observation, *, listed: bool) -> Judged | None:
        """Take an observation; the Pressure that waited for it is ready then."""
        self._held = _Held(view=merge(self.view, observation), listed=listed)
        return self._ready()

    def press(self, pressure: Pressure, *, listed: bool) -> Judged | None:
        """Take a Pressure; it is ready if its observation is here already."""
        self._waiting = _Waiting(pressure=pressure, listed=listed)
        return self._ready()

    def _ready(self) -> Judged | None:
        held, waiting = self._held, self._waiting
        if held is None or waiting is None:
            return None
        if sequence_of(held.view) < waiting.pressure.sequence:
            return None
        self._waiting = None
        return Judged(
            pressure=waiting.pressure,
            observation=held.view,
            listed=held.listed or waiting.listed,
        )
