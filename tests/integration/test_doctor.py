"""`evictd doctor` as a process: with a broker and without, as root and as a plain user.

And the trial of a broker, which must leave nothing behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.integration.conftest import Mosquitto
from tests.integration.processes import Site
from tests.sockets import bind

from evictd.client import connect
from evictd.shell.broker import OwnedBroker, access_list
from evictd.shell.bus import link_trial
from evictd.shell.bus.address import Address, address
from evictd.shell.bus.link_trial import trial
from evictd.shell.journal_store import Store
from evictd_schemas import Registration, WorkerStatus, topics

NODE = "doctor-1"
ROOTS = "from evictd.cli import main; main()"
PLAIN = """
import anyio, os, evictd.cli.doctor, evictd.cli.status
anyio.run(anyio.sleep, 0)
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
evictd.cli.main()
"""
"""As somebody who may do nothing. Loaded before: root's Python may be for root alone to read."""


def doctor(
    folder: Path, *arguments: str, program: str = ROOTS, verb: str = "doctor", **variables: str
) -> subprocess.CompletedProcess[str]:
    """A verb on this machine, of which nothing of evictd is configured unless it is told."""
    environment = {
        "PATH": f"{os.environ['PATH']}:/usr/sbin",
        "HOME": str(folder),
        "EVICTD_NODE": NODE,
        "EVICTD_STATEFOLDER": str(folder / "state"),
        "RUNTIME_DIRECTORY": str(folder / "run"),
        "DOCKER_HOST": f"unix://{folder}/engine.sock",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-c", program, verb, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=40,
        cwd="/",
        env=environment,
    )


def read(result: subprocess.CompletedProcess[str]) -> dict[str, list[dict[str, Any]]]:
    """The findings by check."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(result.stdout):
        found.setdefault(one["check"], []).append(one)
    return found


def test_without_engine_and_broker_it_tells_both_and_everything_else(tmp_path: Path) -> None:
    result = doctor(tmp_path, "-o", "json")
    found = read(result)
    assert (result.returncode, result.stderr) == (1, "")
    assert found["engine"][0]["text"] == f"{tmp_path}/engine.sock is not there"
    assert found["broker"][0]["state"] == "problem"
    checks = {"configuration", "surroundings", "cgroups", "sysctls", "state folder", "clock"}
    assert checks <= set(found)


def test_each_problem_says_what_it_means_and_what_to_do(tmp_path: Path) -> None:
    for found in read(doctor(tmp_path, "-o", "json")).values():
        for one in found:
            assert one["state"] in ("ok", "note", "problem")
            assert one["state"] != "problem" or (one["means"] and one["remedy"])


def test_a_person_reads_a_line_a_check_and_the_sum_apart_from_the_data(tmp_path: Path) -> None:
    result = doctor(tmp_path)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ok       configuration ")
    index = next(i for i, line in enumerate(lines) if line.startswith("problem  engine "))
    assert lines[index + 1].startswith("         means: no container is seen")
    assert lines[index + 2].startswith("         to do: ")
    assert result.stderr.split()[1] == "problems,"


def test_as_a_plain_user_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    """With an engine's socket that nobody may use."""
    with socket.socket(socket.AF_UNIX) as listener:
        bind(listener, tmp_path / "engine.sock")
        (tmp_path / "engine.sock").chmod(0)
        nowhere = str(tmp_path / "none")
        result = doctor(tmp_path, "-o", "json", program=PLAIN, EVICTD_STATEFOLDER=nowhere)
    assert (result.returncode, result.stderr) == (1, "")
    found = read(result)
    assert found["user"][0]["state"] == "note"
    assert "may not use" in found["engine"][0]["text"]
    assert found["cgroups"][0]["state"] in ("ok", "problem")


