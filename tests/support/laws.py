"""Checks the database of a test against all laws."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import to_builtins

from support.hand import Hand


async def verify(hand: Hand, only: int | None = None, since: datetime | None = None) -> dict[str, Any]:
    """Returns all pages of `tenax verify` as one report."""
    after: int | None = 0
    whole: dict[str, Any] = {
        "executions": 0,
        "events": 0,
        "decisions": 0,
        "violations": [],
        "other_versions": {},
    }
    while after is not None:
        page = to_builtins(await hand.engine.verify(after=after, since=since, only=only))
        for name, count in page["checked"].items():
            whole[name] += count
        for name, count in page["other_versions"].items():
            whole["other_versions"][name] = whole["other_versions"].get(name, 0) + count
        whole["violations"] += page["violations"]
        after = page["next"]
    return whole


async def laws_broken(hand: Hand, only: int | None = None) -> set[str]:
    return {violation["law"] for violation in (await verify(hand, only))["violations"]}
