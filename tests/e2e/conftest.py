"""Databases that nobody uses again: processes of these tests are killed, and one may still write for a moment after its test."""

from __future__ import annotations

import pytest


@pytest.fixture
def database_url(own_database_url: str) -> str:
    return own_database_url
