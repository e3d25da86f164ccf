"""Whole stories of the EvictionRequest vectors: a store, a clock and the controller's step.

The store refuses what admission refuses; the controller is `core.protocol` under the policy of the
controller upstream. The default responder does not run.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from tests.conformance.protocol_objects import NAMESPACE, at, pod_of, read, seconds_of, time_of

from evictd.core.admission.objects import request_problems
from evictd.core.admission.statuses import status_problems
from evictd.core.effects import Tick, WakeAt
from evictd.core.moments import Now
from evictd.core.problems import Problem
from evictd.core.protocol.advance import advance, writes
from evictd.core.protocol.case import Case
from evictd.core.protocol.chain import entry_of
from evictd.core.protocol.inputs import (
    ControllerRules,
    Given,
    Recalled,
    Reported,
    Requested,
    Sighted,
    Withdrawn,
)
from evictd.core.protocol.intake import taken, target_of
from evictd.core.protocol.naming import next_number
from evictd.core.protocol.policy import UPSTREAM
from evictd.core.protocol.reports import Standing, standing
from evictd.core.rules import Mode
from evictd_schemas import (
    Condition,
    Eviction,
    EvictionRequest,
    EvictionStatus,
    Metadata,
    Moment,
    Pod,
    Report,
    ResponderStatus,
)

Action = Mapping[str, Any]


class Story:
    """One scenario: pods and requests as the store holds them, and a Case for each target."""

    def __init__(self, pods: list[Any] | None) -> None:
        self.pods = {item["metadata"]["name"]: item for item in pods or ()}
        self.requests: dict[str, EvictionRequest] = {}
        self.cases: dict[str, Case] = {}
        self.looks: dict[str, float] = {}
        self.seconds = 0.0

    def run(self, step: Mapping[str, Any]) -> None:
        """Timers that fall due first, then what is done, then the controller until it is idle."""
        while due := [uid for uid, look in self.looks.items() if look <= step["at"]]:
            uid = min(due, key=lambda item: self.looks[item])
            self.seconds = self.looks[uid]
            self.work(uid)
        self.seconds = step["at"]
        for action in step["do"] or ():
            getattr(self, action["action"])(action)
        for uid in tuple(self.cases):
            self.work(uid)

    @property
    def now(self) -> Now:
        return Now(boot_seconds=self.seconds, utc=at(self.seconds))

    def rules(self, uid: str) -> ControllerRules:
        """Numbers count over all Evictions of the namespace that are named after the pod."""
        names = [item.metadata.name for case in self.cases.values() for item in case.evictions]
        target = target_of(self.cases.get(uid, Case())).pod
        number = 1 if target is None else next_number(target.name, names)
        return ControllerRules(node="node", mode=Mode.ACT, policy=UPSTREAM, next_number=number)

    def work(self, uid: str) -> None:
        """Let the controller settle one target; only its effects show when it wants to look."""
        self.admit(uid)
        case, asked = advance(self.rules(uid), self.cases[uid], Tick(), self.now)
        self.looks.pop(uid, None)
        for effect in asked:
            if isinstance(effect, WakeAt):
                self.looks[uid] = effect.boot_seconds
        self.cases[uid] = case
        if case == Case():
            del self.cases[uid]

    def admit(self, uid: str) -> None:
        """Every write of the controller passes the rules of admission."""
        before = self.cases[uid]
        for after in writes(self.rules(uid), before, self.now):
            stored = {item.metadata.uid: item.status for item in before.evictions}
            for item in after.evictions:
                old = stored.get(item.metadata.uid, EvictionStatus())
                assert not [*status_problems(old, item.status, self.now.utc)]
            before = after

    def tell(self, uid: str, given: Given) -> None:
        """Hand something in without letting the controller act on it yet."""
        self.cases[uid] = taken(self.rules(uid), self.cases.get(uid, Case()), given, self.now)

    def sighted(self, name: str) -> Sighted:
        pod: Pod | None = pod_of(self.pods.get(name))
        return Sighted(pod=pod, moment=Moment(time=self.now.utc), live=True, complete=True)

    def look(self, name: str) -> None:
        """A pod of that name has changed: every target of the name hears of it."""
        for uid, case in tuple(self.cases.items()):
            targets = [held.request.spec.target for held in case.requests]
            targets += [item.spec.target for item in case.evictions]
            if any(item.pod is not None and item.pod.name == name for item in targets):
                self.tell(uid, self.sighted(name))

    def send(self, request: EvictionRequest) -> None:
        pod = request.spec.target.pod
        given = Requested(
            requester=request.spec.requester,
            namespace=NAMESPACE,
            name=request.metadata.name,
            request=request,
            sighted=None if pod is None else self.sighted(pod.name),
        )
        self.requests[request.metadata.name] = request
        self.tell("" if pod is None else pod.uid, given)

    def write(self, request: EvictionRequest, action: Action) -> None:
        """A requester writes; what admission refuses never gets into the store."""
        held = self.requests.get(request.metadata.name)
        found = {item.field for item in request_problems(UPSTREAM, request, held)}
        refused = bool(found - {"spec.target.pod.uid"})  # uids of the stories are short
        assert refused == action.get("refused", False), found
        if not refused:
            self.send(request)

    def createRequest(self, action: Action) -> None:
        spec = {key: action.get(key) for key in ("requester", "intent", "target")}
        metadata = {"name": action["name"], "namespace": NAMESPACE}
        self.write(read({"metadata": metadata, "spec": spec}, EvictionRequest), action)

    def setIntent(self, action: Action) -> None:
        request = self.requests[action["name"]]
        spec = msgspec.structs.replace(request.spec, intent=action["intent"])
        self.write(msgspec.structs.replace(request, spec=spec), action)

    def touchRequest(self, action: Action) -> None:
        self.send(self.requests[action["name"]])

    def markRequestDeleting(self, action: Action) -> None:
        request = self.requests[action["name"]]
        metadata = msgspec.structs.replace(request.metadata, deletion_timestamp=self.now.utc)
        self.send(msgspec.structs.replace(request, metadata=metadata))

    def deleteRequest(self, action: Action) -> None:
        request = self.requests.pop(action["name"])
        pod = request.spec.target.pod
        self.tell(
            "" if pod is None else pod.uid,
            Withdrawn(
                requester=request.spec.requester, namespace=NAMESPACE, name=request.metadata.name
            ),
        )

    def createPod(self, action: Action) -> None:
        name = action["pod"]["metadata"]["name"]
        self.pods[name] = action["pod"]
        self.look(name)

    replacePod = createPod

    def removePod(self, action: Action) -> None:
        self.pods.pop(action["name"])
        self.look(action["name"])

    def markPodDeleting(self, action: Action) -> None:
        time = action.get("deletionTimestamp", self.seconds)
        self.pods[action["name"]]["metadata"]["deletionTimestamp"] = time
        self.look(action["name"])

    def setPodPhase(self, action: Action) -> None:
        self.pods[action["name"]].setdefault("status", {})["phase"] = action["phase"]
        self.look(action["name"])

    def createEviction(self, action: Action) -> None:
        eviction = read({"spec": {"target": action["target"]}}, Eviction)
        metadata = Metadata(
            name=action["name"],
            namespace=NAMESPACE,
            uid=f"uid of {action['name']}",
            generation=1,
            creation_timestamp=self.now.utc,
        )
        eviction = msgspec.structs.replace(eviction, metadata=metadata)
        pod = eviction.spec.target.pod
        sighted = None if pod is None else self.sighted(pod.name)
        self.tell("" if pod is None else pod.uid, Recalled(evictions=(eviction,), sighted=sighted))

    def deleteEviction(self, action: Action) -> None:
        for uid, case in self.cases.items():
            kept = tuple(item for item in case.evictions if item.metadata.name != action["name"])
            self.cases[uid] = msgspec.structs.replace(case, evictions=kept)

    def wait(self, action: Action) -> None:
        """Nothing is done."""

    def respond(self, action: Action) -> None:
        """A responder writes its entry.

        What admission refuses never gets into the store; from one whose turn it is not the
        controller takes nothing either.
        """
        uid, eviction = next(
            (uid, item)
            for uid, case in self.cases.items()
            for item in case.evictions
            if item.metadata.name == action["eviction"]
        )
        given = self.reported(eviction, action)
        refused = bool(self.problems(eviction, action))
        assert refused == action.get("refused", False)
        before, its_turn = self.cases[uid], standing(self.cases[uid], given, self.now)
        if refused and its_turn is Standing.TAKEN:
            return
        self.tell(uid, given)
        assert not refused or self.cases[uid] == before

    def reported(self, eviction: Eviction, action: Action) -> Reported:
        """What is not written stays as it was, and only a heartbeat is one."""
        entry = entry_of(eviction.status.responders, action["responder"]) or ResponderStatus()
        expected = action.get("expectedCompletionTime")
        report = Report(
            eviction_uid=eviction.metadata.uid,
            heartbeat_time=time_of(action.get("heartbeatTime")),
            expected_completion_time=(
                entry.expected_completion_time if expected is None else at(expected)
            ),
            completion_time=time_of(action.get("completionTime")),
            message=action.get("message", entry.message),
        )
        return Reported(
            namespace=NAMESPACE,
            name=action["eviction"],
            responder=action["responder"],
            report=report,
            listed=True,
        )

    def problems(self, eviction: Eviction, action: Action) -> list[Problem]:
        """What admission says of the entry that a responder writes."""
        written = {key: action[key] for key in action if key.endswith("Time") or key == "message"}
        entries = tuple(
            msgspec.structs.replace(
                entry, **{snake(key): time_or_text(value) for key, value in written.items()}
            )
            if entry.name == action["responder"]
            else entry
            for entry in eviction.status.responders
        )
        status = msgspec.structs.replace(eviction.status, responders=entries)
        return [*status_problems(eviction.status, status, self.now.utc)]

    def told(self) -> dict[str, Any]:
        """What the store shows now."""
        return {
            "evictions": {
                item.metadata.name: _eviction(case, item)
                for case in self.cases.values()
                for item in case.evictions
            },
            "requests": {
                held.request.metadata.name: {
                    "conditions": _conditions(held.status.conditions),
                    "observedGeneration": held.status.observed_generation,
                }
                for case in self.cases.values()
                for held in case.requests
            },
        }


def scenario(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is there after each step of a story."""
    story, told = Story(given["pods"]), []
    for step in given["steps"] or ():
        story.run(step)
        told.append(story.told())
    return told


