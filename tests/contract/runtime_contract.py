"""What every runtime promises, as tests over a bench that can start and end workloads of it.

A subclass gives the fixture `bench`; the fake, real control groups and a real engine run all of it.
"""

import re
from typing import Protocol

import anyio
from tests.lab.patience import PATIENCE

from evictd.core.duty import StartResult, StopOutcome, StopResult
from evictd.core.orders import Restore
from evictd.core.ways import Way
from evictd.runtimes import Change, ChangeKind, Runtime, Workload
from evictd_schemas import PodReference

LOOK_SECONDS = 0.05
STARTS = tuple(f"first-{number}" for number in range(15))
"""Names of what is started until a watch hears of one; the first one does mostly."""
BEGIN_SECONDS = 2
"""For the hint at each of them."""
HINT_SECONDS = 15 * PATIENCE
SAID_NOTHING_SECONDS = 10 * PATIENCE
"""The grace of who says nothing: what ends sooner has been given another one."""


class Bench(Protocol):
    """A runtime and the means to run something on it."""

    @property
    def runtime(self) -> Runtime: ...

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        """Begin a workload that ends on its stop signal at once, or never, if it is deaf."""

    async def end(self, name: str) -> None:
        """End it behind the runtime's back."""


async def listed(runtime: Runtime, name: str) -> Workload | None:
    """The workload of a name, if it runs."""
    listing = await runtime.list()
    return next((found for found in listing.workloads if found.pod.name == name), None)


async def running(
    bench: Bench, name: str, *, deaf: bool = False, protected: bool = False
) -> Workload:
    """Start one and wait until it is listed."""
    await bench.start(name, deaf=deaf, protected=protected)
    with anyio.fail_after(20):
        while True:
            if (found := await listed(bench.runtime, name)) is not None:
                return found
            await anyio.sleep(LOOK_SECONDS)


def killed_after(outcome: StopOutcome, grace_seconds: int) -> bool:
    """Whether it says that SIGKILL came once the grace was over.

    How late is no rule: first whoever is to stop it is asked whether it does, and a machine with
    much to do answers slowly.
    """
    said = re.search(r"SIGKILL after (\d+) s", outcome.why)
    return said is not None and int(said[1]) >= grace_seconds


