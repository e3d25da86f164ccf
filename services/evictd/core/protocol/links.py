"""What ties an Eviction to those who take part: its chain, their deadlines, labels and owners.

[eviction-request-api 5.4: 5, 5.6] [contract 3, Eviction, Registration]
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from evictd.core.moments import Now, after
from evictd.core.protocol import chain, facts, labels
from evictd.core.protocol.case import Case, Run, stamp, taking_part, with_eviction
from evictd.core.protocol.inputs import ControllerRules
from evictd.core.protocol.patience import HEARTBEAT_SECONDS
from evictd.core.protocol.progression import SILENCE_SECONDS, Terms
from evictd.core.protocol.vocabulary import DEFAULT_RESPONDER, PresenceStatus
from evictd_schemas import DeclaredResponder, Eviction, Registration


def with_chain(
    rules: ControllerRules, case: Case, eviction: Eviction, now: Now
) -> tuple[Case, Eviction]:
    """The chain, made at the first sync, and what is remembered beside it.

    The latter is made anew where the journal was lost and the Eviction was read back.
    """
    found, _ = chain.initial(
        rules.policy,
        eviction.status.target_responders,
        eviction.spec.target,
        case.pod,
        rules.registrations,
    )
    status = structs.replace(eviction.status, target_responders=chain.ordered(found))
    eviction = structs.replace(eviction, status=status)
    if not found or case.run.eviction_uid == eviction.metadata.uid:
        return case, eviction
    names = [item.name for item in found]
    return structs.replace(case, run=_run(rules, case, eviction, names, now)), eviction


def refreshed(rules: ControllerRules, case: Case, eviction: Eviction) -> Case:
    """Labels and owners, which an Eviction gets even after its end."""
    part = taking_part(rules, case, is_dry=eviction.status.dry_run)
    requests = [held.request for held in part]
    responders = None
    if not case.gone and not facts.gone(eviction.spec.target, case.pod):
        declared = facts.responders(rules.policy, eviction.spec.target, case.pod)
        in_chain = [item.name for item in eviction.status.target_responders]
        responders = [*(item.name for item in declared), *in_chain]
    metadata = eviction.metadata
    computed = labels.compute(metadata.labels, responders, requests)
    metadata = structs.replace(
        metadata,
        labels=labels.updated(metadata.labels, computed),
        owner_references=labels.owners(
            metadata.owner_references, requests, keep=rules.policy.keeps_owners
        ),
    )
    return with_eviction(case, structs.replace(eviction, metadata=metadata))


def _run(
    rules: ControllerRules, case: Case, eviction: Eviction, names: Sequence[str], now: Now
) -> Run:
    pod = facts.consulted(rules.policy, eviction.spec.target, case.pod)
    declared = {item.name: item for item in pod.eviction_responders} if pod is not None else {}
    registered = {name: rules.registrations[name] for name in names if name in rules.registrations}
    return Run(
        eviction_uid=eviction.metadata.uid,
        terms={name: silence_terms(declared.get(name), registered.get(name)) for name in names},
        heartbeat_seconds={
            name: float(item.heartbeat_seconds or HEARTBEAT_SECONDS)
            for name, item in registered.items()
        },
        lost_times={
            name: _lost_time(rules, name, now)
            for name, item in registered.items()
            if item.status == PresenceStatus.LOST
        },
        dry_able=(
            DEFAULT_RESPONDER,
            *(name for name, item in registered.items() if item.supports_dry_run),
        ),
    )


def _lost_time(rules: ControllerRules, name: str, now: Now) -> datetime:
    """When it was told; now, where that is not known."""
    since = rules.lost_boot_seconds.get(name, now.boot_seconds)
    return after(stamp(now), since - now.boot_seconds)


def silence_terms(declared: DeclaredResponder | None, registered: Registration | None) -> Terms:
    """How long one responder may be silent.

    What the pod says of it counts before what it says of itself.
    """
    sources = [item for item in (declared, registered) if item is not None]
    starts = [item.start_deadline_seconds for item in sources if item.start_deadline_seconds]
    beats = [item.heartbeat_deadline_seconds for item in sources if item.heartbeat_deadline_seconds]
    return Terms(
        start_seconds=float(next(iter(starts), SILENCE_SECONDS)),
        heartbeat_seconds=float(next(iter(beats), SILENCE_SECONDS)),
    )
