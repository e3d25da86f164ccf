"""What each runtime listed last, and whether that is whole and new.

A runtime that is late or fails leaves what it listed before: known workloads are measured without
it.
"""

from collections.abc import Awaitable, Callable, Sequence

import anyio

from evictd.collector.probe import DEADLINE_SECONDS, Probe
from evictd.core.errors import PeerError
from evictd.runtimes import Listing, Runtime, Workload
from evictd.shell.clock import Clock


class Listings:
    """One probe for each runtime, so that a hung one hides no other."""

    def __init__(
        self, runtimes: Sequence[Runtime], clock: Clock, answered: Callable[[str], None]
    ) -> None:
        self._probes = {
            runtime.name: Probe(runtime.name, _bounded(runtime), clock, answered)
            for runtime in runtimes
        }
        # Threads go over it while a look replaces what is in it: no key ever comes or goes.
        self._held: dict[str, tuple[Workload, ...]] = dict.fromkeys(self._probes, ())

    @property
    def probes(self) -> tuple[Probe[Listing], ...]:
        """To be started, waited for and told of."""
        return tuple(self._probes.values())

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Of all runtimes, as each listed them last."""
        return tuple(workload for listed in self._held.values() for workload in listed)

    @property
    def names(self) -> frozenset[str]:
        """Of all runtimes."""
        return frozenset(self._probes)

    def take(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """Use the newest list of each; whose is whole and new, and what they tell."""
        whole: set[str] = set()
        problems: list[str] = []
        for name, probe in self._probes.items():
            fresh = probe.use()
            if fresh and probe.value is not None:
                self._held[name] = probe.value.workloads
            if fresh and probe.value is not None and probe.value.complete:
                whole.add(name)
            problems += [] if probe.value is None else probe.value.problems
        return frozenset(whole), tuple(problems)


def _bounded(runtime: Runtime) -> Callable[[], Awaitable[Listing]]:
    """A runtime's list, given up after the deadline; unlike a thread it can be cancelled."""

    async def read() -> Listing:
        with anyio.move_on_after(DEADLINE_SECONDS):
            return await runtime.list()
        raise PeerError(f"no answer within {DEADLINE_SECONDS:g} s")

    return read
