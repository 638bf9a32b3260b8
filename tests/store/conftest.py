"""Databases that nobody uses again: these tests change schemas, and ask for the plans of statements on tables of some size."""

from __future__ import annotations

import pytest


@pytest.fixture
def database_url(own_database_url: str) -> str:
    return own_database_url


@pytest.fixture
def any_database_url(own_any_database_url: str) -> str:
    return own_any_database_url
