"""The fingerprint of a failure: equal for the same cause, whatever its message names, and bounded for any message."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.letters.fingerprint import (
    FINGERPRINT_LENGTH,
    MESSAGE_READ,
    SHAPE_KEPT,
    fingerprint_of,
    shape_of,
)

SHAPES = {
    "503 Service Unavailable": "<n> Service Unavailable",
    "exit code -9 after 3.5s": "exit code <n> after <n>s",
    "connection to 10.0.0.7:5432 refused": "connection to <address> refused",
    "host fe80::1ff:fe23 is down": "host <address> is down",
    "mail to jo.doe+x@mail.example.org bounced": "mail to <address> bounced",
    "GET https://api.example.org/v1/orders?id=7 failed": "GET <url> failed",
    "can't open file '/tmp/a b/x.txt': [Errno 2]": "can't open file <value>: [Errno <n>]",
    'no customer "Smith, Jo" here': "no customer <value> here",
    "unknown column `total_17`": "unknown column <value>",
    "it's over": "it's over",
    "job 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is gone": "job <n> is gone",
    "<Lock object at 0x7f3a2b10> is taken": "<Lock object at <n>> is taken",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is missing": "commit <n> is missing",
    "token x7f3k2 expired": "token <n> expired",
    "/var/lib/data/17.json: not found": "<path>: not found",
    "~/.config/app.toml and ../x/y.z": "<path> and <path>",
    "cannot read C:\\data\\17.csv": "cannot read <path>",
    "bucket key raw/2026/01/part-7.parquet": "bucket key <path>",
    "late since 2026-01-31T12:00:00.123Z": "late since <time>",
    "at 2026-01-31 12:00:00+01:00, again 23:59:59": "at <time>, again <time>",
    "rows [1, 2, 3] and [4] are bad": "rows [<n>] and [<n>] are bad",
    "order_17 after order-18": "order_<n> after order-<n>",
    "bad   value\n\tin line 3": "bad value in line <n>",
    "read/write and/or HTTP": "read/write and/or HTTP",
    "": "",
}


@pytest.mark.parametrize("message", SHAPES)
def test_the_shape_of_a_message_has_none_of_its_values(message: str) -> None:
    assert shape_of(message) == SHAPES[message]


@pytest.mark.parametrize(
    "other",
    [
        ("timeout", "http_503", "load", "busy 7"),
        ("transient", "http_504", "load", "busy 7"),
        ("transient", "http_503", "save", "busy 7"),
        ("transient", "http_503", "load", "away 7"),
    ],
)
def test_class_reason_step_and_shape_tell_failures_apart(other: tuple[str, str, str, str]) -> None:
    one = fingerprint_of("transient", "http_503", "load", "busy 7")
    assert one == fingerprint_of("transient", "http_503", "load", "busy 12345")
    assert one != fingerprint_of(*other)


def test_the_parts_of_a_fingerprint_do_not_run_together() -> None:
    assert fingerprint_of("a", "bc", "d", "") != fingerprint_of("ab", "c", "d", "")


HASHES = st.binary(min_size=16, max_size=32).map(bytes.hex).filter(lambda text: re.search(r"\d", text))
SEGMENTS = st.text("abcxyz0123456789_-", min_size=1, max_size=12)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=6).map(lambda parts: "/" + "/".join(parts))
QUOTED = st.text("abc XYZ 0123/.:", max_size=40)
CASES = {
    "no order {}": st.integers(0, 10**30),
    "{} of the rows are bad": st.floats(0, 1e6, allow_nan=False).map(lambda number: f"{number:.3f}"),
    "job {} is gone": st.uuids(),
    "commit {} is missing": HASHES,
    "cannot read {}: denied": PATHS,
    "no customer '{}' here": QUOTED,
    "late since {}": st.datetimes().map(lambda at: at.replace(year=2026, microsecond=0).isoformat()),
    "{} refused the connection": st.ip_addresses(v=4),
}


@pytest.mark.parametrize("template", CASES)
@given(data=st.data())
def test_messages_that_differ_in_a_value_have_one_shape(template: str, data: st.DataObject) -> None:
    one, other = data.draw(CASES[template]), data.draw(CASES[template])
    assert shape_of(template.format(one)) == shape_of(template.format(other))


@given(st.text(max_size=3000), st.text(max_size=50))
def test_any_message_has_a_bounded_shape_and_a_fingerprint(message: str, step: str) -> None:
    assert len(shape_of(message)) <= SHAPE_KEPT
    assert re.fullmatch(f"[0-9a-f]{{{FINGERPRINT_LENGTH}}}", fingerprint_of("logical", "r", step, message))


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_follows_the_part_that_is_read_does_not_matter(one: str, other: str) -> None:
    start = "word " * (MESSAGE_READ // 5)
    assert shape_of(start + one) == shape_of(start + other)


def test_half_of_a_surrogate_pair_has_a_fingerprint() -> None:
    assert len(fingerprint_of("logical", "r", "s", "\ud800")) == FINGERPRINT_LENGTH
