"""`evictd doctor` beside a real engine: directly, and through a proxy that allows too little."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROXY_IMAGE = "wollomatic/socket-proxy:1.10.0"
PROXY = "doctor-proxy"
VERSIONED = r"(/v1\.[0-9]+)?"
ALLOWED = "(_ping|version|events|containers/json|containers/[^/]+/json|images/[^/]+/json)"
"""As the Compose file has it, without `info`."""
STOPS = "containers/[^/]+/stop"
"""And without `start` and `images/prune`."""
HUNG_SECONDS_MAX = 40.0
"""Of both together, beside other tests; each waits for some seconds and goes on without."""
NAMES = ("doctor-mistaken", "doctor-healer", PROXY)
EVICTD = f"{sys.executable} -m evictd"
SLEEP = ("sh", "-c", "trap exit TERM; sleep 300 & wait")


@pytest.fixture
def household(docker_engine: Any) -> Iterator[Any]:
    """A container with a label that is a variable and one whose label is misspelt."""
    image = docker_engine.image
    mistakes = ("--env", "EVICTD_PROTECT=true", "--label", "evictd.prioity=high")
    options = ("run", "--detach", "--network=none")
    docker_engine.docker(*options, f"--name={NAMES[0]}", *mistakes, image, *SLEEP)
    docker_engine.docker("tag", image, "containrrr/watchtower:latest")
    reviving = ("--env", "WATCHTOWER_REVIVE_STOPPED=true", "containrrr/watchtower:latest")
    docker_engine.docker(*options, f"--name={NAMES[1]}", *reviving, *SLEEP)
    yield docker_engine
    docker_engine.run("sh", "-c", f"docker rm --force {' '.join(NAMES)} >/dev/null 2>&1 || true")
    docker_engine.docker("rmi", "containrrr/watchtower:latest")


def examined(engine: Any, folder: Path, host: str, mode: str = "observe") -> dict[str, list[Any]]:
    """The doctor's findings by check, asked where the engine's ports are."""
    (folder / "evictd.yaml").write_text(f"mode: {mode}\ncandidates: all\n")
    command = f"{EVICTD} doctor -o json --config {folder}/evictd.yaml || true"
    variables = {
        "DOCKER_HOST": host,
        "EVICTD_NODE": "lab",
        "EVICTD_STATEFOLDER": str(folder / "state"),
    }
    said = engine.inside("env", *map("=".join, variables.items()), "sh", "-c", command)
    found: dict[str, list[Any]] = {}
    for one in json.loads(said):
        found.setdefault(one["check"], []).append(one)
    return found


def asked_for(engine: Any, folder: Path, verb: str) -> str:
    """What a verb prints on a machine without a broker, whatever its exit code."""
    variables = (
        f"DOCKER_HOST={engine.host}",
        "EVICTD_NODE=lab",
        "EVICTD_BROKER=mqtt://127.0.0.1:1",  # nobody's; where it is looked for may be one
        f"EVICTD_STATEFOLDER={folder}/state",
        f"RUNTIME_DIRECTORY={folder}/run",
    )
    return str(engine.run("env", *variables, "sh", "-c", f"{EVICTD} {verb} 2>/dev/null || true"))


def states(found: dict[str, list[Any]]) -> dict[str, str]:
    """Of every endpoint."""
    return {
        check.removeprefix("engine "): every[0]["state"]
        for check, every in found.items()
        if check.startswith(("engine GET", "engine POST"))
    }


def test_beside_the_engine_everything_is_allowed_and_its_containers_are_examined(
    household: Any, tmp_path: Path
) -> None:
    before = household.docker("ps", "--quiet", "--no-trunc")
    found = examined(household, tmp_path, household.host)
    assert found["engine"][0]["text"].startswith("Docker ")
    assert set(states(found).values()) == {"ok"}
    assert len(states(found)) == 10
    texts = [one["text"] for one in found["labels"]]
    assert "container doctor-mistaken has the variable EVICTD_PROTECT" in texts
    assert any("evictd.prioity is not known; is evictd.priority meant?" in text for text in texts)
    assert found["healer watchtower"][0]["state"] == "problem"
    assert found["image file system"][0]["text"].startswith(str(household.socket.parent / "data"))
    assert household.docker("ps", "--quiet", "--no-trunc") == before


def test_behind_a_proxy_each_right_that_is_missing_is_named_with_its_variable(
    household: Any, tmp_path: Path
) -> None:
    """In `act` a refused start is a problem; while only watching it is worth a note."""
    household.docker(
        "run",
        "--detach",
        f"--name={PROXY}",
        "--network=host",
        f"--volume={household.socket}:/var/run/docker.sock",
        PROXY_IMAGE,
        "-listenip=127.0.0.1",
        f"-allowGET={VERSIONED}/{ALLOWED}",
        f"-allowPOST={VERSIONED}/{STOPS}",
    )
    household.inside(
        "sh",
        "-c",
        "i=0; until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 2375))'"
        " 2>/dev/null; do i=$((i + 1)); test $i -lt 100; done",
    )
    found = examined(household, tmp_path, "tcp://127.0.0.1:2375", mode="act")
    told = states(found)
    assert {name: state for name, state in told.items() if state != "ok"} == {
        "GET /info": "problem",
        "GET /containers/{id}/stats": "note",
        "GET /images/json": "note",
        "POST /containers/{id}/start": "problem",
    }
    assert "INFO=1" in found["engine GET /info"][0]["remedy"]
    assert "ALLOW_START=1" in found["engine POST /containers/{id}/start"][0]["remedy"]
    assert found["engine prunes"][0]["state"] == "note"
    watching = states(examined(household, tmp_path, "tcp://127.0.0.1:2375"))
    assert watching["POST /containers/{id}/start"] == "note"


def test_an_engine_that_is_stopped_is_named_by_doctor_and_status_and_delays_neither_for_long(
    docker_engine: Any, tmp_path: Path
) -> None:
    process = int((docker_engine.socket.parent / "dockerd.pid").read_text())
    os.kill(process, signal.SIGSTOP)
    began = time.monotonic()
    try:
        found = asked_for(docker_engine, tmp_path, "doctor")
        status = asked_for(docker_engine, tmp_path, "status")
    finally:
        os.kill(process, signal.SIGCONT)
    assert time.monotonic() - began < HUNG_SECONDS_MAX
    assert "does not answer: no answer within 3 s" in found
    assert "late:        docker does not answer" in status
    assert "conditions:  " in status
