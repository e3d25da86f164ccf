"""Who goes only with others: a group that is evicted together, and what others need.

What needs a workload goes before it. Whoever may not go keeps everybody with whom it would have to
go. It knows no signal and no figures; the order is given. [design, profile host]
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, structs

from evictd.core.decision.candidates import MAY_GO, Verdict
from evictd.core.wording import name_text
from evictd_schemas import Pod, RankedPod

Unit: TypeAlias = tuple[Pod, ...]
"""Everybody who goes with one workload, itself included, in the order in which they go."""


class Bonds(Struct, frozen=True, kw_only=True):
    """Who goes with whom, among pods in the order in which they would go.

    `units`: uid to its unit, only for those that do not go alone. `needing`: name to the pods that
    depend on it.
    """

    units: dict[str, Unit] = {}
    needing: dict[str, tuple[Pod, ...]] = {}

    def unit(self, pod: Pod) -> Unit:
        """Everybody who goes with it, those that need others first."""
        return self.units.get(pod.uid, (pod,))


def bonds(pods: Sequence[Pod]) -> Bonds:
    """Of these pods, in their order."""
    needing, groups = _needing(pods), _groups(pods)
    units: dict[str, Unit] = {}
    known: dict[frozenset[str], Unit] = {}  # all of a group have the same one
    for pod in pods:
        members = _closure(pod, needing, groups)
        if len(members) == 1:
            continue
        if members not in known:
            known[members] = _leaving_order([other for other in pods if other.uid in members])
        units[pod.uid] = known[members]
    return Bonds(units=units, needing=needing)


def bound(
    known: Bonds,
    pods: Mapping[str, Pod],
    order: Sequence[RankedPod],
    *,
    left_behind: frozenset[Verdict] = frozenset(),
) -> tuple[RankedPod, ...]:
    """The same order, with what bonds make of each verdict, and why.

    `left_behind`: who stays for that keeps nobody.
    """
    rows = {row.pod.uid: row for row in order}
    keeping = {uid for uid, row in rows.items() if row.verdict not in {*MAY_GO, *left_behind}}
    return tuple(_bound(known, pods[row.pod.uid], row, rows, keeping) for row in order)


def chosen(known: Bonds, pods: Mapping[str, Pod], order: Sequence[RankedPod]) -> Unit:
    """Who goes now: the unit whose last member has its turn first, none where nobody may go.

    So nobody goes, only because another one does, before its own turn has come.
    """
    places = {row.pod.uid: index for index, row in enumerate(order)}

    def turn(uid: str) -> tuple[int, int, int]:
        unit = known.unit(pods[uid])
        return max(places[other.uid] for other in unit), len(unit), places[uid]

    free = [row.pod.uid for row in order if row.verdict in MAY_GO]
    first = min(free, key=turn, default=None)
    unit = () if first is None else known.unit(pods[first])
    return tuple(pod for pod in unit if pod.uid in free)


def _bound(
    known: Bonds,
    pod: Pod,
    row: RankedPod,
    rows: Mapping[str, RankedPod],
    keeping: Collection[str],
) -> RankedPod:
    others = [other for other in known.unit(pod) if other.uid != pod.uid]
    if not others or row.verdict not in MAY_GO:
        return row
    staying = next((other for other in others if other.uid in keeping), None)
    if staying is not None:
        verdict = rows[staying.uid].verdict
        why = f"{_bond(known, pod, staying)} and stays ({verdict}); {row.why}"
        return structs.replace(row, verdict=verdict, why=why)
    return structs.replace(row, why="; ".join((row.why, *_companions(known, pod, others))))


def _companions(known: Bonds, pod: Pod, others: Sequence[Pod]) -> Iterable[str]:
    """Of each bond the names."""
    needing = {other.uid for other in known.needing.get(name_text(pod), ())}
    before = [name_text(other) for other in others if other.uid in needing]
    beside = [name_text(other) for other in others if other.uid not in needing]
    if before:
        yield f"after {', '.join(before)}, needing it"
    if beside:
        yield f"together with {', '.join(beside)}" + (f" (group {pod.group})" if pod.group else "")


def _bond(known: Bonds, pod: Pod, other: Pod) -> str:
    name = name_text(other)
    if any(one.uid == other.uid for one in known.needing.get(name_text(pod), ())):
        return f"{name} needs it"
    if pod.group and _group(pod) == _group(other):
        return f"{name} is of its group {pod.group}"
    return f"{name} would have to go with it"


def _needing(pods: Sequence[Pod]) -> dict[str, tuple[Pod, ...]]:
    found: dict[str, tuple[Pod, ...]] = {}
    for pod in pods:
        for name in pod.depends_on:
            found[name] = (*found.get(name, ()), pod)
    return found


def _groups(pods: Sequence[Pod]) -> dict[tuple[str, str], tuple[Pod, ...]]:
    found: dict[tuple[str, str], tuple[Pod, ...]] = {}
    for pod in pods:
        if pod.group:
            found[_group(pod)] = (*found.get(_group(pod), ()), pod)
    return found


def _group(pod: Pod) -> tuple[str, str]:
    """The same word in another namespace is another group."""
    return pod.namespace, pod.group or ""


def _closure(
    pod: Pod,
    needing: Mapping[str, Sequence[Pod]],
    groups: Mapping[tuple[str, str], Sequence[Pod]],
) -> frozenset[str]:
    """Uids of everybody who has to go if it goes."""
    open_pods, found = [pod], {pod.uid}
    entered: set[tuple[str, str]] = set()
    while open_pods:
        one = open_pods.pop()
        beside = () if _group(one) in entered else groups.get(_group(one), ())
        entered.add(_group(one))
        for other in (*needing.get(name_text(one), ()), *beside):
            if other.uid not in found:
                found.add(other.uid)
                open_pods.append(other)
    return frozenset(found)


def _leaving_order(members: Sequence[Pod]) -> Unit:
    """Who is needed by nobody that is left goes next; in a ring of needs the first of the order."""
    left = {name_text(pod): pod for pod in members}
    needs = Counter(need for name, pod in left.items() for need in {*pod.depends_on} - {name})
    order: list[Pod] = []
    while left:
        name = next((name for name in left if not needs[name]), next(iter(left)))
        pod = left.pop(name)
        needs.subtract({*pod.depends_on} - {name})
        order.append(pod)
    return tuple(order)
