"""A real Docker Engine under the suite of all runtimes, and what only an engine can show."""

from __future__ import annotations

import itertools
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.contract.runtime_contract import RuntimeContract, listed, running
from tests.services.responder.machine import NODE, Machine, eviction
from tests.waiting import until

from evictd.core.duty import StartResult, StopResult
from evictd.runtimes.docker import DockerRuntime, Engine
from evictd.runtimes.docker.inspection import ContainerState, Inspected
from evictd.runtimes.docker.layers import writable_layer
from evictd_schemas import Order, OrderStatus, PodReference, Report, Stopped, topics

pytestmark = pytest.mark.timeout(900)  # the first run makes the base image

WILLING = "trap 'exit 3' TERM; while :; do sleep 0.1; done"
DEAF = "trap '' TERM; while :; do sleep 0.1; done"
NUMBERS = itertools.count(1)


async def told(machine: Machine, topic: str, kind: Any, state: str | None = None) -> Any:
    """What is said on a topic, once it is said; of a status, once it is in that state."""
    with anyio.fail_after(20):
        while True:
            found = machine.retained(topic, kind)
            if found is not None and (state is None or found.state == state):
                return found
            await anyio.sleep(0.05)


async def answers_sigterm(process: int) -> bool:
    """Whether its shell has come to say what it does then: until then process 1 ignores it."""
    status = await anyio.Path(f"/proc/{process}/status").read_text()
    masks = [line.split()[1] for line in status.splitlines() if line.startswith(("SigI", "SigC"))]
    return any(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in masks)


