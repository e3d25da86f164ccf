"""What evictd is run with: the Compose files and the broker's files agree with the code."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from evictd.shell.broker import USERS, access_list

ROOT = Path(__file__).parents[2]
SYSTEM = "docker-compose.yml"
SMALL = "compose.small.yml"
SOCKET = "/var/run/docker.sock"
ONE_SHOT = {"bus-init", "node-name"}
WORKERS = ("collector", "evaluator", "evictor", "controller", "responder")


def services(file: str) -> dict[str, dict[str, Any]]:
    """The services of a Compose file, anchors resolved."""
    return dict(yaml.safe_load((ROOT / file).read_text())["services"])


def engine_users(file: str) -> set[str]:
    """The services that have the engine's socket."""
    return {
        name
        for name, service in services(file).items()
        if any(str(volume).endswith(SOCKET) for volume in service.get("volumes", []))
    }


EACH_SERVICE = [
    pytest.param(service, id=f"{file}: {name}")
    for file in (SYSTEM, SMALL)
    for name, service in services(file).items()
]


@pytest.mark.parametrize("service", EACH_SERVICE)
def test_each_service_has_few_rights_and_bounded_logs(service: dict[str, Any]) -> None:
    """Read-only, no capability, no way to more; memory, processes and logs have an end, and the
    kernel's killer comes last."""
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert service["pids_limit"]
    assert service["mem_limit"]
    assert service["oom_score_adj"] == "${EVICTD_OOM_SCORE_ADJ:--900}"
    assert {"max-size", "max-file"} <= set(service["logging"]["options"])
    assert service["labels"] == {"evictd.protect": "true"}


def test_user_0_is_only_who_makes_logins_or_reads_the_operators() -> None:
    """Whoever uses the engine's socket may be given another; all others are the image's user."""
    for file in (SYSTEM, SMALL):
        users = {name: service.get("user") for name, service in services(file).items()}
        holders = engine_users(file)
        assert {name for name, user in users.items() if user == "0:0"} == {"bus-init", "cli"}
        assert {users[name] for name in holders} == {"${EVICTD_ENGINE_USER:-0:0}"}
        assert {users[name] for name in set(users) - holders - {"bus-init", "cli", "bus"}} <= {None}


