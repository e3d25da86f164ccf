"""The order of a decision, with each comparison that decided it and what would change it.

It computes nothing of its own: the order is the decision's, and each change is tried by ranking
again. [design, law 12]
"""

from collections.abc import Iterator

from msgspec import Struct, structs

from evictd.core.decision import reclaim
from evictd.core.decision.candidates import Verdict, evictable, may_go, victim
from evictd.core.decision.comparisons import between
from evictd.core.decision.filling import loss, spares
from evictd.core.decision.inputs import Judged
from evictd.core.decision.passes import ranked
from evictd.core.decision.plan import Plan
from evictd.core.decision.ranking import Place, rank
from evictd.core.decision.scene import Scene
from evictd.core.decision.shortage import by_urgency
from evictd.core.moments import Now
from evictd.core.pods import MEMORY, STORAGE, priority
from evictd.core.rules import Rules
from evictd.core.signals.amounts import rounded_text
from evictd.core.signals.layouts import same_disk
from evictd.core.signals.names import MEMORY_AVAILABLE, Resource, resource_of
from evictd.core.signals.thresholds import LESS_THAN
from evictd.core.wording import name_text
from evictd_schemas import Layout, Loss, Pod, RankedPod, ReclaimOutcome, ThresholdStatus

PRIORITY_MIN, PRIORITY_MAX = -(2**31), 2**31 - 1


class Situation(Struct, frozen=True, kw_only=True):
    """Everything that a decision about one node depends on."""

    rules: Rules
    plan: Plan
    given: Judged
    now: Now

    @property
    def scene(self) -> Scene:
        """What a pass would look at; nothing has to be due for it."""
        layout = self.given.observation.layout
        if layout is None or layout.error is not None:
            layout = self.plan.layout or Layout()
        return Scene(
            rules=self.rules,
            given=self.given,
            newest=self.given,
            layout=layout,
            fresh=(),
            now=self.now,
        )

    def with_pod(self, pod: Pod) -> "Situation":
        """The same with something else written about that pod."""
        observation = self.given.observation
        pods = tuple(pod if one.uid == pod.uid else one for one in observation.pods or ())
        observation = structs.replace(observation, pods=pods)
        return structs.replace(self, given=structs.replace(self.given, observation=observation))


class Explanation(Struct, frozen=True, kw_only=True):
    """Who would go for a shortage of `signal`, first to go first.

    `between[i]` tells what put row i before row i + 1. `spared`: nobody goes for this signal unless
    his growth explains the loss, which is `loss` as the decision computed it, where it is known.
    [design, profile host: disk and inodes] `steps`: what is given back before anybody goes, and
    `reclaimed` what came of it, or would, where that was asked in this shortage.
    """

    signal: str
    threshold: ThresholdStatus
    ranking: tuple[RankedPod, ...]
    places: tuple[Place, ...]
    between: tuple[str, ...]
    spared: bool = False
    loss: Loss | None = None
    steps: tuple[str, ...] = ()
    reclaimed: ReclaimOutcome | None = None

    def place_of(self, uid: str) -> int:
        """The index of a pod in the order."""
        return next(index for index, row in enumerate(self.ranking) if row.pod.uid == uid)


class Change(Struct, frozen=True, kw_only=True):
    """Something the owner could write, and what would come of it."""

    setting: str
    outcome: str


def explained(situation: Situation, signal: str | None = None) -> Explanation:
    """The order for a signal; by default that of the most urgent line that is met, else memory."""
    threshold = _threshold(situation.given, signal)
    rules, scene = situation.rules, situation.scene
    subject = threshold.rank_by or threshold.signal
    places = rank(rules.profile, subject, scene.layout, scene.active_pods)
    return Explanation(
        signal=threshold.signal,
        threshold=threshold,
        ranking=ranked(scene, situation.plan, threshold),
        places=places,
        between=tuple(between(rules, subject, places)),
        spared=spares(rules, threshold.signal),
        loss=loss(scene.layout, situation.plan, threshold.signal),
        steps=reclaim.steps_for(rules, scene.layout, threshold.signal),
        reclaimed=_reclaimed(scene, situation.plan, threshold.signal),
    )


def _reclaimed(scene: Scene, plan: Plan, signal: str) -> ReclaimOutcome | None:
    """Under whichever signal of the file system it was ordered."""
    told = (plan.reclaimed.get(name) for name in same_disk(scene.layout, signal))
    return next((outcome for outcome in told if outcome is not None), None)


