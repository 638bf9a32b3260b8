"""Makes and reads the messages of workers over HTTP by hand: assignments one by one, and a report on one of them."""

from __future__ import annotations

from typing import Any

Given = dict[str, Any]

_PLACE = ("execution_id", "item_id", "attempt", "token")
_LISTS = {*_PLACE, "spec", "receipt", "item", "callback", "checkpoint"}


def one_by_one(granted: list[Given]) -> list[Given]:
    """Returns the assignments of an answer one by one, each with the fields that several share."""
    return [
        {name: value[n % len(value)] if name in _LISTS else value for name, value in group.items()}
        for group in granted
        for n in range(len(group["token"]))
    ]


def report_on(given: Given, outcome: Given) -> Given:
    return {name: [given[name]] for name in _PLACE} | {"step": given["step"], "outcome": [outcome]}
