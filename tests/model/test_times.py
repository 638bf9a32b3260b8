from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tenax.model.times import seconds_since

# Until 2106: from 2^32 s on, a float holds less than whole microseconds.
STARTS = st.datetimes(datetime(2000, 1, 1), datetime(2070, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis wants it so


@given(start=STARTS, microseconds=st.integers(0, 10**15))
def test_elapsed_time_is_exact_to_the_microsecond(start, microseconds):
    """A Unix time in a float is less exact than that, so the difference is rounded."""
    now = start + timedelta(microseconds=microseconds)
    assert seconds_since(start.timestamp(), now) == microseconds / 10**6


def test_it_is_never_negative():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert seconds_since(now.timestamp() + 5, now) == 0.0