def test_each_worker_is_a_service_of_the_one_image() -> None:
    """Its base may be another one; the broker is a whole version."""
    full, small = services(SYSTEM), services(SMALL)
    assert {tuple(full[worker]["command"][:2]) for worker in WORKERS} == {
        ("run", worker) for worker in WORKERS
    }
    assert full["demo"]["profiles"] == ["demo"]
    assert small["evictd"]["command"][0] == "up"
    for file in (full, small):
        brokers = {file[name]["image"] for name in ("bus", "bus-init")}
        assert brokers == {"eclipse-mosquitto:2.1.2-alpine"}
        images = {item["image"] for name, item in file.items() if name not in ("bus", "bus-init")}
        assert images == {"${EVICTD_IMAGE:-evictd:local}"}
    assert "\nARG BASE=python:3.12-slim\n" in (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize("file", [SYSTEM, SMALL])
def test_of_the_machine_a_collector_sees_figures_and_no_files(file: str) -> None:
    """Its kernel's files, and one empty folder on each file system that is watched."""
    collector = services(file)["collector" if file == SYSTEM else "evictd"]
    mounts = dict(volume.removesuffix(":ro").rsplit(":", 1) for volume in collector["volumes"])
    seen = {source: target for source, target in mounts.items() if target.startswith("/host/")}
    assert seen == {
        "/proc": "/host/proc",
        "/sys/fs/cgroup": "/host/cgroup",
        "${EVICTD_FOLDER:-/var/lib/evictd/nodefs}": "/host/nodefs",
        "imagefs": "/host/imagefs",
    }
    told = yaml.safe_load(collector["environment"]["EVICTD_SOURCES"])
    places = {told["procPath"], told["cgroupPath"], *told["fileSystems"].values()}
    assert places == set(seen.values())


@pytest.mark.parametrize("file", [SYSTEM, SMALL])
def test_what_is_of_the_machine_is_read_only_and_state_is_in_named_volumes(file: str) -> None:
    """The socket apart, about which `:ro` would say nothing."""
    volumes = yaml.safe_load((ROOT / file).read_text())["volumes"]
    for name, service in services(file).items():
        for volume in service.get("volumes", []):
            source = str(volume).removesuffix(":ro").rsplit(":", 1)[0]
            mine = source in volumes
            assert mine or str(volume).endswith((":ro", SOCKET)), f"{name}: {volume}"
    for name in WORKERS if file == SYSTEM else ["evictd"]:
        state = "state" if file == SMALL else f"{name}-state"
        assert f"{state}:/var/lib/evictd" in services(file)[name]["volumes"]
    made = "install -d --owner 10001 --group 0 --mode 0770 /var/lib/evictd "
    assert made in (ROOT / "Dockerfile").read_text(), "a new volume takes the owner from the image"


@pytest.mark.parametrize("file", [SYSTEM, SMALL])
def test_node_and_broker_can_be_said_in_the_environment(file: str) -> None:
    """Without a word the node is the engine's, which is asked once, and the broker is the file's
    own."""
    everything = services(file)
    asked = everything["node-name"]
    assert asked["command"] == ["node-name", "--write", "/run/node/name"]
    assert asked["environment"] == {"EVICTD_NODE": "${EVICTD_NODE:-}"}
    for name in set(everything) - {"bus", "bus-init", "node-name"}:
        told = everything[name]["environment"]
        assert told["EVICTD_NODE_FILE"] == "/run/node/name"
        assert told["EVICTD_BROKER"] == "${EVICTD_BROKER:-mqtt://bus:1883}"
        assert "node:/run/node:ro" in everything[name]["volumes"]


@pytest.mark.parametrize("file", [SYSTEM, SMALL])
def test_only_who_lists_or_stops_containers_has_the_engines_socket(file: str) -> None:
    """Whoever has it is root on the machine."""
    speakers = {"collector", "responder"} if file == SYSTEM else {"evictd"}
    assert engine_users(file) == {"node-name", *speakers}


def test_the_shipped_access_list_is_the_one_that_the_topics_give() -> None:
    """Written by `evictd access-list`; who changes the topics writes it again."""
    assert (ROOT / "deploy/mosquitto/acl").read_text() == access_list()


@pytest.mark.parametrize("file", [SYSTEM, SMALL])
def test_each_container_logs_in_under_the_name_of_its_password(file: str) -> None:
    """Said aloud, so that `evictd status` in a worker's container has a login too."""
    environments = [service.get("environment", {}) for service in services(file).values()]
    logins = [told for told in environments if "EVICTD_BROKERPASSWORD_FILE" in told]
    assert len(logins) == (7 if file == SYSTEM else 2)
    for told in logins:
        assert Path(told["EVICTD_BROKERPASSWORD_FILE"]).stem == told["EVICTD_BROKERUSER"]


def test_people_have_a_container_of_their_own_with_the_operators_login() -> None:
    """It does not start with the others, and has no socket."""
    for file in (SYSTEM, SMALL):
        service = services(file)["cli"]
        assert service["profiles"] == ["cli"]
        assert service["environment"]["EVICTD_BROKERUSER"] == "operator"
        assert not any("docker.sock" in volume for volume in service["volumes"])


def test_every_login_of_the_access_list_is_made_by_bus_init() -> None:
    """A user without a password could not come in, and one without a rule could do nothing."""
    script = (ROOT / "deploy/mosquitto/bus-init.sh").read_text()
    assert all(re.search(rf"\b{user}\b", script) for user in USERS)


@pytest.mark.parametrize("file", [SYSTEM, SMALL])
def test_what_stays_up_is_asked_for_its_health_once_a_minute(file: str) -> None:
    """Rarely enough to cost nothing, and each with a time to start in."""
    checks = {
        name: service.get("healthcheck")
        for name, service in services(file).items()
        if name not in ONE_SHOT and "profiles" not in service
    }
    assert all(check and check["interval"] == "60s" for check in checks.values()), checks
    assert all("start_period" in check for check in checks.values() if check)


def test_both_compose_files_have_the_same_broker() -> None:
    """It is written twice because the old tool cannot include one file in another."""
    full, small = services(SYSTEM), services(SMALL)
    assert {name: full[name] for name in ("bus-init", "bus")} == {
        name: small[name] for name in ("bus-init", "bus")
    }


def test_the_broker_is_reached_from_this_machine_only() -> None:
    """Who wants it on a network adds TLS first."""
    published = [port for service in services(SYSTEM).values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:${EVICTD_PORT:-18830}:1883"]


@pytest.mark.parametrize("file", [SYSTEM, SMALL, "deploy/compose.socket-proxy.yml"])
def test_the_files_use_nothing_that_only_a_new_tool_knows(file: str) -> None:
    """`start_interval` and `include` are refused by docker-compose 1.29; `version` is obsolete."""
    text = (ROOT / file).read_text()
    document = yaml.safe_load(text)
    assert not {"version", "include", "name"} & set(document)
    assert "start_interval" not in text
