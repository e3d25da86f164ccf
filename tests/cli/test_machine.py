"""The name of this machine, the engine that is asked, and the workloads' own settings."""

import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from evictd.cli import evictd, machine, workloads
from evictd.core.errors import InputError
from evictd.runtimes.settings import WorkloadSettings
from evictd.shell.configuration import load_text
from evictd_schemas.configuration import Configuration

ENGINE_NAME = "edge-7"


class Answer(BaseHTTPRequestHandler):
    """An engine that knows its name."""

    def do_GET(self) -> None:
        """Answer GET /info."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(msgspec.json.encode({"Name": ENGINE_NAME, "Images": 3}))

    def address_string(self) -> str:
        return "somebody"

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Path]:
    """The socket of such an engine."""
    path = tmp_path / "docker.sock"
    with socketserver.UnixStreamServer(str(path), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def configured(text: str) -> Configuration:
    """A configuration that passed the checks."""
    return load_text(text, "f").configuration


@pytest.fixture(autouse=True)
def plain_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host of its own name, and no engine named by the environment."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr("socket.gethostname", lambda: "attic")


def test_the_configured_name_comes_first(engine: Path) -> None:
    text = f"node: box\nsources: {{runtimes: {{docker: {{socket: {engine}}}}}}}"
    assert machine.home_node(configured(text)) == "box"


def test_the_engine_s_name_comes_before_the_host_s(engine: Path) -> None:
    text = f"sources: {{runtimes: {{docker: {{socket: {engine}}}}}}}"
    assert machine.home_node(configured(text)) == ENGINE_NAME


def test_the_host_s_name_serves_where_no_engine_answers(tmp_path: Path) -> None:
    text = f"sources: {{runtimes: {{docker: {{socket: {tmp_path}/none}}}}}}"
    assert machine.home_node(configured(text)) == "attic"
    assert machine.engine_name(f"unix://{tmp_path}/none") is None
    assert machine.engine_name("tcp://127.0.0.1:9") is None


@pytest.mark.parametrize("name", ["3f1c0de4b5a6", "3f1c0de4b5a6" + "0" * 52])
def test_a_container_s_id_is_never_a_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: name)
    text = f"sources: {{runtimes: {{docker: {{socket: {tmp_path}/none}}}}}}"
    with pytest.raises(InputError, match=r"is a container's id.*EVICTD_NODE"):
        machine.home_node(configured(text))


def test_a_host_name_that_is_no_level_of_a_topic_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "a+b")
    with pytest.raises(InputError, match="cannot be a level of a topic"):
        machine.home_node(configured("sources: {runtimes: {docker: {enabled: false}}}"))


def test_the_engine_is_the_environment_s_then_the_configured_socket(
    engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"sources: {{runtimes: {{docker: {{socket: {engine}}}}}}}"
    assert machine.engine_address(configured(text)) == f"unix://{engine}"
    monkeypatch.setenv("DOCKER_HOST", "tcp://proxy:2375")
    assert machine.engine_address(configured(text)) == "tcp://proxy:2375"


def test_no_engine_is_looked_at_where_there_is_none_or_none_is_wanted(tmp_path: Path) -> None:
    absent = f"sources: {{runtimes: {{docker: {{socket: {tmp_path}/none}}}}}}"
    assert machine.engine_address(configured(absent)) is None
    off = "sources: {runtimes: {docker: {enabled: false}}}"
    assert machine.engine_address(configured(off)) is None
    wanted = f"sources: {{runtimes: {{docker: {{enabled: true, socket: {tmp_path}/none}}}}}}"
    assert machine.engine_address(configured(wanted)) == f"unix://{tmp_path}/none"


def test_two_machines_are_told_apart_without_being_found_out(tmp_path: Path) -> None:
    assert machine.identity() == machine.identity()
    assert len(machine.identity()) == 16


def test_containers_of_one_machine_share_what_node_name_left_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the image has an empty `/etc/machine-id`; and it is made once."""
    (tmp_path / "empty").touch()
    shared = tmp_path / machine.SHARED_IDENTITY.name
    monkeypatch.setattr(machine, "IDENTITIES", (tmp_path / "empty", shared))
    alone, made = machine.identity(), set()
    for _ in range(2):
        written = CliRunner().invoke(
            evictd, ["node-name", "--write", str(tmp_path / "name")], env={"EVICTD_NODE": "box"}
        )
        assert written.exit_code == 0
        made.add(shared.read_text())
    assert (tmp_path / "name").read_text() == "box\n"
    assert len(made) == 1
    assert machine.identity() != alone


def test_the_first_pattern_that_matches_a_workload_holds() -> None:
    settings_for = workloads.settings_of(
        configured(
            "workloads:\n"
            "  shop/db: {protect: true}\n"
            "  'shop/*': {priority: 5, restore: never, request: {memory: 1Ki}}\n"
            "  batch: {priority: -5}\n"
        )
    )
    assert settings_for("shop", "db") == WorkloadSettings(protect=True)
    assert settings_for("shop", "web") == WorkloadSettings(
        priority=5, restore="never", requests={"memory": 1024}
    )
    assert settings_for("anywhere", "batch") == WorkloadSettings(priority=-5)
    assert settings_for("other", "web") is None


def test_the_runtimes_are_those_that_are_configured(tmp_path: Path) -> None:
    text = (
        "sources:\n  runtimes:\n"
        f"    docker: {{enabled: true, socket: {tmp_path}/none}}\n    cgroup: {{parent: /pods}}\n"
    )
    assert [runtime.name for runtime in workloads.runtimes(configured(text))] == [
        "docker",
        "cgroup",
    ]


@pytest.mark.parametrize(
    ("broker", "names"),
    [("mqtt://queue:1883", ("queue",)), ("owned:1884", ()), ("", ())],
)
def test_the_brokers_host_is_a_part_of_evictd(broker: str, names: tuple[str, ...]) -> None:
    """Its container is never stopped."""
    text = f"broker: {broker}" if broker else ""
    assert workloads.own_names(configured(text)) == names


def test_the_boot_is_named_as_observations_name_it() -> None:
    assert machine.boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
