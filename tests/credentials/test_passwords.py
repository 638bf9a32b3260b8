"""Tests that no output shows the password of a URL, wherever it stands in it."""

from __future__ import annotations

import pytest

from tenax.credentials.passwords import without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/db?x=1", "postgresql://me:***@host/db?x=1"),
        ("postgresql://me:se@cret@host/db", "postgresql://me:***@host/db"),
        ("postgresql://:secret@host/db", "postgresql://:***@host/db"),
        ("postgresql://host/db?user=me&password=secret&x=1", "postgresql://host/db?user=me&password=***&x=1"),
        ("postgresql:///db?sslpassword=secret", "postgresql:///db?sslpassword=***"),
        ("http://jo:secret@host:7117", "http://jo:***@host:7117"),
    ],
)
def test_a_password_is_hidden_wherever_it_stands(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize("url", ["postgresql://me@host/db", "http://host:7117/a:b@c", "host", ""])
def test_a_url_without_a_password_stays_as_it_is(url: str) -> None:
    assert without_password(url) == url
