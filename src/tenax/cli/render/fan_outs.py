"""Describes fan-outs by the number of their items in each state."""

from __future__ import annotations

from collections.abc import Mapping

SHOWN_ITEMS = 20
"""Items up to which a fan-out is shown item by item. For a larger one, at most so many failed items are named."""
_OTHERS = ("running", "accepted", "retrying", "held", "queued", "waiting", "cancelled")


def counts_words(items: Mapping[str, int], status: str, tolerated: int | None = None) -> str:
    """Returns a text such as `9,998 of 10,000 items done, 2 failed (tolerated), 3 retrying`.

    `status` is that of the step: if it failed, no failure was tolerated. Otherwise `tolerated` failures were, or all if it is
    None.
    """
    total = items["total"]
    if not total:
        return "the list is empty"
    parts = [f"{items.get('succeeded', 0):,} of {total:,} item{'s' if total != 1 else ''} done"]
    if failed := items.get("failed"):
        parts.append(f"{failed:,} failed{_tolerated(failed, 0 if status == 'failed' else tolerated)}")
    parts += [f"{items[name]:,} {name}" for name in _OTHERS if items.get(name)]
    return ", ".join(parts)


def _tolerated(failed: int, tolerated: int | None) -> str:
    if tolerated is None or tolerated >= failed:
        return " (tolerated)"
    return f" ({tolerated:,} tolerated)" if tolerated else ""


def compensation_words(items: Mapping[str, int]) -> str:
    """Returns a text such as `2 of 3 items undone, 1 failed`."""
    total = items["total"]
    parts = [f"{items.get('completed', 0):,} of {total:,} item{'s' if total != 1 else ''} undone"]
    rest = ("failed", "running", "retrying", "held", "queued", "pending", "cancelled")
    return ", ".join([*parts, *(f"{items[name]:,} {name}" for name in rest if items.get(name))])


def is_large(items: Mapping[str, int]) -> bool:
    return items["total"] > SHOWN_ITEMS
