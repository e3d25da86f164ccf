"""Who has registered as a responder, on which node. [contract 3, Registration]"""

from evictd.core.protocol.vocabulary import PresenceStatus
from evictd_schemas import Registration


class Registry:
    """The newest registration of each responder, and since when it has been lost."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Registration]] = {}
        self._lost: dict[str, dict[str, float]] = {}

    def of(self, node: str) -> dict[str, Registration]:
        """Every registration on a node, by the responder's name."""
        return self._held.get(node, {})

    def lost(self, node: str) -> dict[str, float]:
        """When each that was lost, and is not ready again, was first told to be, as boot time."""
        return self._lost.get(node, {})

    def take(
        self, node: str, responder: str, registration: Registration | None, boot_seconds: float
    ) -> bool:
        """Hold it, None for one that is gone; False where it says nothing about who is there."""
        held = self._held.setdefault(node, {})
        lost = self._lost.setdefault(node, {})
        if registration is None or registration.status == PresenceStatus.READY:
            lost.pop(responder, None)
        if registration is None:
            held.pop(responder, None)
        elif _outdated(registration, held.get(responder)):
            return False
        else:
            held[responder] = registration
            if registration.status == PresenceStatus.LOST:
                lost.setdefault(responder, boot_seconds)
        return True

    def forget(self, node: str) -> None:
        """Nothing is held of the node any more."""
        self._held.pop(node, None)
        self._lost.pop(node, None)


def _outdated(registration: Registration, held: Registration | None) -> bool:
    """A will of another connection than the one that is there."""
    if held is None or registration.status != PresenceStatus.LOST:
        return False
    return (registration.epoch, registration.connection) != (held.epoch, held.connection)
