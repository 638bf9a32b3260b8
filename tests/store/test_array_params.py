"""Tests that columns of a batch come out of PostgreSQL unchanged, whatever they hold."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.profiles import examples

from tenax.store.array_params import column, columns, lines
from tenax.store.connect import connect

Fetch = Callable[..., list[Any]]
ODD_TEXTS = [
    "",
    "NULL",
    "null",
    "None",
    "{}",
    "{",
    "}",
    ",",
    '"',
    "\\",
    "a,b",
    '{"a": null}',
    " ",
    "\n",
    "''",
]
CASTS = {
    "bigint": "$2::text::bigint[]",
    "double precision": "$2::text::double precision[]",
    "boolean": "$2::text::boolean[]",
    "timestamptz": "$2::text::timestamptz[]",
    "text": "$2::text[]",
    "jsonb": "$2::jsonb[]",
}
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(-timedelta(hours=11))])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double precision": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "timestamptz": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=ZONES),  # noqa: DTZ001
    "text": st.one_of(
        st.sampled_from(ODD_TEXTS), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
    ),
}


@pytest.fixture
def fetch(database_url: str) -> Iterator[Fetch]:
    with asyncio.Runner() as runner:
        connection = runner.run(connect(database_url))
        yield lambda statement, *arguments: runner.run(connection.fetch(statement, *arguments))
        runner.run(connection.close())


def there_and_back(fetch: Fetch, kind: str, values: list[Any]) -> list[Any]:
    """Beside a column that is full, as in all our statements."""
    statement = (
        f"select x from unnest($1::text::bigint[], {CASTS[kind]}) with ordinality as u (n, x, o) order by o"
    )
    return [row[0] for row in fetch(statement, column(range(len(values))), column(values))]


@pytest.mark.parametrize("kind", VALUES)
@settings(
    max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_what_goes_in_comes_out(fetch, kind, data):
    values = data.draw(st.lists(st.one_of(st.none(), VALUES[kind]), max_size=20))
    assert there_and_back(fetch, kind, values) == values
    assert there_and_back(fetch, kind, tuple(values)) == values


@pytest.mark.parametrize("kind", CASTS)
def test_a_column_of_nothing_is_filled_up(fetch, kind):
    assert column([None, None]) is None
    assert column([]) is None
    assert there_and_back(fetch, kind, [None] * 3) == [None] * 3
    assert there_and_back(fetch, kind, []) == []


def test_odd_texts_stay_apart(fetch):
    assert there_and_back(fetch, "text", [None, *ODD_TEXTS, None]) == [None, *ODD_TEXTS, None]
    assert there_and_back(fetch, "jsonb", [None, "null", '{"a": "None,}"}']) == [
        None,
        "null",
        '{"a": "None,}"}',
    ]


def test_several_columns_at_once():
    assert columns([1, None], ["a", None], [None, None], [True, False]) == [
        "{1,NULL}",
        ["a", None],
        None,
        "{True,False}",
    ]


def test_no_statement_searches_in_a_column_that_goes_as_one_text():
    """PostgreSQL hashes a list that it knows when it plans, and not what a text becomes: that it would go through for each row of a
    table which it takes to be small, as it takes every table that was never analyzed."""
    queries = files("tenax").joinpath("sql", "queries")
    statements = [file for folder in queries.iterdir() for file in folder.iterdir()]
    assert len(statements) > 100
    for query in statements:
        assert not re.search(
            r"\b(any|all)\s*\(\s*(\$\d+::text::|string_to_array)", query.read_text("utf-8")
        ), query.name


def test_lines_come_out_as_they_went_in(fetch: Fetch) -> None:
    for values in ([None, '{"a": ""}', "1"], ['""', None], ["null"], [None]):
        rows = fetch("select x from unnest(string_to_array($1::text, E'\\n', '')) as u (x)", lines(values))
        assert [row["x"] for row in rows] == ([] if values == [None] else values)
