"""Labels and owners of an Eviction: who takes part, and whose wish it is.

[eviction-request-api 5.6]
"""

from collections.abc import Iterable, Mapping, Sequence

from evictd.core.protocol.vocabulary import Role
from evictd_schemas import API_VERSION, EvictionRequest, OwnerReference

Labels = dict[str, str]


def compute(
    labels: Mapping[str, str],
    responders: Iterable[str] | None,
    requests: Iterable[EvictionRequest],
) -> Labels:
    """The labels that the controller owns: one a participant.

    `responders` None: the target is gone, and whoever was labelled as a responder stays one.
    """
    if responders is None:
        responders = [name for name, role in labels.items() if role in _RESPONDING]
    requesting = {request.spec.requester: str(Role.REQUESTER) for request in requests}
    responding = {
        name: str(Role.BOTH if name in requesting else Role.RESPONDER) for name in responders
    }
    return requesting | responding


def needs_update(labels: Mapping[str, str], computed: Mapping[str, str]) -> bool:
    """Whether a label is new or differs, or that of a requester has to go; others are foreign."""
    missing = any(labels.get(name) != role for name, role in computed.items())
    return missing or any(_dropped(name, role, computed) for name, role in labels.items())


def updated(labels: Mapping[str, str], computed: Mapping[str, str]) -> Labels:
    """The labels to write: ours replaced, foreign ones left alone."""
    kept = {name: role for name, role in labels.items() if not _dropped(name, role, computed)}
    return {**kept, **computed}


def owner_reference(request: EvictionRequest) -> OwnerReference:
    """The reference to one request; it neither controls nor blocks."""
    return OwnerReference(
        api_version=API_VERSION,
        kind="EvictionRequest",
        name=request.metadata.name,
        uid=request.metadata.uid,
    )


def owners(
    held: Sequence[OwnerReference], requests: Sequence[EvictionRequest], *, keep: bool
) -> tuple[OwnerReference, ...]:
    """One reference a request that is not being deleted.

    Upstream never removes one (`keep`); here those that are gone go as long as another is left.
    """
    live = {request.metadata.uid for request in requests}
    if not keep and live:
        held = [owner for owner in held if owner.uid in live]
    known = {owner.uid for owner in held}
    new = [
        owner_reference(request)
        for request in requests
        if request.metadata.deletion_timestamp is None and request.metadata.uid not in known
    ]
    return (*held, *new)


_RESPONDING = frozenset({Role.RESPONDER, Role.BOTH})


def _dropped(name: str, role: str, computed: Mapping[str, str]) -> bool:
    return role == Role.REQUESTER and name not in computed