def same_story(expected: Mapping[str, Any], actual: list[dict[str, Any]]) -> None:
    """Only listed objects and keys count; of `states` only listed entries; an empty map is none."""
    assert len(expected["steps"]) == len(actual)
    for number, (step, told) in enumerate(zip(expected["steps"], actual, strict=True)):
        for kind, objects in step.items():
            assert objects or not told[kind], f"step {number}: {kind} {told[kind]}"
            for name, wanted in objects.items():
                assert name in told[kind], f"step {number}: no {kind} {name}"
                found = _listed(wanted, told[kind][name])
                assert found == wanted, f"step {number}: {name} is {found}, not {wanted}"


def _listed(wanted: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: told[key] for key in wanted}
    if "states" in wanted:
        shown["states"] = {name: told["states"].get(name) for name in wanted["states"]}
    return shown


def _eviction(case: Case, eviction: Eviction) -> dict[str, Any]:
    status, target = eviction.status, eviction.spec.target.pod
    owners = {owner.name for owner in eviction.metadata.owner_references}
    return {
        "uid": None if target is None else target.uid,
        "states": {item.name: item.state for item in status.target_responders},
        "startTimes": _times(status.responders, lambda entry: entry.start_time),
        "heartbeatTimes": _times(status.responders, lambda entry: entry.heartbeat_time),
        "expectedCompletionTimes": _times(
            status.responders, lambda entry: entry.expected_completion_time
        ),
        "completionTimes": _times(status.responders, lambda entry: entry.completion_time),
        "messages": {item.name: item.message for item in status.responders if item.message},
        "conditions": _conditions(status.conditions),
        "requesters": [[item.name, item.intent] for item in status.requesters],
        "labels": dict(eviction.metadata.labels),
        "owners": sorted(owners),
        "observedGeneration": status.observed_generation,
    }


def snake(key: str) -> str:
    """A field's name in Python."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def time_or_text(value: float | str) -> Any:
    """The value of a written field."""
    return value if isinstance(value, str) else at(value)


def _times(entries: Any, of: Callable[[Any], Any]) -> dict[str, float | None]:
    return {item.name: seconds_of(of(item)) for item in entries if of(item) is not None}


def _conditions(conditions: tuple[Condition, ...]) -> dict[str, list[str]]:
    return {str(item.type): [str(item.status), str(item.reason)] for item in conditions}
