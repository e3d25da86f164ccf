"""What owners write about their containers, in labels and in the configuration."""

import json
from pathlib import Path

import pytest
from tests.contract.engine_double import EngineDouble

from evictd.core.duty import StopResult
from evictd.runtimes.docker import DockerRuntime, Engine, runtime
from evictd.runtimes.workloads import settings_of
from evictd_schemas import Pod
from evictd_schemas.configuration import Configuration, ConfiguredResponder, Workload

HOOK = ConfiguredResponder(name="acme.io/hook", webhook="http://127.0.0.1:1/", priority=20_000)
OTHER_HOOK = ConfiguredResponder(name="acme.io/other", webhook="http://127.0.0.1:2/")
COMMAND = ConfiguredResponder(name="acme.io/drain", command=("true",))


async def only(
    double: EngineDouble, tmp_path: Path, configuration: Configuration | None = None
) -> tuple[Pod, tuple[str, ...]]:
    """The one container, and what is told of it."""
    places = runtime.Places(cgroup=tmp_path, proc=tmp_path, own_process=tmp_path)
    settings_for = settings_of(configuration or Configuration())
    docker = DockerRuntime(Engine(double.address), places=places, settings_for=settings_for)
    listing = await docker.list()
    await docker.close()
    (found,) = listing.workloads
    return found.pod, listing.problems


async def test_all_labels_are_read(double: EngineDouble, tmp_path: Path) -> None:
    """Each as the field of the wire that it means."""
    double.add(
        "1",
        "web",
        com_docker_compose_project="shop",
        com_docker_compose_service="web",
        evictd_priority="low",
        evictd_enable="true",
        evictd_action="restart",
        evictd_group="front",
        evictd_depends__on="db, blog/cache",
        evictd_restore="manual",
    )
    double.listing[0]["Labels"] |= {"com.docker.compose.depends_on": "cache:service_started:false"}
    double.inspections["1" * 64]["Config"]["Labels"] = double.listing[0]["Labels"]
    pod, problems = await only(double, tmp_path)
    assert (pod.namespace, pod.name, pod.priority) == ("shop", "web", -1000)
    assert (pod.labelled, pod.protected) == (True, False)
    assert (pod.action, pod.group, pod.restore) == ("restart", "front", "manual")
    assert pod.depends_on == ("shop/db", "blog/cache")
    assert not [text for text in problems if "label evictd" in text]


async def test_composes_own_needs_hold_without_a_label(
    double: EngineDouble, tmp_path: Path
) -> None:
    """An empty label takes them away."""
    web = double.add(
        "1", "web", com_docker_compose_project="shop", com_docker_compose_service="web"
    )
    labels = double.inspections[web]["Config"]["Labels"]
    labels["com.docker.compose.depends_on"] = "db:service_healthy:false,cache:service_started:true"
    pod, _ = await only(double, tmp_path)
    assert pod.depends_on == ("shop/db", "shop/cache")
    labels["evictd.depends-on"] = ""
    pod, _ = await only(double, tmp_path)
    assert pod.depends_on == ()


async def test_who_needs_a_service_needs_all_its_containers(
    double: EngineDouble, tmp_path: Path
) -> None:
    """By the names that they have on the bus."""
    project = {"com_docker_compose_project": "shop"}
    for number in ("1", "2"):
        container = double.add(number, f"db-{number}", com_docker_compose_service="db", **project)
        labels = double.inspections[container]["Config"]["Labels"]
        labels["com.docker.compose.container-number"] = number
    web = double.add("3", "web", com_docker_compose_service="web", **project)
    double.inspections[web]["Config"]["Labels"]["com.docker.compose.depends_on"] = "db:x:false"
    docker = DockerRuntime(Engine(double.address))
    pods = {found.pod.name: found.pod for found in (await docker.list()).workloads}
    await docker.close()
    assert pods["web"].depends_on == ("shop/db-1", "shop/db-2")


