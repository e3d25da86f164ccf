"""The responder's hands: finding a life among the runtimes, stopping it once, starting it again.

It knows no Eviction and no bus. One runtime that hangs never holds up what another one has.
"""

from collections.abc import Sequence

import anyio
import structlog
from msgspec import structs

from evictd.core.duty import Neighbours, StartOutcome, StartResult, StopOutcome, StopResult
from evictd.core.errors import EvictdError
from evictd.runtimes import Bereft, Keeper, Lender, Listing, Runtime
from evictd_schemas import Pod, PodReference, PodStatistics

LOOK_SECONDS = 10.0
"""For the listing of one runtime; its own time-outs are shorter."""
HOMES_MAX = 10_000
"""Lives whose runtime is remembered; beyond it all are forgotten and every runtime is asked."""
WEIGHTS = {
    StopResult.GONE: 0,
    StopResult.REFUSED: 1,
    StopResult.FAILED: 2,
    StopResult.OTHER_UID: 3,
    StopResult.NOT_FOUND: 4,
}
"""Of the answers of several runtimes the first in this order counts: one that had it knows best."""

START_WEIGHTS = {
    StartResult.STARTED: 0,
    StartResult.RUNNING: 1,
    StartResult.FAILED: 2,
    StartResult.UNASKED: 3,
    StartResult.REFUSED: 4,
    StartResult.NOT_FOUND: 5,
}

log = structlog.get_logger(__name__)


class Hands:
    """All runtimes of this machine."""

    def __init__(self, runtimes: Sequence[Runtime]) -> None:
        self._runtimes = tuple(runtimes)
        self._homes: dict[str, Runtime] = {}
        self._problems: dict[str, str] = {}

    async def look(self, pod: PodReference, statistics: PodStatistics | None) -> Pod | None:
        """The life as its runtime lists it, with the last figures known of it.

        None when no runtime lists it now. The first that has it answers.
        """
        found: list[Pod] = []

        async def ask(runtime: Runtime) -> None:
            listed = _find(await self._listing(runtime), pod)
            if listed is not None:
                self._remember(pod.uid, runtime)
                found.append(listed)
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for runtime in self._runtimes:
                tasks.start_soon(ask, runtime)
        return structs.replace(found[0], stats=statistics) if found else None

    async def survey(self) -> Neighbours:
        """All workloads of all runtimes, each of which is waited for."""
        listings: list[tuple[str, Listing]] = []

        async def ask(runtime: Runtime) -> None:
            listing = await self._listing(runtime)
            for found in listing.workloads:
                self._remember(found.pod.uid, runtime)
            listings.append((runtime.name, listing))

        async with anyio.create_task_group() as tasks:
            for runtime in self._runtimes:
                tasks.start_soon(ask, runtime)
        missing = [
            f"{name} does not list everything" + "".join(f": {text}" for text in listing.problems)
            for name, listing in listings
            if not listing.complete
        ]
        return Neighbours(
            pods=tuple(found.pod for _, listing in listings for found in listing.workloads),
            problem="; ".join(missing) or None,
        )

    async def stop(self, pod: PodReference, grace_seconds: int | None) -> StopOutcome:
        """By the runtime that listed it; after a restart, by whichever still has it."""
        home = self._homes.get(pod.uid)
        if home is not None:
            return await home.stop(pod, grace_seconds)
        outcomes: list[StopOutcome] = []

        async def ask(runtime: Runtime) -> None:
            outcome = await runtime.stop(pod, grace_seconds)
            outcomes.append(outcome)
            if outcome.result in (StopResult.GONE, StopResult.REFUSED):
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for runtime in self._runtimes:
                tasks.start_soon(ask, runtime)
        nothing = StopOutcome(result=StopResult.NOT_FOUND)
        return min(outcomes, key=lambda outcome: WEIGHTS[outcome.result], default=nothing)

    async def start(self, pod: PodReference, runtime_id: str) -> StartOutcome:
        """By the first runtime that has it.

        They are asked one after the other, so that nothing is started twice.
        """
        outcomes: list[StartOutcome] = []
        for runtime in self._runtimes:
            outcome = await runtime.start(pod.namespace, pod.name, runtime_id)
            if outcome.runs:
                return outcome
            outcomes.append(outcome)
        nothing = StartOutcome(result=StartResult.NOT_FOUND, why="no runtime has it")
        return min(outcomes, key=lambda outcome: START_WEIGHTS[outcome.result], default=nothing)

    async def keeps(self, pod: PodReference, runtime_id: str) -> bool | None:
        """Whether what was stopped is still there to be started; None where nobody can tell."""
        for runtime in self._runtimes:
            if isinstance(runtime, Keeper):
                answer = await runtime.keeps(pod.namespace, pod.name, runtime_id)
                if answer is not None:
                    return answer
        return None

    async def bereft(self, pod: PodReference, runtime_id: str) -> Bereft:
        """Who has lost its network with the former life of one that runs again."""
        found = [
            await runtime.bereft(pod.namespace, pod.name, runtime_id)
            for runtime in self._runtimes
            if isinstance(runtime, Lender)
        ]
        return Bereft(
            pods=tuple(one for bereft in found for one in bereft.pods),
            problems=tuple(problem for bereft in found for problem in bereft.problems),
        )

    async def _listing(self, runtime: Runtime) -> Listing:
        """What it lists; a runtime that fails lists nothing, and that is said once."""
        problem = ""
        try:
            with anyio.fail_after(LOOK_SECONDS):
                listing: Listing = await runtime.list()
        except TimeoutError:
            problem = f"no listing in {LOOK_SECONDS:g} s"
        except EvictdError as error:
            problem = str(error)
        if problem and problem != self._problems.get(runtime.name):
            log.warning("a runtime lists nothing", runtime=runtime.name, problem=problem)
        self._problems[runtime.name] = problem
        return Listing(complete=False, problems=(problem,)) if problem else listing

    def _remember(self, uid: str, runtime: Runtime) -> None:
        if len(self._homes) >= HOMES_MAX:
            self._homes.clear()
        self._homes[uid] = runtime


def _find(listing: Listing, pod: PodReference) -> Pod | None:
    return next((found.pod for found in listing.workloads if found.reference == pod), None)