def test_a_plain_user_beside_a_state_folder_that_is_roots_learns_what_to_do(tmp_path: Path) -> None:
    locked = tmp_path / "state"
    locked.mkdir()
    for name in ("broker-record.json", "controller.journal", "responder.journal"):
        (locked / name).write_text("{}")
    locked.chmod(0)
    result = doctor(tmp_path, "-o", "json", program=PLAIN, verb="status")
    assert (result.returncode, "Traceback" in result.stderr) == (5, False)
    if os.geteuid() == 0:  # who is no root owns the folder, and may be told otherwise
        assert "try it with sudo" in result.stderr
    assert json.loads(result.stdout)["journal"].startswith("none that can be read")
    found = read(doctor(tmp_path, "-o", "json", program=PLAIN))
    assert found["state folder"][0]["state"] == "note"
    assert "journal" not in found
    locked.chmod(0o700)


def test_a_start_over_a_journal_of_another_version_ends_in_words_that_the_doctor_has_too(
    tmp_path: Path,
) -> None:
    """What is in it stays as it is: another version may go on with it."""
    row = ("shop/web", b'{"pod": 7}', b"[]")
    store = Store(tmp_path / "state" / "responder.journal")
    store.open()
    store.write([row], {}, None)
    store.close()
    result = doctor(tmp_path, verb="up")
    assert (result.returncode, "Traceback" in result.stderr) == (1, False)
    told = f"the journal {tmp_path}/state/responder.journal is damaged or of another version"
    assert told in result.stderr.splitlines()[-1]
    assert "move it away" in result.stderr.splitlines()[-1]
    (found,) = read(doctor(tmp_path, "-o", "json"))["journal"]
    assert (found["state"], found["text"].startswith(told)) == ("problem", True)
    store.open()
    assert store.rows() == [row]
    store.close()


def test_a_broken_configuration_is_a_finding_and_the_rest_is_told_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "evictd.yaml").write_text("evictionHrd: {memory.available: 5%}\nmode: acct\n")
    result = doctor(tmp_path, "-o", "json", "--config", str(tmp_path / "evictd.yaml"))
    found = read(result)
    assert [one["state"] for one in found["configuration"]] == ["problem", "problem"]
    assert "evictd.yaml:1:1" in found["configuration"][0]["text"]
    assert "cgroups" in found


def test_a_mosquittos_file_is_looked_at_where_it_is_named(tmp_path: Path) -> None:
    fixture = Path(__file__).parents[1] / "fixtures" / "mosquitto" / "websockets-on-1883.conf"
    found = read(doctor(tmp_path, "-o", "json", "--broker-file", str(fixture)))
    assert found["broker file"][0]["text"] == "port 1883 speaks WebSockets"
    assert doctor(tmp_path, "--broker-file", str(tmp_path / "none")).returncode == 2


def test_an_open_broker_on_this_machine_is_reached_and_noted(
    shared_broker: Mosquitto, tmp_path: Path
) -> None:
    found = read(doctor(tmp_path, "-o", "json", "--broker", shared_broker.url))
    assert found["broker"][0]["state"] == "ok"
    assert found["broker list"][0]["state"] == "ok"
    assert found["broker access"][0]["state"] == "ok"
    assert found["broker strangers"][0]["state"] == "note"
    assert found["broker place"][0]["text"] == "on this machine"
    assert found["node name"][0]["state"] == "ok"


def test_beside_a_running_evictd_broker_and_protection_are_examined_also_while_the_broker_hangs(
    tmp_path: Path,
) -> None:
    """Others may run evictd on this machine too, so that only what is ours is looked at."""
    site = Site(folder=tmp_path, settings={})
    with site.running("up"):
        pid = site.processes["up"].pid
        found = read(doctor(tmp_path, "-o", "json", **site.environment))
        for check in ("broker", "broker list", "broker access", "broker strangers", "broker file"):
            assert [one["state"] for one in found[check]] == ["ok"], found[check]
        told = str(found["protection of evictd"])
        assert str(pid) in told or " more: " in told
        assert f"process {pid}" in found["second evictd"][0]["text"]
        broker = json.loads((tmp_path / "state" / "broker-record.json").read_text())["pid"]
        os.kill(broker, signal.SIGSTOP)
        try:
            found = read(doctor(tmp_path, "-o", "json", **site.environment))
            status = doctor(tmp_path, "-o", "json", verb="status", **site.environment)
        finally:
            os.kill(broker, signal.SIGCONT)
    assert "end that process" in found["broker"][0]["remedy"]
    assert status.returncode == 5
    told = json.loads(status.stdout)
    assert (told["source"], "responder" in told["workers"]) == ("machine", True)


