"""Tables at every width: what is never cut is never cut, and the others give way by rank."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tenax.cli.render.table import Column, RankedTable

COLUMNS = (
    Column("id", right=True),
    Column("workflow", rank=4, least=10),
    Column("state"),
    Column("started", rank=1),
    Column("now", rank=2, least=12),
    Column("error", rank=3, least=12),
)
ROWS = [
    ("1234567", "a-workflow-with-a-long-name", "compensating", "2026-01-31 12:00:00", "call running, attempt 1 of 3", ""),
    ("8", "b", "failed", "2026-01-31 12:00:01", "", "503 Service Unavailable: the house is on fire"),
]  # fmt: skip


def printed(width: int, columns=COLUMNS, rows=ROWS) -> list[str]:
    target = Console(width=width, file=StringIO(), color_system=None, legacy_windows=False)
    target.print(RankedTable(columns, rows), crop=False)
    return [line.rstrip() for line in target.file.getvalue().splitlines()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [20, 24, 30, 40, 50, 60, 70, 80, 100, 120, 140, 200])
def test_the_id_and_the_state_are_whole_at_every_width(width):
    head, first, second, *rest = printed(width)
    assert head.split()[0] == "id"
    assert "1234567" in first
    assert "compensating" in first
    assert second.split()[0] == "8"
    assert "failed" in second
    if rest:
        assert " ".join(rest).startswith("left out, for lack of room:")
    assert all(len(line) <= max(width, 22) for line in (head, first, second))


def test_columns_give_way_by_rank():
    assert printed(200)[0].split() == ["id", "workflow", "state", "started", "now", "error"]
    assert printed(110)[0].split() == ["id", "workflow", "state", "started", "now", "error"]
    assert printed(80)[-1] == "left out, for lack of room: started"
    assert printed(56)[-1] == "left out, for lack of room: started, now"
    assert " ".join(printed(40)[3:]) == "left out, for lack of room: started, now, error"
    assert printed(25)[0].split() == ["id", "state"]


def test_the_room_that_is_left_goes_to_the_last_column_to_be_cut():
    lines = printed(80)
    assert lines[0].split() == ["id", "workflow", "state", "now", "error"]
    assert "a-workflow-with-a-long-name"[:12] in lines[1]
    assert len(lines[1]) <= 80


def test_a_wrapped_column_breaks_between_words():
    columns = (Column("seq"), Column("what", rank=1, least=20, wrapped=True))
    lines = printed(26, columns, [("1", "the first attempt failed and is tried again")])
    assert lines == ["seq  what", "1    the first attempt", "     failed and is tried", "     again"]


@given(
    st.integers(1, 200),
    st.lists(st.tuples(*[st.text("ab cdé語", max_size=30)] * 6), max_size=4),
)
def test_no_cell_of_a_column_without_a_rank_is_ever_cut(width, rows):
    rows = [(f"i{n}", *row[1:2], f"s{n}", *row[3:]) for n, row in enumerate(rows)]
    lines = printed(width, rows=rows)
    for n in range(len(rows)):
        assert f"i{n}" in lines[n + 1]
        assert f"s{n}" in lines[n + 1]


def test_a_long_line_breaks_between_words_and_goes_on_below_its_first_word():
    from tenax.cli.output import _wrapped

    line = "  attempts_exhausted: no (max_attempts 3, counted 1, http://example.test/a-very-long-address-of-a-service)"
    assert _wrapped(line, 42).split("\n") == [
        "  attempts_exhausted: no (max_attempts 3,",
        "    counted 1,",
        "    http://example.test/a-very-long-address-of-a-service)",
    ]
    assert _wrapped("", 40) == ""
