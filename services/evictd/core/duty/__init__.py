"""What the built-in responder does about its own Active entry: stop one workload, once.

- `state`: one Duty per Eviction, what it is told and what it asks for
- `response`: the step of the responder that stops through evictd's own runtimes
- `pace`: when it is tried again, and signs of life
- `namesake`: another Eviction under the same name
- `doubt`: a stop that failed and may still come true when its turn is over
- `ways`: what comes of a workload's own way to be taken off
- `telling`: what is reported, and written down of who is down
- `budgets`: what has to stay, whoever but node pressure asks
- `rejoining`: restarting one that has lost its network
- `errand`: the evictor's orders
- `imperative`: one sync of the protocol's default responder, which asks an eviction endpoint
- `outcomes`: how a stop or a start ended

It knows neither runtimes nor the bus beyond naming topics.
"""

from evictd.core.duty.budgets import Neighbours
from evictd.core.duty.outcomes import StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.duty.response import forbidden, respond
from evictd.core.duty.state import (
    Assigned,
    Duty,
    Effect,
    Given,
    Listed,
    Look,
    Phase,
    Rejoin,
    Start,
    StartEnded,
    StopEnded,
)

__all__ = [
    "Assigned",
    "Duty",
    "Effect",
    "Given",
    "Listed",
    "Look",
    "Neighbours",
    "Phase",
    "Rejoin",
    "Start",
    "StartEnded",
    "StartOutcome",
    "StartResult",
    "StopEnded",
    "StopOutcome",
    "StopResult",
    "forbidden",
    "respond",
]
