"""`evictd access-list` and `evictd node-name`; what is told where nothing can be read or asked."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from evictd.core.errors import HostError, InputError, PeerError
from evictd.shell.broker import access_list

Run = Callable[..., Result]


def test_the_access_list_is_that_of_the_topics(run: Run) -> None:
    assert run("access-list").stdout == access_list()


def test_an_outsider_may_ask_under_its_own_name_only(run: Run) -> None:
    lines = run("access-list", "mover=acme.io/mover").stdout.partition("user mover\n")[2]
    assert "topic write evictd/v1/+/evictionrequests/acme.io/mover/+/+\n" in lines
    assert "readwrite" not in lines


@pytest.mark.parametrize("text", ["mover", "mover=acme.io", "=acme.io/mover", "mover=acme.io/a/b"])
def test_a_name_without_a_domain_is_a_mistake_of_usage(run: Run, text: str) -> None:
    result = run("access-list", text)
    assert result.exit_code == 2
    assert "is not written like mover=acme.io/mover" in result.stderr


def test_the_node_s_name_is_printed_or_written_for_others_to_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVICTD_NODE", "edge-7")
    assert run("node-name").stdout == "edge-7\n"
    assert run("node-name", "--write", tmp_path / "name").stdout == ""
    assert (tmp_path / "name").read_text() == "edge-7\n"
    assert (tmp_path / "name").stat().st_mode & 0o777 == 0o644
    monkeypatch.delenv("EVICTD_NODE")
    monkeypatch.setenv("EVICTD_NODE_FILE", str(tmp_path / "name"))
    assert run("node-name").stdout == "edge-7\n"


def test_a_place_that_cannot_be_written_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVICTD_NODE", "edge-7")
    result = run("node-name", "--write", tmp_path / "absent" / "name")
    assert isinstance(result.exception, HostError)
    assert "cannot be written" in str(result.exception)


@pytest.mark.parametrize("words", [("request", "shop/web"), ("withdraw", "--ended")])
def test_who_may_not_ask_is_told_before_the_broker_says_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]
) -> None:
    monkeypatch.setenv("EVICTD_BROKER", "mqtt://controller:secret@127.0.0.1:1")
    result = run(*words)
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        "the login controller may read everything and ask for nothing; the operator's may, which "
        "`docker compose run --rm cli` has"
    )


def test_where_the_own_broker_is_not_there_the_way_to_start_it_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVICTD_STATEFOLDER", str(tmp_path))
    (tmp_path / "broker-record.json").write_text('{"port": 1}')
    (tmp_path / "broker-logins.json").write_text('{"operator": "secret"}')
    result = run("get", "nodes", "--timeout", "1")
    assert isinstance(result.exception, PeerError)
    assert str(result.exception).endswith("; does evictd run here? `evictd up` starts it")