@pytest.mark.parametrize(
    ("labels", "labelled", "protected"),
    [
        ({"evictd_enable": "true"}, True, False),
        ({"evictd_enable": "false"}, True, True),
        ({"evictd_enable": "false", "evictd_priority": "low"}, True, True),
        ({"evictd_enable": "true", "evictd_protect": "true"}, True, True),
        ({}, False, False),
    ],
)
async def test_enable_lets_a_workload_take_part_or_leaves_it_alone(
    labels: dict[str, str],
    labelled: bool,
    protected: bool,
    double: EngineDouble,
    tmp_path: Path,
) -> None:
    """False keeps it from everything, whatever else is written and whoever asks."""
    double.add("1", "web", **labels)
    pod, _ = await only(double, tmp_path)
    assert (pod.labelled, pod.protected) == (labelled, protected)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("evictd.protect", "true"),
        ("evictd.enable", "false"),
        ("evictd.action", "restart"),
        ("evictd.responders", "acme.io/drain"),
    ],
)
async def test_what_an_image_says_of_itself_decides_nothing(
    label: str, value: str, double: EngineDouble, tmp_path: Path
) -> None:
    """Who runs it decides; another value than the image's is the owner's own."""
    web = double.add("1", "web")
    double.inspections[web]["Config"]["Labels"] = {label: value}
    double.images["sha256:1"] = {"Config": {"Labels": {label: value}}}
    pod, _ = await only(double, tmp_path)
    assert (pod.protected, pod.action, pod.eviction_responders) == (False, "stop", ())
    assert not pod.labelled
    double.images["sha256:1"] = {"Config": {"Labels": {label: "other"}}}
    pod, _ = await only(double, tmp_path)
    assert (pod.protected, pod.action, pod.eviction_responders) != (False, "stop", ())


async def test_the_configuration_wins_over_every_label(
    double: EngineDouble, tmp_path: Path
) -> None:
    """Key by key."""
    double.add(
        "1",
        "web",
        evictd_priority="high",
        evictd_enable="false",
        evictd_action="webhook",
        evictd_group="front",
        evictd_depends__on="db",
        evictd_restore="never",
    )
    workload = Workload(
        priority="low",
        enable=True,
        action="restart",
        group="back",
        depends_on=("cache", "shop/db"),
        restore="manual",
    )
    pod, _ = await only(double, tmp_path, Configuration(workloads={"web": workload}))
    assert (pod.priority, pod.protected, pod.action) == (-1000, False, "restart")
    assert (pod.group, pod.restore) == ("back", "manual")
    assert pod.depends_on == ("_/cache", "shop/db")
    left = Configuration(workloads={"web": Workload(enable=False, protect=False)})
    pod, _ = await only(double, tmp_path, left)
    assert pod.protected


@pytest.mark.parametrize(
    ("named", "asked"),
    [
        ("", ["acme.io/hook", "acme.io/other"]),
        ("acme.io/other", ["acme.io/other"]),
        ("acme.io/drain", ["acme.io/drain", "acme.io/hook", "acme.io/other"]),
    ],
)
async def test_what_is_left_to_a_webhook_is_left_to_configured_ones(
    named: str, asked: list[str], double: EngineDouble, tmp_path: Path
) -> None:
    """To those that it names, else to all; a URL never comes from a label."""
    labels = {"evictd_responders": named} if named else {}
    double.add("1", "web", evictd_action="webhook", **labels)
    configuration = Configuration(responders=(HOOK, OTHER_HOOK, COMMAND))
    pod, problems = await only(double, tmp_path, configuration)
    assert [responder.name for responder in pod.eviction_responders] == asked
    assert not [text for text in problems if "webhook" in text]


async def test_a_webhook_that_nobody_has_configured_is_told(
    double: EngineDouble, tmp_path: Path
) -> None:
    """One of another namespace is none either."""
    double.add("1", "web", evictd_action="webhook")
    elsewhere = ConfiguredResponder(name="acme.io/hook", webhook="http://x/", namespaces=("shop",))
    _, problems = await only(double, tmp_path, Configuration(responders=(elsewhere, COMMAND)))
    assert problems == (
        (
            "_/web: its action is webhook, and nothing under responders: has a webhook for it:"
            " only a hard eviction would stop it"
        ),
    )


async def test_who_is_not_named_is_no_candidate_because_there_are_webhooks(
    double: EngineDouble, tmp_path: Path
) -> None:
    double.add("1", "web")
    pod, _ = await only(double, tmp_path, Configuration(responders=(HOOK,)))
    assert (pod.labelled, pod.eviction_responders) == (False, ())


async def test_what_is_left_alone_is_not_stopped_whoever_asks(
    double: EngineDouble, tmp_path: Path
) -> None:
    """The last look sees it too."""
    double.add("1", "web", evictd_enable="no")
    docker = DockerRuntime(Engine(double.address))
    (web,) = (await docker.list()).workloads
    outcome = await docker.stop(web.reference, 0)
    await docker.close()
    assert (outcome.result, outcome.why) == (StopResult.REFUSED, "it is protected")
    assert json.dumps(double.asked).count("POST") == 0
