"""`evictd up` as people run it: a broker of its own, clients without options, a whole story."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evictd.shell.broker import owned_address

UID = "0d9f6a52-3a52-4f0e-9a43-1c8f6f2f2a11"
START_SECONDS = 40
STORY_SECONDS = "40"
ROOT = Path(__file__).parents[2]


class Machine:
    """One user's machine: state, option files, the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": f"{os.environ['PATH']}:/usr/sbin",
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "RUNTIME_DIRECTORY": str(folder / "run"),
            "EVICTD_STATEFOLDER": str(folder / "state"),
            "EVICTD_SOURCES": "{intervalSeconds: 1, runtimes: {docker: {enabled: false}}}",
        }

    def evictd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call the program and wait."""
        return subprocess.run(
            [sys.executable, "-m", "evictd", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )

    def up(self) -> AbstractContextManager[subprocess.Popen[str]]:
        """`evictd up` with the shipped configuration, as node attic."""
        configuration = str(ROOT / "deploy" / "evictd.yaml")
        return self.running("up", "--node", "attic", "--config", configuration)

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A process of ours, from when it is connected until it has ended by SIGTERM."""
        process = subprocess.Popen(
            [sys.executable, "-m", "evictd", *arguments],
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if '"connected"' in line:
                    break
            else:
                raise AssertionError(f"ended with {process.wait()}")
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
            process.stderr.close()
            process.wait(START_SECONDS)

    def subscribe(self, topic: str, count: int = 1) -> list[str]:
        """The payloads of the next messages."""
        result = subprocess.run(
            ["mosquitto_sub", "-t", topic, "-C", str(count), "-W", STORY_SECONDS],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout.splitlines()

    def publish(self, topic: str, message: object) -> None:
        """Without any option but topic and message."""
        subprocess.run(
            ["mosquitto_pub", "-t", topic, "-m", json.dumps(message)],
            env=self.environment,
            check=True,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine where nothing has run yet."""
    tmp_path.chmod(0o711)
    return Machine(tmp_path)


def observation() -> dict[str, Any]:
    """A machine with 400 MiB left and one workload above its request."""
    return {
        "node": "demo-7",
        "time": datetime.now(UTC).isoformat(),
        "signals": {"memory.available": {"available": 400 << 20, "capacity": 4 << 30}},
        "pods": [
            {
                "namespace": "shop",
                "name": "web",
                "uid": UID,
                "requests": {"memory": 256 << 20},
                "stats": {"memory": {"workingSetBytes": 512 << 20}},
            }
        ],
    }


def test_a_machine_short_of_memory_gets_an_eviction_by_hand_with_two_standard_clients(
    machine: Machine,
) -> None:
    with machine.up():
        assert machine.evictd("client-config").returncode == 0
        machine.publish("evictd/v1/demo-7/observation", observation())
        (payload,) = machine.subscribe("evictd/v1/demo-7/evictions/shop/+")
        eviction = json.loads(payload)
        assert eviction["spec"]["target"]["pod"]["uid"] == UID
        (pressure,) = machine.subscribe("evictd/v1/demo-7/pressure")
        assert json.loads(pressure)["conditions"][0]["status"] == "True"
        (decision,) = machine.subscribe("evictd/v1/demo-7/decision")
        assert json.loads(decision)["ranking"][0]["pod"]["name"] == "web"


def test_every_worker_gives_a_sign_of_life(machine: Machine) -> None:
    with machine.up():
        deadline = time.monotonic() + START_SECONDS
        while (result := machine.evictd("health")).returncode and time.monotonic() < deadline:
            threading.Event().wait(0.1)
        alive = [line.partition(":")[0] for line in result.stdout.splitlines()]
        assert alive == ["collector", "controller", "evaluator", "evictor", "responder"]
    assert machine.evictd("health").returncode == 1


def test_this_machine_is_only_observed(machine: Machine) -> None:
    with machine.up():
        assert machine.evictd("client-config").returncode == 0
        (decision,) = machine.subscribe("evictd/v1/attic/decision")
        assert json.loads(decision)["mode"] == "observe"


def test_it_starts_again_after_a_kill_with_everything_kept(machine: Machine) -> None:
    """The broker goes with it, and the same option files serve the next one."""
    with machine.up() as process:
        assert machine.evictd("client-config").returncode == 0
        machine.publish("evictd/v1/demo-7/observation", observation())
        (before,) = machine.subscribe("evictd/v1/demo-7/evictions/shop/+")
        process.kill()
        process.wait(START_SECONDS)
    with machine.up():
        assert machine.evictd("client-config").returncode == 0
        (after,) = machine.subscribe("evictd/v1/demo-7/evictions/shop/+")
    assert json.loads(after)["metadata"]["uid"] == json.loads(before)["metadata"]["uid"]


def test_a_second_one_on_the_same_state_is_refused(machine: Machine) -> None:
    with machine.up():
        result = machine.evictd("up", "--node", "attic")
        assert result.returncode == 1
        assert "another evictd runs with the state folder" in result.stderr
        assert "Traceback" not in result.stderr


def test_the_usual_port_may_be_taken(machine: Machine) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (machine.folder / "state").mkdir()
        (machine.folder / "state" / "broker-record.json").write_text(json.dumps({"port": port}))
        with machine.up():
            assert machine.evictd("client-config").returncode == 0
            assert f"-p {port}" not in (machine.folder / "config" / "mosquitto_sub").read_text()
            assert machine.subscribe("evictd/v1/attic/workers/all")


def test_single_workers_share_a_broker(machine: Machine) -> None:
    """What one process observes another one judges."""
    with machine.up():
        login = owned_address(machine.folder / "state", "operator")
        broker = f"mqtt://{login.username}:{login.password}@{login.host}:{login.port}"
        shed = Machine(machine.folder / "shed")
        assert shed.evictd("client-config", "--broker", broker).returncode == 0
        with (
            shed.running("run", "collector", "--node", "shed", "--broker", broker),
            shed.running("run", "evaluator", "--node", "shed", "--broker", broker),
        ):
            (pressure,) = shed.subscribe("evictd/v1/shed/pressure")
            (status,) = shed.subscribe("evictd/v1/shed/workers/evaluator")
    assert json.loads(pressure)["node"] == "shed"
    assert json.loads(status)["worker"] == "evaluator"


def test_a_single_worker_needs_an_address(machine: Machine) -> None:
    result = machine.evictd("run", "evaluator")
    assert result.returncode == 3
    assert "a single worker needs the address of a broker" in result.stderr


def test_a_configuration_that_is_wrong_starts_nothing(machine: Machine) -> None:
    result = machine.evictd("up", "--broker", "bus:1883")
    assert result.returncode == 3
    assert result.stderr == (
        "flag --broker: broker: 'bus:1883' is no address; did you mean mqtt://bus:1883?\n"
    )
    assert not (machine.folder / "state").exists()


def test_without_mosquitto_the_package_and_the_other_way_are_named(machine: Machine) -> None:
    machine.environment["PATH"] = "/nowhere"
    code = (
        "import evictd.shell.broker.owned as owned; owned.PROGRAM_FOLDERS = (); "
        "import sys; sys.argv = ['evictd', 'up', '--node', 'attic']; "
        "from evictd.cli import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=machine.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 5
    assert "apt install mosquitto" in result.stderr
    assert "docker compose up" in result.stderr
    assert "Traceback" not in result.stderr
