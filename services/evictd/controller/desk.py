"""What a message means: for which targets, and as what their step is given it.

It keeps the indexes that this takes, and neither feeds nor publishes. [contract 2, 3]
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from evictd.controller.directory import Directory
from evictd.controller.keys import key_of, levels_of
from evictd.controller.registry import Registry
from evictd.controller.views import Views
from evictd.core.admission.kinds import too_many
from evictd.core.admission.messages import (
    registration_problems,
    report_problems,
    requested_problems,
)
from evictd.core.moments import Now
from evictd.core.observations import problems
from evictd.core.problems import Problem
from evictd.core.protocol.acceptance import awaits_observation
from evictd.core.protocol.case import Case
from evictd.core.protocol.inputs import (
    ControllerRules,
    Forgotten,
    Given,
    Registered,
    Reported,
    Requested,
    Unconfirmed,
    Withdrawn,
)
from evictd.core.protocol.reports import Standing, standing
from evictd.core.protocol.vocabulary import PRESSURE_REQUESTERS
from evictd.shell.reception import Opened
from evictd_schemas import (
    EvictionRequest,
    Observation,
    PodTarget,
    Registration,
    RequestStatus,
    topics,
)
from evictd_schemas.topics import Place

REQUESTS_MAX = 10_000
"""Requests held at once."""
REQUESTS_OF_TARGET_MAX = 100
"""Requests held for one target: each is named in its Eviction, which has to fit into a message."""


class Entry(Struct, frozen=True, kw_only=True):
    """One item for the inbox; a newer one of the same slot replaces it."""

    key: str
    given: Given
    slot: tuple[str, ...]


class Desk:
    """`cases` are those of the worker, as its last step left them."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self._cases = cases
        self.directory = Directory()
        self.views = Views()
        self.registry = Registry()

    def problems(
        self, rules: ControllerRules, place: Place[Any], message: Any, now: Now
    ) -> Sequence[Problem]:
        """Every broken rule of a message that is read here."""
        if place.kind is topics.REQUEST:
            held = self.directory.request(topics.REQUEST.at(place.node, **place.names))
            found = tuple(requested_problems(rules, levels_of(place), message, held))
            return found if found or held is not None else self._crowd(place, message)
        if place.kind is topics.REPORT:
            return tuple(report_problems(message, now))
        if place.kind is topics.REGISTRATION:
            return tuple(registration_problems(place.participant, message))
        if place.kind is topics.OBSERVATION:
            return problems(place.node, message, self.views.held(place.node))
        return ()

    def request(self, topic: str, opened: Opened) -> Iterator[Entry]:
        """A request as it comes, or its end."""
        if opened.message is not None:
            yield self.requested(topic, opened, None)
            return
        key = self.directory.drop_request(topic)
        if key is not None:
            requester, namespace, name = levels_of(opened.place)
            given = Withdrawn(requester=requester, namespace=namespace, name=name)
            yield Entry(key=key, given=given, slot=("withdrawn", topic))

    def requested(self, topic: str, opened: Opened, status: RequestStatus | None) -> Entry:
        """A request, and the status that was read back for it.

        A withdrawal keeps a slot of its own beside it: what follows one is a new object.
        """
        requester, namespace, name = levels_of(opened.place)
        request: EvictionRequest = opened.message
        known = self.directory.request(topic) is not None
        key = _key(opened.place, request)
        self.directory.take_request(topic, key, request)
        given = Requested(
            requester=requester,
            namespace=namespace,
            name=name,
            request=request,
            sighted=self.views.tell(key),
            status=None if known else status,
        )
        return Entry(key=key, given=given, slot=("requested", topic))

    def unnamed(self, topics_unnamed: Collection[str], *, authoritative: bool) -> Iterator[Entry]:
        """Requests that we know and a list did not name. [design, law 5]"""
        for topic, key in tuple(self.directory.request_topics()):
            place = topics.place(topic)
            if topic not in topics_unnamed or place is None:
                continue
            levels = levels_of(place)
            requester, namespace, name = levels
            if authoritative and not self._unconfirmed(key, levels):
                self.directory.drop_request(topic)
                gone = Withdrawn(requester=requester, namespace=namespace, name=name)
                yield Entry(key=key, given=gone, slot=("withdrawn", topic))
            else:
                stands = Unconfirmed(requester=requester, namespace=namespace, name=name)
                yield Entry(key=key, given=stands, slot=("unconfirmed", topic))

    def report(
        self, topic: str, opened: Opened, recalled_key: str | None, now: Now
    ) -> tuple[Standing, Entry]:
        """A report, and what becomes of it. One that came with the list is left to the step."""
        place = opened.place
        namespace, name = place.names["namespace"], place.names["name"]
        key = self.directory.key_of_eviction(place.node, namespace, name) or recalled_key
        given = Reported(
            namespace=namespace,
            name=name,
            responder=place.participant,
            report=opened.message,
            listed=opened.listed,
        )
        entry = Entry(key=key or "", given=given, slot=("reported", topic))
        if opened.listed:
            return (Standing.IGNORED if key is None else Standing.TAKEN), entry
        return standing(self._case(entry.key), given, now), entry

    def registration(self, opened: Opened, now: Now) -> Iterator[Entry]:
        """Chains hear of their own responders; a last will counts only for its own connection."""
        node, responder = opened.place.node, opened.place.participant
        registration: Registration | None = opened.message
        if not self.registry.take(node, responder, registration, now.boot_seconds):
            return
        given = Registered(responder=responder, registration=registration)
        for key in self.directory.keys_of(node):
            if responder in self._case(key).run.terms:
                yield Entry(key=key, given=given, slot=("registered", responder))

    def observation(self, opened: Opened) -> Iterator[Entry]:
        """Only targets that look different, or that wait for an observation, hear of it."""
        node, observation = opened.place.node, opened.message
        if not isinstance(observation, Observation):
            self.views.forget(node)
            return
        if not self.views.observe(node, observation) or observation.pods is None:
            return
        keys = self.directory.keys_of(node)
        waiting = [key for key in keys if awaits_observation(self._case(key))]
        for key, sighted in self.views.news(keys, waiting, live=not opened.listed):
            yield Entry(key=key, given=sighted, slot=("sighted",))

    def forget(self, node: str) -> Iterator[Entry]:
        """Nothing is held of a node any more."""
        for key in self.directory.keys_of(node):
            yield Entry(key=key, given=Forgotten(), slot=("forgotten",))
        self.directory.forget_requests(node)
        self.views.forget(node)
        self.registry.forget(node)

    def _crowd(self, place: Place[Any], request: EvictionRequest) -> tuple[Problem, ...]:
        """No more requests than can be held.

        Those of pressure are never too many: they are few, their requester clears them, and a
        machine that is short does not wait until others have tidied up.
        """
        if place.participant in PRESSURE_REQUESTERS:
            return ()
        if self.directory.wishes(_key(place, request)) >= REQUESTS_OF_TARGET_MAX:
            return (too_many("spec.target", REQUESTS_OF_TARGET_MAX + 1, REQUESTS_OF_TARGET_MAX),)
        if self.directory.requests >= REQUESTS_MAX:
            return (too_many("topic", REQUESTS_MAX + 1, REQUESTS_MAX),)
        return ()

    def _case(self, key: str) -> Case:
        return self._cases.get(key, Case())

    def _unconfirmed(self, key: str, levels: tuple[str, str, str]) -> bool:
        held = self._case(key).requests
        return any(item.unconfirmed and item.topic_levels == levels for item in held)


def _key(place: Place[Any], request: EvictionRequest) -> str:
    """The key of a request's target, which admission has seen to be there."""
    pod = request.spec.target.pod or PodTarget()
    return str(key_of(place.node, place.names["namespace"], pod))
