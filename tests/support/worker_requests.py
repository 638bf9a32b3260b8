"""What workers say and hear over HTTP, by hand: assignments one by one, and a report on one of them."""

from __future__ import annotations

from typing import Any

Given = dict[str, Any]

_PLACE = ("execution_id", "item_id", "attempt", "token")
_LISTS = {*_PLACE, "spec", "receipt", "item", "callback"}


def one_by_one(granted: list[Given]) -> list[Given]:
    """The answer to a lease, with what is the same for many said of each."""
    return [
        {name: value[n % len(value)] if name in _LISTS else value for name, value in group.items()}
        for group in granted
        for n in range(len(group["token"]))
    ]


def report_on(given: Given, outcome: Given) -> Given:
    return {name: [given[name]] for name in _PLACE} | {"step": given["step"], "outcome": [outcome]}