async def test_the_owned_broker_lets_the_operator_in_and_no_stranger(tmp_path: Path) -> None:
    async with OwnedBroker(tmp_path / "state") as broker:
        operator = await trial(broker.address("operator"))
        assert operator.failure is None
        assert operator.came_back
        viewer = await trial(broker.address("viewer"))
        assert (viewer.failure, viewer.came_back) == (None, False)
        stranger = await trial(address(broker.url))
        assert stranger.failure is not None
        assert "uthor" in stranger.failure


async def test_a_trial_leaves_nothing_behind(broker: Mosquitto) -> None:
    """Nobody who comes after it, or was there before it, has anything of it."""
    async with connect(broker.url) as before:
        await trial(address(broker.url))
        async with connect(broker.url) as after:
            for mirror in (before, after):
                assert [*mirror.objects(topics.WORKER)] == []
    assert (await trial(address(broker.url))).listed == 0


async def test_workers_on_the_bus_are_heard_with_their_machines(broker: Mosquitto) -> None:
    async with connect(broker.url) as mirror:
        status = WorkerStatus(worker="all", status="ready", machine="m1", epoch=1)
        mirror.publish(topics.WORKER, status, NODE, worker="all")
    (heard,) = (await trial(address(broker.url))).workers
    assert (heard.node, heard.worker, heard.status, heard.machine) == (NODE, "all", "ready", "m1")


def test_a_list_that_the_broker_cuts_is_longer_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that keeps few messages for one reader says less than it has."""
    monkeypatch.setattr(link_trial, "LISTED_MANY", 20)
    stingy = Mosquitto(tmp_path)
    stingy.start(queued_max=20, inflight_max=5)
    try:
        asyncio.run(_filled(stingy.url))
        found = asyncio.run(trial(address(stingy.url)))
    finally:
        stingy.kill()
    assert found.listed_in_parts is not None
    assert found.listed < found.listed_in_parts


async def _filled(url: str) -> None:
    """Statuses of two workers of twenty nodes, and as many registrations."""
    async with connect(url) as mirror:
        for number in range(20):
            node = f"n-{number}"
            for worker in ("collector", "evaluator"):
                status = WorkerStatus(worker=worker, status="ready")
                mirror.publish(topics.WORKER, status, node, worker=worker)
            there = Registration(status="ready")
            mirror.publish(topics.REGISTRATION, there, node, domain="acme.io", key="drain")


@pytest.mark.parametrize("host", ["127.0.0.1", "name.invalid"])
async def test_a_broker_that_is_not_there_is_a_failure_in_words(host: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found = await trial(Address(host=host, port=port))
    assert found.failure
    assert not found.came_back


@pytest.mark.parametrize(
    ("text", "came_back"),
    [(access_list(), False), ("user viewer\ntopic readwrite evictd/v1/#\n", True)],
)
def test_an_access_list_that_is_not_in_force_shows_when_a_worker_speaks(
    tmp_path: Path, text: str, *, came_back: bool
) -> None:
    """The same login, with the list and with another one that lets it say everything."""
    broker = Mosquitto(tmp_path)
    broker.start(access=text)
    try:
        viewer = replace(address(broker.url), username="viewer", password="any")  # noqa: S106 - it knows no passwords
        assert asyncio.run(trial(viewer)).came_back is came_back
    finally:
        broker.kill()
