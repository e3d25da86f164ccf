"""Which engine is found on a machine that has Docker, Podman, or an engine without root."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.sockets import bind

from evictd.cli import engines, machine
from evictd.shell.configuration import load_text

Listen = Callable[[str], str]


@pytest.fixture
def listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listen]:
    """Makes sockets on a machine that has none; the real one's are not seen."""
    for variable in (*engines.ADDRESSES, "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(engines, "DOCKER", f"{tmp_path}/docker.sock")
    monkeypatch.setattr(engines, "PODMAN", f"{tmp_path}/podman.sock")
    monkeypatch.setattr(engines, "USERS", tmp_path / "user")
    with ExitStack() as stack:

        def made(name: str) -> str:
            place = tmp_path / name
            bind(stack.enter_context(socket.socket(socket.AF_UNIX)), place)
            return str(place)

        yield made


def found(text: str = "") -> str | None:
    """The address by a configuration with the default socket, or another one."""
    place = text or engines.DOCKER
    loaded = load_text(f"sources: {{runtimes: {{docker: {{socket: {place}}}}}}}", "f")
    return machine.engine_address(loaded.configuration)


def test_dockers_own_socket_comes_first(listen: Listen) -> None:
    docker = listen("docker.sock")
    listen("podman.sock")
    assert found() == f"unix://{docker}"


def test_podmans_socket_is_found_where_docker_is_not_there(
    listen: Listen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Root's before one's own, one's own before those of others."""
    assert found() is None
    other = listen("user/1001/podman/podman.sock")
    assert found() == f"unix://{other}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "user" / "1002"))
    own = listen("user/1002/podman/podman.sock")
    assert found() == f"unix://{own}"
    root = listen("podman.sock")
    assert found() == f"unix://{root}"


def test_an_engine_of_docker_without_root_is_found(
    listen: Listen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "own"))
    assert found() is None
    docker = listen("own/docker.sock")
    assert found() == f"unix://{docker}"


def test_a_socket_that_was_configured_is_not_replaced(listen: Listen, tmp_path: Path) -> None:
    """Whoever wrote a place wants to hear that nothing is there."""
    listen("podman.sock")
    assert found(f"{tmp_path}/mine.sock") is None


def test_what_is_no_socket_is_no_engine(listen: Listen, tmp_path: Path) -> None:
    (tmp_path / "docker.sock").mkdir()
    assert found() is None
    podman = listen("podman.sock")
    assert found() == f"unix://{podman}"


@pytest.mark.parametrize(
    ("docker", "container", "address"),
    [
        ("tcp://proxy:2375", "unix:///p.sock", "tcp://proxy:2375"),
        ("", "unix:///run/user/7/podman/podman.sock", "unix:///run/user/7/podman/podman.sock"),
        ("", "ssh://root@far/run/podman/podman.sock", None),
    ],
)
def test_the_environment_wins_in_the_words_of_docker_and_of_podman(
    docker: str,
    container: str,
    address: str | None,
    listen: Listen,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A way to another machine is none to the workloads of this one."""
    place = listen("docker.sock")
    monkeypatch.setenv("DOCKER_HOST", docker)
    monkeypatch.setenv("CONTAINER_HOST", container)
    assert found() == (address or f"unix://{place}")
