"""Texts that the kernel, the broker's program and a damaged state folder may give."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.damage import WORDS, damages

from evictd.core.errors import EvictdError, HostError, InputError
from evictd.shell.broker import owned, owned_address
from evictd.shell.broker.folder import Folder
from evictd.shell.kernel_text import (
    COUNTER_MAX,
    PROCESS_ID_MAX,
    lines,
    number,
    process_id,
    process_stat,
    whole_number,
)

STAT = "7 (a ) name) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n"
RECORD = json.dumps({"port": 45_123, "pid": 4711, "started": 99})


@given(st.integers(0, COUNTER_MAX))
def test_every_number_of_64_bits_is_read(figure: int) -> None:
    assert number(str(figure)) == figure == whole_number(str(figure), "here")


@given(st.text() | st.sampled_from(WORDS) | st.integers().map(str))
def test_what_is_no_such_number_is_none_and_is_named(word: str) -> None:
    if (found := number(word)) is not None:
        assert 0 <= found <= COUNTER_MAX
        return
    with pytest.raises(HostError, match=r"^here: .{1,250} number$"):
        whole_number(word, "here")


def test_an_id_of_a_process_fits_every_call_that_takes_one() -> None:
    assert process_id(str(PROCESS_ID_MAX), "here") == PROCESS_ID_MAX
    with pytest.raises(HostError, match="too large"):
        process_id(str(PROCESS_ID_MAX + 1), "here")


def test_a_line_ends_where_the_kernel_ends_it() -> None:
    """A name may hold what else ends a line to Python, and what follows would be believed."""
    assert lines("Name:\ta\x0cRssAnon:\nRssAnon:\t4 kB\n") == [
        "Name:\ta\x0cRssAnon:",
        "RssAnon:\t4 kB",
    ]
    assert lines("one\n\ntwo") == ["one", "", "two"]


def test_a_process_is_read_behind_its_name_or_is_named() -> None:
    found = process_stat(STAT, "here")
    assert (found.state, found.start_ticks) == ("S", 4711)
    for text in damages(STAT):
        try:
            assert 0 <= process_stat(text, "here").start_ticks <= COUNTER_MAX
        except HostError as error:
            told = str(error)
            assert told.startswith("here: ")


def test_a_record_of_the_broker_that_somebody_has_damaged_holds_numbers_that_can_be(
    tmp_path: Path,
) -> None:
    folder = Folder(tmp_path)
    for text in (*damages(RECORD), '{"port": 70000}', '{"pid": -1, "port": true}', "[" * 100_000):
        (tmp_path / "broker-record.json").write_text(text)
        try:
            record = folder.record()
        except EvictdError:
            continue
        assert 0 <= record.get("port", 0) < 65_536
        assert 0 <= record.get("pid", 0) <= PROCESS_ID_MAX


def test_who_looks_for_a_broker_without_a_port_is_told_that_none_has_run(tmp_path: Path) -> None:
    (tmp_path / "broker-record.json").write_text('{"port": 70000, "pid": 1}')
    (tmp_path / "broker-logins.json").write_text('{"operator": "secret"}')
    with pytest.raises(InputError, match="no broker of evictd's own has run"):
        owned_address(tmp_path, "operator")


async def test_a_line_of_the_broker_that_is_too_long_does_not_keep_the_next_ones_from_us() -> None:
    """A client's name may have 64 KiB, and whoever stops reading stops the broker."""
    output = asyncio.StreamReader(limit=100)
    output.feed_data(b"x" * 150)
    too_long = await owned._line(output)
    output.feed_data(b"y" * 150 + b"\nshort\n")
    output.feed_eof()
    assert too_long == owned.TOO_LONG == await owned._line(output)
    assert await owned._line(output) == b"short\n"
    assert await owned._line(output) == b""
