"""The pods of a scenario: who is there, in which life, with which figures."""

from typing import Any
from uuid import UUID, uuid5

import msgspec

from evictd.core.wording import name_text
from evictd.runtimes.settings import SettingsFor, configured
from evictd.simulation.scenario import PodEntry, PodForm
from evictd_schemas import Pod, PodReference

LIVES = UUID("3f6f5f0a-6c1f-5d1e-8f0b-b5a2a3c0d917")
"""The name space of uids: the same story has the same uids in every run."""
SHORT_FORMS = ("uses", "asks", "stopSeconds", "stopFails")
MERGED = ("uses", "asks", "requests", "limits", "labels", "annotations")
"""Keys of which a later entry gives only what changes."""

Name = tuple[str, str]


class Cast:
    """All pods that are there now, in the order in which they came."""

    def __init__(self, settings_for: SettingsFor) -> None:
        self.entries: dict[Name, PodEntry] = {}
        self._settings_for = settings_for
        self._lives: dict[Name, int] = {}
        self._left: dict[Name, PodEntry] = {}
        """Who was stopped, as it was."""

    def take(self, entry: PodEntry) -> None:
        """Somebody new, or what has changed about somebody."""
        name = _name(entry)
        held = self.entries.get(name)
        if held is None:
            self._lives[name] = self._lives.get(name, 0) + 1
        changed = {
            key: {**(held or {}).get(key, {}), **value} if key in MERGED and value else value
            for key, value in entry.items()
        }
        self.entries[name] = {**(held or {}), **changed}

    def replace(self, entries: tuple[PodEntry, ...]) -> None:
        """These and nobody else."""
        listed = {_name(entry) for entry in entries}
        self.entries = {name: held for name, held in self.entries.items() if name in listed}
        for entry in entries:
            self.take(entry)

    def find(self, text: str) -> Name | None:
        """Who is meant by `namespace/name` or by the name alone."""
        for name in self.entries:
            if text in ("/".join(name), name[1]):
                return name
        return None

    def leave(self, pod: PodReference) -> bool:
        """This life is over; False when it was over already."""
        name = (pod.namespace, pod.name)
        if name not in self.entries or self.pod(name).uid != pod.uid:
            return False
        self._left[name] = self.entries.pop(name)
        return True

    def come_back(self, pod: PodReference) -> bool:
        """Another life of one that was stopped; False for one that was not, or is there again."""
        name = (pod.namespace, pod.name)
        if name not in self._left or name in self.entries:
            return False
        entry = self._left.pop(name)
        entry.pop("uid", None)
        self.take(entry)
        return True

    def find_pod(self, pod: PodReference) -> Pod | None:
        """This very life, None where it is over."""
        name = (pod.namespace, pod.name)
        found = self.pod(name) if name in self.entries else None
        return None if found is None or found.uid != pod.uid else found

    def form(self, pod: PodReference) -> PodForm | None:
        """The entry of this life, short forms included."""
        entry = self.entries.get((pod.namespace, pod.name))
        return None if entry is None else msgspec.convert(entry, PodForm)

    def pods(self) -> tuple[Pod, ...]:
        """As an observation lists them."""
        return tuple(self.pod(name) for name in self.entries)

    def pod(self, name: Name) -> Pod:
        """One of them."""
        pod = pod_of(self.entries[name], self._lives[name])
        return configured(pod, self._settings_for(pod.namespace, pod.name))


def _name(entry: PodEntry) -> Name:
    return entry.get("namespace", "default"), entry["name"]


def pod_of(entry: PodEntry, life: int = 1) -> Pod:
    """An entry as a pod of the wire."""
    values: dict[str, Any] = {key: held for key, held in entry.items() if key not in SHORT_FORMS}
    values.setdefault("namespace", "default")
    if not values.get("uid"):
        values["uid"] = str(uuid5(LIVES, f"{values['namespace']}/{values['name']}/{life}"))
    if (uses := entry.get("uses")) is not None:
        values["stats"] = _statistics(values["name"], uses) if uses else None
    if (asks := entry.get("asks")) is not None:
        values["requests"] = {**asks, **values.get("requests", {})}
    return msgspec.convert(values, Pod)


def name_of(pod: Pod | PodReference) -> str:
    """`namespace/name`, the namespace left out where there is only the default one."""
    return pod.name if pod.namespace == "default" else name_text(pod)


def _statistics(name: str, uses: dict[str, Any]) -> dict[str, Any]:
    """The short form as the Summary API has it."""
    layer, logs, inodes = (uses.get(key) for key in ("layer", "logs", "inodes"))
    statistics: dict[str, Any] = {
        "memory": _given(
            workingSetBytes=uses.get("memory"),
            rssBytes=uses.get("anonymous"),
            shmemBytes=uses.get("shared"),
            swapBytes=uses.get("swap"),
        )
    }
    if "processes" in uses:
        statistics["process_stats"] = {"process_count": uses["processes"]}
    if layer is not None or logs is not None or inodes is not None:
        root = _given(usedBytes=layer, inodesUsed=inodes)
        statistics["containers"] = [{"name": name, "rootfs": root, "logs": _given(usedBytes=logs)}]
        total = (layer or 0) + (logs or 0)
        statistics["ephemeral-storage"] = _given(usedBytes=total, inodesUsed=inodes)
    return statistics


def _given(**figures: Any) -> dict[str, Any]:
    return {key: figure for key, figure in figures.items() if figure is not None}
