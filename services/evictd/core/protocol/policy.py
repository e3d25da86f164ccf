"""In what evictd differs from the controller upstream: a value with one field a switch.

Nothing compares the name of a policy. What only follows from fields that upstream does not have
(types, deadlines of one responder, `pointOfNoReturn`) needs no switch. [contract 3, Eviction]
"""

from msgspec import Struct

ROUND_PAUSE_SECONDS = 30.0
"""Between a chain that was used up and the next round; doubles with each further round."""
ROUND_PAUSE_SECONDS_MAX = 1800.0
"""The pause grows no longer than this."""
COLLECTION_SECONDS = 60.0
"""A finished Eviction outlives its last request by this, so that subscribers see the end."""
FINISHED_KEPT_MAX = 5
"""Finished Evictions kept for one target while its requests stand, and as many rehearsals; older
ones are collected."""
SUCCESS_KEPT_SECONDS = 86_400.0
"""An Eviction that has evicted its target is kept for a day, also where nobody clears the requests
that it answered: only requesters may."""
REPORT_PAUSE_SECONDS = 20.0
"""Mere signs of life of one responder are published no oftener. [eviction-request-api 8]"""


class Policy(Struct, frozen=True, kw_only=True):
    """Switches, each with upstream's default.

    `dns_names`: names of objects and pods are DNS subdomains, else levels of a topic.
    `consults_replacement`: a pod of another uid is asked for its responders and its group.
    `needs_observation`: absence is concluded only from an observation made after the request.
    `waits_for_the_end`: after the last completion an observation is waited for.
    `remembers_terminal`: the moment when a terminal phase was first seen defers like a mark does.
    `targets_may_be_refused`: critical and protected targets, and short graces, are refused.
    `refused_count`: the wish of a refused request still counts beside valid ones.
    `keeps_success`: a request whose target has been evicted stays so, whatever becomes of its spec.
    `keeps_owners`: a request that is gone stays an owner; else only while no other is left.
    `collects_running`: an Eviction without owners goes even before it has ended.
    """

    dns_names: bool = True
    consults_replacement: bool = True
    needs_observation: bool = False
    waits_for_the_end: bool = False
    remembers_terminal: bool = False
    targets_may_be_refused: bool = False
    refused_count: bool = True
    keeps_success: bool = False
    keeps_owners: bool = True
    round_pause_seconds: float = 0.0
    round_pause_seconds_max: float = 0.0
    collection_seconds: float = 0.0
    collects_running: bool = True
    finished_kept_max: int | None = None
    success_kept_seconds: float | None = None
    report_pause_seconds: float = 0.0


UPSTREAM = Policy()
"""The controller of the EvictionRequest API. [eviction-request-api]"""

EVICTD = Policy(
    dns_names=False,
    consults_replacement=False,
    needs_observation=True,
    waits_for_the_end=True,
    remembers_terminal=True,
    targets_may_be_refused=True,
    refused_count=False,
    keeps_success=True,
    keeps_owners=False,
    round_pause_seconds=ROUND_PAUSE_SECONDS,
    round_pause_seconds_max=ROUND_PAUSE_SECONDS_MAX,
    collection_seconds=COLLECTION_SECONDS,
    collects_running=False,
    finished_kept_max=FINISHED_KEPT_MAX,
    success_kept_seconds=SUCCESS_KEPT_SECONDS,
    report_pause_seconds=REPORT_PAUSE_SECONDS,
)
"""This controller. [contract 3]"""