class Watch:
    """What a runtime has hinted at so far. Nobody tells when a watch has begun: it has once a start
    is heard of."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._heard: list[Change] = []

    async def attend(self) -> None:
        """Hear everything, until cancelled."""
        async for change in self._runtime.watch():
            self._heard.append(change)

    async def begun(self, bench: Bench) -> None:
        """Start one workload after the other until it hears of one."""
        for name in STARTS:
            first = await running(bench, name)
            with anyio.move_on_after(BEGIN_SECONDS):
                await self.hears(ChangeKind.STARTED, first)
                return
        raise AssertionError("no start is heard of")

    async def hears(self, kind: ChangeKind, workload: Workload) -> None:
        """Wait until that is hinted at."""
        wanted = Change(kind=kind, runtime_id=workload.pod.runtime_id)
        while wanted not in self._heard:  # noqa: ASYNC110 - a value, which nobody announces
            await anyio.sleep(LOOK_SECONDS)


class RuntimeContract:
    """The promises. `bench` comes from the subclass, and whether the runtime is one that can start
    what it has stopped."""

    starts = True

    async def test_what_runs_is_listed_whole(self, bench: Bench) -> None:
        """Name, uid, runtime and its id; and the listing says that it is complete."""
        web = await running(bench, "web")
        listing = await bench.runtime.list()
        assert listing.complete
        assert web.pod.runtime == bench.runtime.name
        assert web.pod.runtime_id
        assert web.pod.namespace
        assert web.pod.phase == "Running"
        assert len(web.pod.uid) == 36

    async def test_listings_are_ordered_by_namespace_and_name(self, bench: Bench) -> None:
        """Whatever the order of starting."""
        for name in ("web", "api", "db"):
            await running(bench, name)
        workloads = (await bench.runtime.list()).workloads
        names = [(found.pod.namespace, found.pod.name) for found in workloads]
        assert names == sorted(names)
        assert {"web", "api", "db"} <= {name for _, name in names}

    async def test_a_life_keeps_its_uid_and_a_restarted_workload_has_another(
        self, bench: Bench
    ) -> None:
        """The uid names one life."""
        web = await running(bench, "web")
        again = await listed(bench.runtime, "web")
        assert again is not None
        assert again.pod.uid == web.pod.uid
        await bench.end("web")
        assert (await running(bench, "web")).pod.uid != web.pod.uid

    async def test_a_stop_is_confirmed_and_the_workload_listed_no_more(self, bench: Bench) -> None:
        """Gone means gone."""
        web = await running(bench, "web")
        outcome = await bench.runtime.stop(web.reference, 10)
        assert outcome.result is StopResult.GONE
        assert await listed(bench.runtime, "web") is None

    async def test_a_deaf_workload_is_killed_after_the_grace(self, bench: Bench) -> None:
        """SIGKILL comes when the grace is over, and not before."""
        web = await running(bench, "web", deaf=True)
        began_seconds = anyio.current_time()
        outcome = await bench.runtime.stop(web.reference, 1)
        assert outcome.result is StopResult.GONE
        assert 1 <= anyio.current_time() - began_seconds < SAID_NOTHING_SECONDS
        assert await listed(bench.runtime, "web") is None

    async def test_a_grace_of_zero_kills_at_once(self, bench: Bench) -> None:
        """Nothing is waited for."""
        web = await running(bench, "web", deaf=True)
        began_seconds = anyio.current_time()
        assert (await bench.runtime.stop(web.reference, 0)).result is StopResult.GONE
        assert anyio.current_time() - began_seconds < SAID_NOTHING_SECONDS

    async def test_an_unknown_name_is_not_found(self, bench: Bench) -> None:
        """Absence is a value."""
        web = await running(bench, "web")
        other = PodReference(namespace=web.pod.namespace, name="other", uid=web.pod.uid)
        assert (await bench.runtime.stop(other, 1)).result is StopResult.NOT_FOUND
        elsewhere = PodReference(namespace="elsewhere", name="web", uid=web.pod.uid)
        assert (await bench.runtime.stop(elsewhere, 1)).result is StopResult.NOT_FOUND
        assert await listed(bench.runtime, "web") is not None

    async def test_another_life_of_the_name_is_not_touched(self, bench: Bench) -> None:
        """The uid is looked at again at the last moment."""
        first = await running(bench, "web")
        await bench.end("web")
        second = await running(bench, "web")
        assert (await bench.runtime.stop(first.reference, 0)).result is StopResult.OTHER_UID
        still = await listed(bench.runtime, "web")
        assert still is not None
        assert still.pod.uid == second.pod.uid

    async def test_stopping_again_finds_the_end_and_stops_nothing(self, bench: Bench) -> None:
        """An order carried out twice after a crash tells the end again."""
        web = await running(bench, "web")
        await bench.runtime.stop(web.reference, 5)
        assert (await bench.runtime.stop(web.reference, 5)).ended

    async def test_a_smaller_grace_shortens_a_stop_that_runs(self, bench: Bench) -> None:
        """Hard never waits for soft, and both are told the same end."""
        web = await running(bench, "web", deaf=True)
        results: list[StopResult] = []

        async def stop(grace_seconds: int) -> None:
            results.append((await bench.runtime.stop(web.reference, grace_seconds)).result)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop, 600)
                await anyio.sleep(0.5)
                tasks.start_soon(stop, 1)
        assert results == [StopResult.GONE, StopResult.GONE]

    async def test_a_long_stop_does_not_delay_another(self, bench: Bench) -> None:
        """Each stop is on its own."""
        slow = await running(bench, "slow", deaf=True)
        quick = await running(bench, "quick")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.runtime.stop, slow.reference, 600)
            await anyio.sleep(0.2)
            with anyio.fail_after(10):
                outcome = await bench.runtime.stop(quick.reference, 5)
            assert outcome.result is StopResult.GONE
            await bench.runtime.stop(slow.reference, 0)

    async def test_a_protected_workload_is_refused_last(self, bench: Bench) -> None:
        """Whoever asked, and it says why."""
        web = await running(bench, "web", protected=True)
        assert web.pod.protected
        outcome = await bench.runtime.stop(web.reference, 0)
        assert outcome.result is StopResult.REFUSED
        assert "protected" in outcome.why
        assert await listed(bench.runtime, "web") is not None

    async def test_what_was_stopped_lives_again_or_that_is_refused(self, bench: Bench) -> None:
        """As it was, under another uid; a runtime that cannot says so and starts nothing."""
        web = await running(bench, "web")
        await bench.runtime.stop(web.reference, 10)
        namespace, runtime_id = web.pod.namespace, web.pod.runtime_id
        outcome = await bench.runtime.start(namespace, "web", runtime_id)
        again = await listed(bench.runtime, "web")
        if self.starts:
            assert outcome.result is StartResult.STARTED
            assert again is not None
            assert again.pod.runtime_id == runtime_id
            assert again.pod.uid != web.pod.uid
        else:
            assert outcome.result is StartResult.REFUSED
            assert outcome.why
            assert again is None

    async def test_a_life_that_was_started_again_is_hinted_at_and_safe_from_the_first_ones_stop(
        self, bench: Bench
    ) -> None:
        """As after a restart: an order for the first life that is carried out late finds another
        one."""
        if not self.starts:
            return  # what is started behind its back has a test of its own
        first = await running(bench, "web")
        assert (await bench.runtime.stop(first.reference, 10)).result is StopResult.GONE
        watch = Watch(bench.runtime)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.attend)
            await watch.begun(bench)
            where = (first.pod.namespace, "web", first.pod.runtime_id)
            assert (await bench.runtime.start(*where)).result is StartResult.STARTED
            with anyio.fail_after(HINT_SECONDS):
                await watch.hears(ChangeKind.STARTED, first)
            tasks.cancel_scope.cancel()
        assert (await bench.runtime.stop(first.reference, 0)).result is StopResult.OTHER_UID
        assert await listed(bench.runtime, "web") is not None

    async def test_who_says_nothing_is_stopped_alone_and_has_no_companions(
        self, bench: Bench
    ) -> None:
        """The defaults of what an owner may want; a word that nobody knows is never listed."""
        web = await running(bench, "web")
        assert web.pod.action == Way.STOP
        assert web.pod.group is None
        assert web.pod.restore in set(Restore)
        assert not web.pod.protected

    async def test_what_runs_is_not_started_again(self, bench: Bench) -> None:
        """Its life goes on."""
        web = await running(bench, "web")
        outcome = await bench.runtime.start(web.pod.namespace, "web", web.pod.runtime_id)
        assert outcome.result is StartResult.RUNNING
        again = await listed(bench.runtime, "web")
        assert again is not None
        assert again.pod.uid == web.pod.uid

    async def test_what_it_does_not_have_is_not_found_to_start(self, bench: Bench) -> None:
        """Absence is a value, and nothing is made."""
        outcome = await bench.runtime.start("elsewhere", "other", "no-such-id")
        assert outcome.result is StartResult.NOT_FOUND
        assert await listed(bench.runtime, "other") is None

    async def test_changes_are_hinted_at(self, bench: Bench) -> None:
        """A start and an end wake whoever watches."""
        watch = Watch(bench.runtime)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.attend)
            await watch.begun(bench)
            web = await running(bench, "web")
            with anyio.fail_after(HINT_SECONDS):
                await watch.hears(ChangeKind.STARTED, web)
                await bench.end("web")
                await watch.hears(ChangeKind.ENDED, web)
            tasks.cancel_scope.cancel()
