"""Columns, ages, and the forms in which rows are written."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.bus import NOW

from evictd.cli.tables import Item, Output, age, ago, aligned, due, written

HEAD, WIDE = ("NAME", "AGE"), ("WHY",)
ITEMS = [
    Item(name="shop/web", cells=("web", "5s"), wide=("leaks",), document={"name": "web"}),
    Item(name="shop/database", cells=("database", "1d"), wide=("",), document={"name": "db"}),
]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (303, "5m3s"),
        (3599, "59m59s"),
        (3600, "1h"),
        (7860, "2h11m"),
        (86_400 * 2, "2d"),
        (86_400 * 9 + 4 * 3600 + 59, "9d4h"),
    ],
)
def test_an_age_has_two_units_at_most(seconds: float, text: str) -> None:
    assert age(seconds) == text


def test_a_moment_is_told_from_now() -> None:
    assert ago(NOW - timedelta(seconds=5), NOW) == "5s"
    assert due(NOW + timedelta(seconds=5), NOW) == "in 5s"
    assert due(NOW - timedelta(minutes=3), NOW) == "3m ago"
    assert (ago(None, NOW), due(None, NOW)) == ("-", "-")


@given(st.lists(st.tuples(st.text("ab", max_size=9), st.text("ab", min_size=1, max_size=9))))
def test_columns_begin_under_their_heads(rows: list[tuple[str, str]]) -> None:
    lines = [*aligned(("FIRST", "SECOND"), rows)]
    assert len(lines) == (len(rows) + 1 if rows else 0)
    for line, row in zip(lines[1:], rows, strict=True):
        assert line[lines[0].index("SECOND") :] == row[1]


def test_the_table_is_aligned_and_the_wide_one_has_more() -> None:
    assert [*written(ITEMS, HEAD, WIDE, Output.TABLE)] == [
        "NAME      AGE",
        "web       5s",
        "database  1d",
    ]
    assert next(written(ITEMS, HEAD, WIDE, Output.WIDE)) == "NAME      AGE  WHY"


def test_names_are_what_other_verbs_take() -> None:
    assert [*written(ITEMS, HEAD, WIDE, Output.NAME)] == ["shop/web", "shop/database"]


def test_json_and_yaml_are_the_objects() -> None:
    assert json.loads("".join(written(ITEMS, HEAD, WIDE, Output.JSON))) == [
        {"name": "web"},
        {"name": "db"},
    ]
    assert [*written(ITEMS, HEAD, WIDE, Output.YAML)] == ["- name: web\n- name: db"]


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (Output.JSON, ["[]"]),
        (Output.YAML, ["[]"]),
        (Output.TABLE, []),
        (Output.WIDE, []),
        (Output.NAME, []),
    ],
)
def test_nothing_is_an_empty_list_and_no_table(output: Output, lines: list[str]) -> None:
    assert [*written([], HEAD, WIDE, output)] == lines


def test_what_others_said_breaks_no_row_and_steers_no_terminal() -> None:
    row = ("web", "saved\r\n\x1b[2J\u202e5 of 5")
    assert list(aligned(("NAME", "REPORT"), [row])) == [
        "NAME  REPORT",
        r"web   saved\r\n\x1b[2J\u202e5 of 5",
    ]
