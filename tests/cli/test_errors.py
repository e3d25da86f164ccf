"""How a command ends that cannot do what it was asked: in words, and with a trace for bugs only."""

import pytest

from evictd import cli
from evictd.core.errors import Bug, EvictdError, HostError


def ends_with(error: EvictdError, monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit code."""

    def fail() -> None:
        try:
            [].pop()
        except IndexError as cause:
            raise error from cause

    monkeypatch.setattr(cli, "evictd", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


def test_a_bug_is_told_with_the_place_for_whoever_mends_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends_with(Bug("it cannot be; please report it"), monkeypatch) == Bug.exit_code
    told = capsys.readouterr().err
    assert "[].pop()" in told
    assert told.endswith(
        "IndexError: pop from empty list\nevictd: it cannot be; please report it\n"
    )


def test_every_other_error_is_its_sentence_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends_with(HostError("the disk is full"), monkeypatch) == HostError.exit_code
    assert capsys.readouterr().err == "evictd: the disk is full\n"