class DockerBench:
    """Containers of a Compose project of their own, started by the real client."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.project = f"bench{next(NUMBERS)}"
        self.runtime = DockerRuntime(Engine(engine.host), own_names=("the-broker",))

    async def start(self, name: str, *, deaf: bool = False, protected: bool = False) -> None:
        labels = {"evictd.protect": "true"} if protected else {}
        container = await self.run(name, script=DEAF if deaf else WILLING, labels=labels)
        process = await self.docker("inspect", "--format={{.State.Pid}}", container)
        await until(lambda: answers_sigterm(int(process)))

    async def end(self, name: str) -> None:
        await self.docker("rm", "--force", f"{self.project}-{name}-1")

    async def run(
        self,
        name: str,
        *options: str,
        number: int = 1,
        script: str = WILLING,
        labels: dict[str, str] | None = None,
    ) -> str:
        """One container as Compose would make it; its id."""
        marks = {
            "com.docker.compose.project": self.project,
            "com.docker.compose.service": name,
            "com.docker.compose.container-number": str(number),
            **(labels or {}),
        }
        words = [f"--label={key}={value}" for key, value in marks.items()]
        container = f"{self.project}-{name}-{number}"
        command = ("run", "--detach", "--network=none", f"--name={container}", *words, *options)
        printed = await self.docker(*command, self.engine.image, "sh", "-c", script)
        return printed.strip()

    async def docker(self, *arguments: str) -> str:
        """The client, away from the event loop."""
        call = partial(self.engine.docker, *arguments)
        return str(await anyio.to_thread.run_sync(call))

    async def clear(self) -> None:
        """Take away what this bench started."""
        mine = f"label=com.docker.compose.project={self.project}"
        ids = (await self.docker("ps", "--all", "--quiet", f"--filter={mine}")).split()
        if ids:
            await self.docker("rm", "--force", *ids)


class TestDockerRuntime(RuntimeContract):
    """Containers as workloads."""

    @pytest.fixture
    async def bench(self, docker_engine: Any) -> AsyncIterator[DockerBench]:
        bench = DockerBench(docker_engine)
        yield bench
        await bench.runtime.close()
        await bench.clear()

    async def test_names_are_composes_and_numbered_only_where_there_are_several(
        self, bench: DockerBench
    ) -> None:
        """A stopped replica counts, so that a name does not change when one is evicted."""
        await bench.run("web")
        await bench.run("web", number=2)
        await bench.run("db")
        names = {
            found.pod.name
            for found in (await bench.runtime.list()).workloads
            if found.pod.namespace == bench.project
        }
        assert names == {"web-1", "web-2", "db"}
        second = await listed(bench.runtime, "web-2")
        assert second is not None
        await bench.runtime.stop(second.reference, 5)
        assert await listed(bench.runtime, "web-1") is not None
        assert await listed(bench.runtime, "web-2") is None

    async def test_a_container_that_has_ended_is_gone_although_it_is_still_there(
        self, bench: DockerBench
    ) -> None:
        """After a crash between the stop and its record, the record can still be made."""
        web = await running(bench, "web")
        await bench.docker("stop", web.pod.runtime_id)
        fresh = DockerRuntime(Engine(bench.engine.host))
        outcome = await fresh.stop(web.reference, 5)
        await fresh.close()
        assert (outcome.result, outcome.why) == (StopResult.GONE, "it had ended, exit code 3")

    async def test_a_container_that_was_started_again_is_another_life(
        self, bench: DockerBench
    ) -> None:
        """The same container, stopped and started: the uid differs, and it is left alone."""
        web = await running(bench, "web")
        await bench.docker("restart", web.pod.runtime_id)
        again = await listed(bench.runtime, "web")
        assert again is not None
        assert again.pod.runtime_id == web.pod.runtime_id
        assert again.pod.uid != web.pod.uid
        assert (await bench.runtime.stop(web.reference, 0)).result is StopResult.OTHER_UID
        assert await listed(bench.runtime, "web") is not None

    async def test_a_stop_never_removes(self, bench: DockerBench) -> None:
        """The container and what is in it stay, so that it can come back."""
        web = await running(bench, "web")
        await bench.runtime.stop(web.reference, 5)
        state = await bench.docker("inspect", "--format={{.State.Status}}", web.pod.runtime_id)
        assert state.strip() == "exited"

    async def test_a_paused_container_is_listed_and_stopped(self, bench: DockerBench) -> None:
        """Pausing does not make it safe from memory pressure."""
        web = await running(bench, "web", deaf=True)
        await bench.docker("pause", web.pod.runtime_id)
        paused = await listed(bench.runtime, "web")
        assert paused is not None
        assert not paused.pod.ready
        assert (await bench.runtime.stop(paused.reference, 1)).result is StopResult.GONE

    async def test_labels_limits_and_places_are_read(self, bench: DockerBench) -> None:
        """Reservation as request, the stop time-out as grace, cgroups that are there."""
        await bench.run(
            "web",
            "--memory=64m",
            "--memory-reservation=32m",
            "--stop-timeout=7",
            labels={
                "evictd.priority": "high",
                "evictd.restore": "never",
                "evictd.depends-on": "db",
                "evictd.group": "front",
                "evictd.responders": "acme.io/drain:20000",
                "evictd.prioritty": "1",
            },
        )
        listing = await bench.runtime.list()
        (web,) = (found for found in listing.workloads if found.pod.namespace == bench.project)
        assert web.pod.priority == 1000
        assert web.pod.labelled
        assert web.pod.restore == "never"
        assert web.pod.depends_on == (f"{bench.project}/db",)
        assert web.pod.group == "front"
        assert web.pod.requests == {"memory": 32 << 20}
        assert web.pod.limits == {"memory": 64 << 20}
        assert web.pod.termination_grace_period_seconds == 7
        assert [item.name for item in web.pod.eviction_responders] == ["acme.io/drain"]
        assert listing.problems == (
            f"{bench.project}/web: label evictd.prioritty is not known; is evictd.priority meant?",
        )
        for place in (web.whereabouts.memory_cgroup, web.whereabouts.unified_cgroup):
            assert place is not None
            assert web.pod.runtime_id in place
            assert await anyio.Path(place).is_dir()
        assert web.whereabouts.main_process_id
        assert web.whereabouts.writable_layer
        assert await anyio.Path(web.whereabouts.writable_layer).is_dir()
        process = Inspected(
            id=web.pod.runtime_id, state=ContainerState(pid=web.whereabouts.main_process_id)
        )
        by_kernel = await anyio.to_thread.run_sync(writable_layer, process, Path("/proc"))
        assert by_kernel == web.whereabouts.writable_layer

    async def test_no_limit_is_no_figure(self, bench: DockerBench) -> None:
        """A container without limits has neither request nor limit."""
        web = await running(bench, "web")
        assert (web.pod.requests, web.pod.limits) == ({}, {})
        assert web.pod.termination_grace_period_seconds == 10

    async def test_the_broker_and_what_others_manage_is_refused(self, bench: DockerBench) -> None:
        """Whoever asks."""
        await bench.run("the-broker")
        await bench.run("task", labels={"com.docker.swarm.service.id": "abc"})
        await bench.run("proxy", labels={"evictd.role": "proxy"})
        reasons = {}
        for name in ("the-broker", "task", "proxy"):
            found = await listed(bench.runtime, name)
            assert found is not None
            assert found.pod.protected
            outcome = await bench.runtime.stop(found.reference, 0)
            assert outcome.result is StopResult.REFUSED
            reasons[name] = outcome.why
        assert reasons == {
            "the-broker": "it is managed by evictd",
            "task": "it is managed by Swarm",
            "proxy": "it is managed by the socket proxy",
        }

    async def test_an_engine_that_is_not_there_fails_as_a_value(self, bench: DockerBench) -> None:
        """A stop tells it; nothing is raised."""
        web = await running(bench, "web")
        nowhere = DockerRuntime(Engine("unix:///nonexistent/docker.sock"))
        outcome = await nowhere.stop(web.reference, 0)
        await nowhere.close()
        assert outcome.result is StopResult.FAILED
        assert outcome.why

    async def test_reclaiming_takes_images_that_nothing_uses_and_no_other(
        self, bench: DockerBench
    ) -> None:
        """A nameless image of a stopped container stays; one that nothing uses goes."""
        web = await bench.run("web", script="echo something > /file")
        used = (await bench.docker("commit", web)).strip()
        unused = (await bench.docker("commit", "--message=unused", web)).strip()
        mark = f"--label=com.docker.compose.project={bench.project}"
        await bench.docker("create", "--network=none", mark, used, "true")

        async def go_on() -> bool:
            return True

        outcome = await bench.runtime.reclaim("danglingImages", stopped=frozenset(), go_on=go_on)
        assert outcome.error is None
        left = (await bench.docker("images", "--all", "--quiet", "--no-trunc")).split()
        assert used in left
        assert unused not in left
        cache = await bench.runtime.reclaim("buildCache", stopped=frozenset(), go_on=go_on)
        assert cache.error is None
        await bench.clear()
        await bench.docker("rmi", used)

    async def test_the_built_in_responder_stops_a_real_container(self, bench: DockerBench) -> None:
        """From the Eviction on the bus to the record of what is down; nothing is removed."""
        web = await running(bench, "web")
        machine = Machine(bench.runtime)
        names = {"namespace": bench.project, "name": "web-1"}
        async with machine.life():
            machine.say(eviction(web.reference), topics.EVICTION.at(NODE, **names))
            record = topics.STOPPED.at(NODE, namespace=bench.project, name="web")
            stopped = await told(machine, record, Stopped)
        assert (stopped.uid, stopped.runtime_id) == (web.pod.uid, web.pod.runtime_id)
        assert await listed(bench.runtime, "web") is None
        (report,) = (
            msgspec.json.decode(payload, type=Report)
            for topic, payload in machine.bus.retained.items()
            if "/responders/" in topic
        )
        assert report.target_gone
        assert report.message == f"{bench.project}/web was stopped: exit code 3"

    async def test_the_built_in_responder_brings_a_real_container_back(
        self, bench: DockerBench
    ) -> None:
        """The same container, another life; what is down is taken back before the answer."""
        web = await running(bench, "web")
        machine = Machine(bench.runtime)
        names = {"namespace": bench.project, "name": "web-1"}
        record = topics.STOPPED.at(NODE, namespace=bench.project, name="web")
        target = PodReference(namespace=bench.project, name="web", uid=web.pod.uid)
        async with machine.life():
            machine.say(eviction(web.reference), topics.EVICTION.at(NODE, **names))
            await told(machine, record, Stopped)
            order = Order(uid="back", kind="Restore", target=target)
            machine.say(order, topics.ORDER.at(NODE, name="restore"))
            answer = topics.ORDER_STATUS.at(NODE, name="restore")
            status = await told(machine, answer, OrderStatus, "Finished")
        assert status.order_uid == "back"
        assert record not in machine.bus.retained
        again = await listed(bench.runtime, "web")
        assert again is not None
        assert again.pod.runtime_id == web.pod.runtime_id
        assert again.pod.uid != web.pod.uid

    async def test_what_was_removed_or_made_anew_is_not_started(self, bench: DockerBench) -> None:
        """One made anew under its name and running counts as back; one that is only made is its
        maker's."""
        web = await running(bench, "web")
        await bench.end("web")
        gone = await bench.runtime.start(bench.project, "web", web.pod.runtime_id)
        assert gone.result is StartResult.NOT_FOUND
        await running(bench, "web")
        replaced = await bench.runtime.start(bench.project, "web", web.pod.runtime_id)
        assert replaced.result is StartResult.RUNNING

    async def test_what_ends_at_once_has_failed(self, bench: DockerBench) -> None:
        """A command that does not exist any more, or a mount that is gone."""
        made = await bench.docker(
            "create",
            "--network=none",
            f"--label=com.docker.compose.project={bench.project}",
            bench.engine.image,
            "/no/such/command",
        )
        outcome = await bench.runtime.start(bench.project, "web", made.strip())
        assert outcome.result is StartResult.FAILED
        assert "start of container" in outcome.why
