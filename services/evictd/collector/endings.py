"""Who has ended, for a list that is not whole.

Whom such a list leaves out stands, for a source that failed may know of it [contract 3,
podsComplete]. So one that its own runtime is known not to run any more is listed on, in a final
phase: else it would be evicted again and again, and never come back, while another runtime fails.
"""

from collections.abc import Set as AbstractSet

from msgspec import structs

from evictd_schemas import Pod

ENDED_PHASE = "Succeeded"
"""A runtime lists who runs; how the others ended it does not tell."""
TOLD_SECONDS = 600.0
"""So long it is told, that who was away hears of it; a view that has it keeps it."""
ENDED_MAX = 200
"""The newest are told: a machine may start and end many while a runtime fails for days."""


class Endings:
    """Who was listed and is not known to have ended, and who has."""

    def __init__(self) -> None:
        self._listed: dict[str, Pod] = {}
        self._ended: dict[str, tuple[float, Pod]] = {}

    def added(
        self, pods: tuple[Pod, ...], whole: AbstractSet[str], *, complete: bool, boot_seconds: float
    ) -> tuple[Pod, ...]:
        """The pods of one look and, unless it is `complete`, those that have ended.

        `whole` names the runtimes whose own list is whole and new.
        """
        listed = {pod.uid: pod for pod in pods}
        left = [pod for uid, pod in self._listed.items() if uid not in listed]
        unknown = {pod.uid: pod for pod in left if pod.runtime not in whole}
        self._listed = {**unknown, **listed}
        if complete:
            self._ended.clear()
            return pods
        self._ended.update(
            (pod.uid, (boot_seconds, structs.replace(pod, phase=ENDED_PHASE, stats=None)))
            for pod in left
            if pod.runtime in whole
        )
        self._forget(listed, boot_seconds)
        taken = {(pod.namespace, pod.name) for pod in pods}
        ended = {(pod.namespace, pod.name): pod for _, pod in self._ended.values()}
        return (*pods, *(pod for place, pod in ended.items() if place not in taken))

    def _forget(self, listed: dict[str, Pod], boot_seconds: float) -> None:
        kept = [
            (uid, (since, pod))
            for uid, (since, pod) in self._ended.items()
            if uid not in listed and boot_seconds - since <= TOLD_SECONDS
        ]
        self._ended = dict(kept[-ENDED_MAX:])
