"""What waits in the controller's inbox, and who comes first.

It knows no topic, and decides nothing about a target. [design, law 7]
"""

from collections.abc import Iterable

from evictd.controller.desk import Entry
from evictd.core.protocol.case import Case
from evictd.core.protocol.inputs import Given, Requested
from evictd.core.protocol.requesters import presses
from evictd.shell.inbox import Inbox


class Queue:
    """Targets of pressure come first, however many requests of others wait."""

    def __init__(self, inbox: Inbox[Given]) -> None:
        self._inbox = inbox

    def add(self, entries: Iterable[Entry]) -> None:
        """Whatever a message means."""
        for entry in entries:
            if isinstance(entry.given, Requested) and presses(entry.given.request):
                self._inbox.pressing.add(entry.key)
            self._inbox.feed(entry.key, entry.given, slot=entry.slot)

    def weigh(self, key: str, case: Case) -> None:
        """After a step: whether pressure still wants it."""
        if any(presses(held.request) for held in case.requests):
            self._inbox.pressing.add(key)
        else:
            self._inbox.pressing.discard(key)
