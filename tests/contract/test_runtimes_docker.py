"""The Docker runtime against an engine's answers and faults, and the rules that read them."""

import json
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from tests.contract.engine_double import RUNNING, EngineDouble

from evictd.core.duty import StartResult, StopResult
from evictd.core.errors import PeerError
from evictd.runtimes import ChangeKind, Reclaimer
from evictd.runtimes.docker import DockerRuntime, Engine, engine, runtime
from evictd.runtimes.settings import WorkloadSettings
from evictd_schemas import PodReference

FIXTURES = Path(__file__).parents[1] / "fixtures" / "docker"
ID = "ab" * 32


async def test_a_hung_container_is_told_and_hides_no_other(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing is incomplete, so that nobody takes the hung one for gone."""
    monkeypatch.setattr(engine, "INSPECT_SECONDS", 0.2)
    hung = double.add("1", "hung")
    double.add("2", "web")
    double.hanging.add(f"containers/{hung}")
    listing = await docker.list()
    assert [found.pod.name for found in listing.workloads] == ["web"]
    assert not listing.complete
    assert listing.problems == (
        f"_/hung: container {hung[:12]}: no answer from the engine in 0.2 s",
    )


async def test_an_engine_that_hangs_is_a_peers_error(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a named time, never for ever."""
    monkeypatch.setattr(engine, "LIST_SECONDS", 0.2)
    double.hanging.add("containers/json")
    with pytest.raises(PeerError, match="containers: no answer from the engine"):
        await docker.list()


async def test_a_stop_that_hangs_has_failed(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grace and a margin are waited for."""
    monkeypatch.setattr(engine, "STOP_MARGIN_SECONDS", 0.2)
    web = double.add("1", "web")
    reference = (await docker.list()).workloads[0].reference
    double.hanging.add(f"containers/{web}/stop")
    outcome = await docker.stop(reference, 0)
    assert (outcome.result, outcome.why) == (
        StopResult.FAILED,
        f"stop of container {web[:12]}: no answer from the engine in 0.2 s",
    )


async def test_a_stop_asks_for_its_grace_and_is_confirmed(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """`t` is the grace; without one the container's own holds."""
    web = double.add("1", "web")
    reference = (await docker.list()).workloads[0].reference
    outcome = await docker.stop(reference, 7)
    assert (outcome.result, outcome.why) == (StopResult.GONE, "exit code 143")
    assert f"POST containers/{web}/stop?t=7" in double.asked
    assert not any("stats" in asked for asked in double.asked)


async def test_a_start_is_confirmed_by_the_engine(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """By the very id; what ends at once has not come back."""
    web = double.add("1", "web")
    double.inspections[web]["State"] = {**RUNNING, "Running": False}
    assert (await docker.start("_", "web", web)).result is StartResult.STARTED
    assert f"POST containers/{web}/start" in double.asked
    assert (await docker.start("_", "web", web)).result is StartResult.RUNNING
    dead = {"Running": False, "ExitCode": 127, "StartedAt": "2026-11-30T09:00:00Z"}
    double.inspections[web]["State"] = double.after_start = dead
    outcome = await docker.start("_", "web", web)
    assert (outcome.result, outcome.why) == (
        StartResult.FAILED,
        "it ended at once: exit code 127",
    )


async def test_a_start_that_hangs_has_failed(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a value, after a named time."""
    monkeypatch.setattr(engine, "START_SECONDS", 0.2)
    web = double.add("1", "web")
    double.inspections[web]["State"] = {**RUNNING, "Running": False}
    double.hanging.add(f"containers/{web}/start")
    outcome = await docker.start("_", "web", web)
    assert (outcome.result, outcome.why) == (
        StartResult.FAILED,
        f"start of container {web[:12]}: no answer from the engine in 0.2 s",
    )


async def test_a_removed_container_is_back_only_if_another_runs_under_its_name(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """Nobody else's container is started."""
    other = double.add("2", "web")
    assert (await docker.start("_", "web", "1" * 64)).result is StartResult.RUNNING
    double.inspections[other]["State"] = {**RUNNING, "Running": False}
    outcome = await docker.start("_", "web", "1" * 64)
    assert (outcome.result, outcome.why) == (StartResult.NOT_FOUND, "its container was removed")
    assert not any(asked.startswith("POST") for asked in double.asked)


async def test_a_one_off_run_never_comes_back(double: EngineDouble, docker: DockerRuntime) -> None:
    """Whoever began it waits for its end; labels do not change that."""
    double.add("1", "run-77", com_docker_compose_oneoff="True", evictd_restore="auto")
    (found,) = (await docker.list()).workloads
    assert found.pod.restore == "never"


async def test_an_image_cannot_protect_what_is_made_from_it(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """A label that the image already has is its author's, not the owner's."""
    double.add("1", "web", evictd_protect="true")
    double.images["sha256:1"] = {"Config": {"Labels": {"evictd.protect": "true"}}}
    (inherited,) = (await docker.list()).workloads
    assert not inherited.pod.protected
    double.images["sha256:1"] = {"Config": {"Labels": None}}
    fresh = DockerRuntime(Engine(double.address))
    (own,) = (await fresh.list()).workloads
    await fresh.close()
    assert own.pod.protected


async def test_configuration_wins_over_labels_and_a_manager_over_both(
    double: EngineDouble,
) -> None:
    """What somebody else would start again is never ours to stop."""
    double.add("1", "web", evictd_protect="true", evictd_priority="low")
    double.add("2", "task", com_docker_swarm_service_id="x")
    settings = WorkloadSettings(priority=5, protect=False, requests={"memory": 7})
    docker = DockerRuntime(Engine(double.address), settings_for=lambda _, __: settings)
    task, web = (await docker.list()).workloads
    assert (web.pod.priority, web.pod.protected, web.pod.requests) == (5, False, {"memory": 7})
    assert (task.pod.protected, task.pod.managed_by) == (True, "Swarm")
    outcome = await docker.stop(task.reference, 0)
    assert (outcome.result, outcome.why) == (StopResult.REFUSED, "it is managed by Swarm")
    await docker.close()


@pytest.mark.parametrize(
    ("image", "manager"),
    [
        ("tecnativa/docker-socket-proxy:0.3", "the socket proxy"),
        ("wollomatic/socket-proxy", "the socket proxy"),
        ("registry.local:5000/own/socket-proxy@sha256:0f", "the socket proxy"),
        ("localhost/podman-pause:4.3.1-0", "its Podman pod"),
        ("shop/websocket-proxy:1", None),
        ("shop/socket-proxy-tests:1", None),
    ],
)
async def test_a_proxy_before_the_socket_and_what_holds_a_pod_s_network_are_known_by_their_image(
    image: str, manager: str | None, double: EngineDouble, docker: DockerRuntime
) -> None:
    """Nobody has to label them: without the one nobody could be stopped, or started again, without
    the other all containers of a Podman pod are cut off."""
    double.inspections[double.add("1", "door")]["Config"]["Image"] = image
    (door,) = (await docker.list()).workloads
    assert (door.pod.managed_by, door.pod.protected) == (manager, manager is not None)


@pytest.mark.parametrize(
    ("label", "manager"),
    [
        ("com.docker.swarm.service.id", "Swarm"),
        ("io.kubernetes.pod.name", "kubelet"),
        ("PODMAN_SYSTEMD_UNIT", "systemd unit x"),
        ("com.hashicorp.nomad.alloc_id", "Nomad"),
        ("com.amazonaws.ecs.task-arn", "ECS"),
        ("io.balena.service-id", "balena Supervisor"),
        ("io.hass.type", "Home Assistant Supervisor"),
    ],
)
async def test_what_a_manager_has_marked_is_its_own(
    label: str, manager: str, double: EngineDouble, docker: DockerRuntime
) -> None:
    container = double.add("1", "task")
    double.listing[0]["Labels"] = {label: "x"}
    double.inspections[container]["Config"]["Labels"] = {label: "x"}
    (task,) = (await docker.list()).workloads
    assert (task.pod.managed_by, task.pod.protected) == (manager, True)
    outcome = await docker.stop(task.reference, 0)
    assert (outcome.result, outcome.why) == (StopResult.REFUSED, f"it is managed by {manager}")


async def test_evictds_own_containers_are_protected(double: EngineDouble, tmp_path: Path) -> None:
    """Our own, and others of the same image: the workers beside us."""
    own = double.add("1", "collector")
    double.add("2", "evictor")
    double.add("3", "web")
    double.inspections["3" * 64]["Image"] = "sha256:2"
    mount = f"1 2 3:4 /var/lib/docker/containers/{own}/hostname /etc/hostname rw - ext4 /dev/x rw"
    await anyio.Path(tmp_path / "mountinfo").write_text(mount + "\n")
    places = runtime.Places(cgroup=tmp_path, proc=tmp_path, own_process=tmp_path)
    docker = DockerRuntime(Engine(double.address), places=places)
    managed = {found.pod.name: found.pod.managed_by for found in (await docker.list()).workloads}
    await docker.close()
    assert managed == {"collector": "evictd", "evictor": "evictd", "web": None}


@pytest.mark.parametrize("amount", [0, 18446744073709551615, 9223372036854771712])
async def test_no_limit_is_never_a_figure(
    double: EngineDouble, docker: DockerRuntime, amount: int
) -> None:
    """Zero, 2^64 - 1 of Podman, 2^63 less a page of the kernel."""
    web = double.add("1", "web")
    double.inspections[web]["HostConfig"] = {"Memory": amount, "MemoryReservation": amount}
    (found,) = (await docker.list()).workloads
    assert (found.pod.limits, found.pod.requests) == ({}, {})


async def test_labels_that_do_not_read_are_told(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """What was probably meant, and the workload is listed all the same."""
    double.add(
        "1",
        "web",
        evictd_priority="urgent",
        evictd_protect="maybe",
        evictd_restore="sometimes",
        evictd_action="pause",
        evictd_enable="perhaps",
        evictd_role="db",
        evictd_responders="drain, acme.io/drain:5, acme.io/drain, acme.io/drain, a.k8s.io/b",
        evictd_prio="1",
    )
    listing = await docker.list()
    assert listing.problems == (
        "_/web: label evictd.priority=urgent: a whole number or one of low, normal, high is meant",
        "_/web: label evictd.enable=perhaps: true or false is meant; taken as false",
        "_/web: label evictd.protect=maybe: true or false is meant; taken as true",
        "_/web: label evictd.restore=sometimes: one of auto, manual, never is meant",
        "_/web: label evictd.action=pause: one of stop, restart, webhook is meant",
        "_/web: label evictd.role=db: one of broker, proxy, evictd is meant; taken as evictd",
        "_/web: label evictd.responders: 'drain': domain/name or domain/name:number is meant",
        "_/web: label evictd.responders: 'acme.io/drain:5': 5 is not within 1000 and 100000",
        "_/web: label evictd.responders: 'acme.io/drain': 'acme.io/drain' is there already",
        "_/web: label evictd.responders: 'a.k8s.io/b': the domain of 'a.k8s.io/b' is reserved",
        "_/web: label evictd.prio is not known; is evictd.priority meant?",
    )
    assert listing.complete
    pod = listing.workloads[0].pod
    assert pod.protected
    assert [item.name for item in pod.eviction_responders] == ["acme.io/drain"]


async def test_a_kernel_without_an_account_of_memory_is_told(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """As on small boards whose boot line leaves it out."""
    text = await anyio.Path(FIXTURES / "info-no-memory-cgroup.json").read_text()
    double.information = json.loads(text)
    listing = await docker.list()
    (problem,) = listing.problems
    assert problem.startswith("the kernel keeps no account of memory: boot with")


async def test_what_vanishes_between_list_and_look_is_dropped_quietly(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """Its end is not a fault of the engine."""
    web = double.add("1", "web")
    reference = (await docker.list()).workloads[0].reference
    del double.inspections[web]
    listing = await docker.list()
    assert (listing.workloads, listing.complete, listing.problems) == ((), True, ())
    assert (await docker.stop(reference, 0)).result is StopResult.NOT_FOUND


async def test_an_unreadable_answer_is_a_problem_and_not_a_crash(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """An engine that breaks its contract."""
    web = double.add("1", "web")
    double.inspections[web] = {"Id": 7}
    listing = await docker.list()
    assert not listing.complete
    assert "the engine's answer does not read" in listing.problems[0]


async def test_a_lost_event_stream_is_opened_again_from_where_it_ended(
    double: EngineDouble, docker: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill, out of memory and end of one second come in any order, and then `LOST`."""
    monkeypatch.setattr(runtime, "RECONNECT_SECONDS", (0.01,))
    double.events = [
        {"Type": "container", "Action": action, "Actor": {"ID": ID}, "timeNano": 5_000_000_007}
        for action in ("kill", "oom", "die")
    ]
    kinds = []
    with anyio.fail_after(10):
        async with aclosing(docker.watch()) as changes:
            async for change in changes:
                kinds.append(change.kind)
                if len(kinds) == 4:
                    break
    assert kinds == [
        ChangeKind.OUT_OF_MEMORY,
        ChangeKind.ENDED,
        ChangeKind.LOST,
        ChangeKind.OUT_OF_MEMORY,
    ]
    streams = [asked for asked in double.asked if asked.startswith("GET events")]
    assert "since" not in streams[0]
    assert "since=5.000000008" in streams[1]


async def test_reclaiming_touches_no_container(double: EngineDouble, docker: DockerRuntime) -> None:
    """Dangling images and build cache, and nothing else."""
    assert isinstance(docker, Reclaimer)

    async def go_on() -> bool:
        return True

    for step in sorted(docker.reclaim_steps):
        outcome = await docker.reclaim(step, stopped=frozenset(), go_on=go_on)
        assert outcome.listed_bytes == 4096
    asked = [found for found in double.asked if found.startswith("POST")]
    assert asked[0] == 'POST build/prune?all=1&filters={"until": ["24h"]}'
    assert asked[1] == 'POST images/prune?filters={"dangling": ["true"]}'
    unknown = await docker.reclaim("volumes", stopped=frozenset(), go_on=go_on)
    assert unknown.error == "not supported by docker"


async def test_a_name_that_was_never_listed_is_found_by_the_engines_listing(
    double: EngineDouble, docker: DockerRuntime
) -> None:
    """After a restart the first thing may be a stop."""
    double.add("1", "web")
    reference = (await docker.list()).workloads[0].reference
    fresh = DockerRuntime(Engine(double.address))
    other = PodReference(namespace="_", name="web", uid="another")
    assert (await fresh.stop(other, 0)).result is StopResult.OTHER_UID
    assert (await fresh.stop(reference, 0)).result is StopResult.GONE
    await fresh.close()
