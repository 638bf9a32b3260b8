"""Tests a view that is kept up to date: what it prints without a terminal, and how it survives an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from rich.text import Text

from tenax.cli.render.watch import watch
from tenax.errors import Unreachable

AWAY = Unreachable("cannot reach the server")


def watched(*seen: str | Unreachable) -> None:
    """Until there is nothing more to be seen."""
    looks: Iterator[str | Unreachable] = iter(seen)

    async def look() -> str:
        found = next(looks, None)
        if found is None:
            raise KeyboardInterrupt
        if isinstance(found, Unreachable):
            raise found
        return found

    asyncio.run(watch(look, Text, str.lower, every=0))


def test_only_changes_are_printed(capsys):
    with pytest.raises(KeyboardInterrupt):
        watched("one", "ONE", "one", "two", "one")
    assert capsys.readouterr().out == "one\n\ntwo\n\none\n"


def test_an_outage_is_told_of_once_and_its_end_too(capsys):
    with pytest.raises(KeyboardInterrupt):
        watched("one", AWAY, AWAY, AWAY, "one", "one")
    away = "cannot reach the server; waiting for it to come back\n"
    assert capsys.readouterr().out == f"one\n{away}\none\n"


def test_whoever_is_not_there_at_the_beginning_is_an_error(capsys):
    with pytest.raises(Unreachable):
        watched(AWAY, "one")
    assert capsys.readouterr().out == ""
