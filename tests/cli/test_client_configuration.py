"""`evictd client-config`: after it, mosquitto_pub and mosquitto_sub need no options."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from evictd.cli.reading import noted_address
from evictd.core.errors import InputError
from evictd.shell.bus.address import Address

Run = Callable[..., Result]
BROKER = "mqtt://ada:secret@10.0.0.5:1884"


def test_both_clients_get_one_option_a_line_for_this_user_alone(run: Run, tmp_path: Path) -> None:
    result = run("client-config", "--broker", BROKER, "--folder", tmp_path / "config")
    assert result.exit_code == 0
    for client in ("mosquitto_pub", "mosquitto_sub"):
        path = tmp_path / "config" / client
        assert path.read_text() == (
            "# written by evictd client-config\n-h 10.0.0.5\n-p 1884\n-V 5\n-u ada\n-P secret\n"
        )
        assert path.stat().st_mode & 0o777 == 0o600
        assert str(path) in result.stdout.splitlines()


def test_without_a_login_none_is_written(run: Run, tmp_path: Path) -> None:
    run("client-config", "--broker", "mqtt://127.0.0.1:1883", "--folder", tmp_path)
    assert "-u" not in (tmp_path / "mosquitto_pub").read_text()


def test_the_clients_look_where_it_is_written_by_default(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert run("client-config", "--broker", BROKER).exit_code == 0
    assert (tmp_path / "xdg" / "mosquitto_sub").is_file()
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert run("client-config", "--broker", BROKER).exit_code == 0
    assert (tmp_path / "home" / ".config" / "mosquitto_sub").is_file()


def test_somebody_else_s_file_is_left_alone_unless_that_is_asked_for(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "mosquitto_sub").write_text("-h home\n")
    result = run("client-config", "--broker", BROKER, "--folder", tmp_path)
    assert isinstance(result.exception, InputError)
    assert "--force overwrites it" in str(result.exception)
    assert (tmp_path / "mosquitto_sub").read_text() == "-h home\n"
    assert not (tmp_path / "mosquitto_pub").exists()
    assert run("client-config", "--broker", BROKER, "--folder", tmp_path, "--force").exit_code == 0
    assert "-h 10.0.0.5" in (tmp_path / "mosquitto_sub").read_text()


def test_its_own_file_is_written_anew(run: Run, tmp_path: Path) -> None:
    run("client-config", "--broker", BROKER, "--folder", tmp_path)
    result = run("client-config", "--broker", "mqtt://10.0.0.6", "--folder", tmp_path)
    assert result.exit_code == 0
    assert "-h 10.0.0.6\n-p 1883\n" in (tmp_path / "mosquitto_pub").read_text()


def test_a_broker_that_never_ran_cannot_be_written_down(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVICTD_STATEFOLDER", str(tmp_path))
    result = run("client-config", "--folder", tmp_path)
    assert isinstance(result.exception, InputError)
    assert not (tmp_path / "mosquitto_pub").exists()


def test_what_client_config_wrote_is_where_the_broker_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert noted_address() is None
    (tmp_path / "mosquitto_pub").write_text("-h elsewhere\n-p 1884\n")
    assert noted_address() is None, "somebody else's file is not ours to use"
    signed = "# written by evictd client-config\n-h 10.0.0.5\n-p 1884\n-V 5\n-u ada\n-P s t\n"
    (tmp_path / "mosquitto_pub").write_text(signed)
    found = noted_address()
    assert found is not None
    assert found == Address(
        host="10.0.0.5",
        port=1884,
        username="ada",
        password="s t",  # noqa: S106 - made up, and it shows that blanks are kept
    )