def changes(situation: Situation, explanation: Explanation, uid: str) -> tuple[Change, ...]:
    """What would let a pod stay, or go first, each tried."""
    return tuple(_Trial(situation, explanation, uid).changes())


def _threshold(given: Judged, signal: str | None) -> ThresholdStatus:
    """The line itself, as judged; one that is not configured is taken to be hard."""
    lines = by_urgency(given.pressure.thresholds)
    if signal is None:
        met = (line for line in lines if line.met and resource_of(line.signal) is not None)
        return next(met, None) or _threshold(given, MEMORY_AVAILABLE)
    found = (line for line in lines if line.signal == signal)
    unlined = ThresholdStatus(signal=signal, operator=LESS_THAN, value="", grace_period_seconds=0)
    return next(found, unlined)


class _Trial:
    """One pod, and the same node with something else written about it."""

    def __init__(self, situation: Situation, explanation: Explanation, uid: str) -> None:
        self._situation = situation
        self._explanation = explanation
        index = explanation.place_of(uid)
        self._verdict = explanation.ranking[index].verdict
        self._place = explanation.places[index]

    def changes(self) -> Iterator[Change]:
        """Those that have an effect."""
        match self._verdict:
            case Verdict.CRITICAL:
                return
            case Verdict.PROTECTED:
                yield from self._unprotected()
                return
        if self._is_first(self._place.pod):
            yield from self._staying()
        else:
            yield from self._going()
        yield Change(setting="protect: true", outcome="it never goes")

    def _unprotected(self) -> Iterator[Change]:
        """Its protection taken away, or itself named to be a candidate at all.

        Nothing of its own helps one that is kept by those with whom it would have to go.
        """
        pod = self._place.pod
        if evictable(self._situation.rules, pod):
            return
        setting = "protect: false" if pod.protected else "a label, or an entry under `workloads:`"
        named = structs.replace(pod, labelled=True, protected=False)
        first = "the first to go" if self._is_first(named) else "ranked as it is here"
        yield Change(setting=setting, outcome=f"it is a candidate, {first}")

    def _staying(self) -> Iterator[Change]:
        """The smallest priority, and the request, with which somebody else goes first."""
        own = self._place.priority
        for value in sorted(self._priorities(above=own)):
            if (other := self._first(structs.replace(self._place.pod, priority=value))) is not None:
                yield Change(setting=f"priority: {value}", outcome=f"{other} goes before it")
                break
        resource = _requestable(self._explanation.signal)
        if resource is not None and self._place.exceeds and self._place.usage is not None:
            requests = {**self._place.pod.requests, resource: self._place.usage}
            if (
                other := self._first(structs.replace(self._place.pod, requests=requests))
            ) is not None:
                amount = rounded_text(self._explanation.signal, self._place.usage)
                setting = f"request: {{{resource}: {amount}}}"
                yield Change(setting=setting, outcome=f"{other} goes before it")

    def _going(self) -> Iterator[Change]:
        """The greatest priority with which it is the first."""
        for value in sorted(self._priorities(below=self._place.priority), reverse=True):
            if self._is_first(structs.replace(self._place.pod, priority=value)):
                yield Change(setting=f"priority: {value}", outcome="it is the first to go")
                break

    def _priorities(
        self, *, above: int = PRIORITY_MIN - 1, below: int = PRIORITY_MAX + 1
    ) -> set[int]:
        """Those at which its order with somebody changes."""
        others = {priority(place.pod) for place in self._explanation.places}
        near = {value + step for value in others for step in (-1, 0, 1)}
        return {value for value in near if above < value < below}

    def _is_first(self, pod: Pod) -> bool:
        return self._first_uid(pod) == pod.uid

    def _first(self, pod: Pod) -> str | None:
        """Who goes first in its place; None if it is still this one, or nobody."""
        uid = self._first_uid(pod)
        if uid is None or uid == pod.uid:
            return None
        return next(
            name_text(place.pod) for place in self._explanation.places if place.pod.uid == uid
        )

    def _first_uid(self, pod: Pod) -> str | None:
        trial = self._situation.with_pod(pod)
        order = ranked(trial.scene, trial.plan, self._explanation.threshold)
        chosen = victim(order)
        if chosen is not None:
            return chosen.pod.uid
        if self._explanation.spared:
            return None  # nobody goes for want of somebody else
        return next(iter(may_go(order)), None)


def _requestable(signal: str) -> str | None:
    """What a request of that resource is called; None where nobody can ask for it."""
    match resource_of(signal):
        case Resource.MEMORY:
            return MEMORY
        case Resource.EPHEMERAL_STORAGE:
            return STORAGE
        case _:
            return None
