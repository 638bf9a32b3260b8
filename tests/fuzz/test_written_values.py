"""Reads durations, times, sizes and other values of people: a value that can be written again, or the reason why not."""

from __future__ import annotations

import contextlib
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import (
    JSON,
    ODD_NUMBERS,
    ODD_TEXTS,
    assert_brief,
    broken_texts,
    fuzzed,
    no_hang,
)

from tenax.errors import UsageError
from tenax.model.durations import LONGEST, format_duration, parse_duration, parse_retry_after
from tenax.model.times import parse_time
from tenax.server.schema.parameters import moment_of
from tenax.settings import load_settings
from tenax.settings.docs import describe_settings, flag_of
from tenax.settings.values import share, size_in_bytes

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
_PARTS = (
    *(
        "1",
        "0",
        "9" * 30,
        "9" * 400,
        ".5",
        "1.5",
        "-",
        "+",
        " ",
        "e9",
        "_",
        "\u0663",
        "\u00b2",
        "\0",
        "\n",
        "1e400",
    ),
    *("ms", "s", "m", "h", "d", "KiB", "MB", "g", "%", "T", "Z", ":", "+23:59", "0001-01-01", "9999-12-31"),
    *(
        "T23:59:60",
        "GMT",
        "Sun, 06 Nov",
        ",",
        "nan",
        "inf",
        "true",
        "{",
        "[" * 2000,
        "postgresql://",
        "http://",
        "=",
    ),
)
_VALID = (
    *(
        "250ms",
        "1h30m",
        "30",
        "16MB",
        "512KiB",
        "30%",
        "0.3",
        "2030-01-31T09:30:00Z",
        "0001-01-01T00:00:00+23:59",
    ),
    *(
        "9999-12-31T23:59:59.999999999-23:59",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "a=b,c=d",
    ),
    *("http://127.0.0.1:8520", "postgresql://u@h:5432/d", '{"max_attempts": 5}', "python,http", "on"),
)
WRITTEN = st.one_of(
    st.sampled_from(_VALID).flatmap(lambda text: broken_texts(text, _PARTS)),
    st.lists(st.sampled_from(_PARTS), max_size=4).map("".join),
    st.text(max_size=20),
    st.sampled_from(ODD_TEXTS),
)
VALUES = WRITTEN | st.sampled_from(ODD_NUMBERS) | st.integers() | st.floats() | JSON


@given(VALUES)
@fuzzed(150)
def test_a_duration_is_written_and_read_again(value):
    with no_hang():
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            assert_brief(error, 300)
            return
    assert 0 <= seconds <= LONGEST
    again = parse_duration(format_duration(seconds))
    assert math.isclose(again, seconds, rel_tol=0.01, abs_tol=0.001)
    assert parse_duration(format_duration(again)) == again


@given(WRITTEN)
@fuzzed(100)
def test_a_time_is_written_and_read_again(text):
    try:
        moment = parse_time(text)
    except ValueError as error:
        assert_brief(error, 300)
        return
    assert moment.tzinfo is not None
    assert parse_time(moment.isoformat()) == moment
    assert abs((moment - NOW).total_seconds()) < 10_000 * 366 * 86_400


@given(WRITTEN)
@fuzzed(100)
def test_a_hint_of_a_header_is_seconds_or_none(text):
    seconds = parse_retry_after(text, NOW)
    assert seconds is None or 0 <= seconds <= LONGEST


@given(WRITTEN)
@fuzzed(100)
def test_a_moment_of_a_query_is_a_time_in_utc(text):
    try:
        moment = moment_of(text, NOW)
    except UsageError as error:
        assert_brief(error, 30_000)
        return
    assert moment.tzinfo is UTC


@given(VALUES)
@fuzzed(150)
def test_sizes_and_shares_are_numbers_in_their_bounds(value):
    try:
        size = size_in_bytes(value)
        assert size >= 1
        assert size_in_bytes(str(size)) in (size, int(float(size)))
    except ValueError as error:
        assert_brief(error, 300)
    try:
        assert 0 < share(value) <= 1
    except ValueError as error:
        assert_brief(error, 300)


@pytest.mark.parametrize("name", [row.name for row in describe_settings()])
@given(value=VALUES)
@fuzzed(10, share=0.1)
def test_a_setting_is_read_or_refused(tmp_path_factory, name: str, value: Any):
    """A wrong value is refused in words that name the setting."""
    said = name
    with contextlib.suppress(UsageError):
        try:
            load_settings({name: value}, env={}, cwd=tmp_path_factory.getbasetemp())
        except UsageError as error:
            said = error.message
            raise
    assert name in said or flag_of(name) in said
