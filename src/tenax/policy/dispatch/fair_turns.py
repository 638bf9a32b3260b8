"""Decides the order in which ready items are served: by urgency, and in turns of new items and retries, and of fan-outs and other items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tenax.policy.dispatch.assignment import Candidate

T = TypeVar("T")
Ranked = tuple[float, int, T]
"""An item with its urgency and its priority."""

FAN_OUT_SHARE = 8
"""Fan-outs get one of this many slots while other items wait too."""


@dataclass(frozen=True, slots=True)
class FairTurns:
    """Holds the turns of the next claim. Each server counts its own."""

    since_fan_out: int = 0
    """Items served since the last item of a fan-out."""
    last_lane: int = 0
    """The lane of the fan-out that was served last."""
    odd_slot: int = 1
    """New items and retries get half of the slots each. 1 if the kind that has waited less gets the odd slot."""

    def after(self, lanes: Iterable[int]) -> FairTurns:
        """Counts items by their lanes, in serving order."""
        since, last = self.since_fan_out, self.last_lane
        for lane in lanes:
            since, last = (0, lane) if lane else (since + 1, last)
        return replace(self, since_fan_out=since, last_lane=last)


def fan_out_turns(slots: int, since_fan_out: int, share: int = FAN_OUT_SHARE) -> int:
    """Returns how many of the next slots fan-outs get, if both they and other items of at most their urgency have
    enough items."""
    return (slots + min(since_fan_out, share - 1)) // share


def since_fan_out_after(since_fan_out: int, others: int, fan_out: int, share: int = FAN_OUT_SHARE) -> int:
    """Returns the number of items served since the last one of a fan-out, after these turns."""
    return max(0, min(since_fan_out, share - 1) + others - (share - 1) * fan_out)


def urgency(priority: int, waited: float, ageing: float) -> float:
    """Returns the priority plus one for each `ageing` seconds of waiting. If `ageing` is 0, waiting does not count."""
    return priority + (max(waited, 0.0) / ageing if ageing > 0 else 0.0)


def order_candidates(found: Sequence[Candidate], since_fan_out: int, ageing: float) -> list[Candidate]:
    """Puts candidates into serving order. Fan-outs take turns in the order in which they were found."""

    def ranked(item: Candidate) -> Ranked[Candidate]:
        return urgency(item.priority, item.waited, ageing), item.priority, item

    def by_urgency(items: Iterable[Candidate]) -> list[Ranked[Candidate]]:
        return sorted(map(ranked, items), key=lambda one: (-one[0], -one[1], *_age(one[2])))

    others = [item for item in found if not item.lane]
    new = by_urgency(item for item in others if not item.is_retry)
    retries = by_urgency(item for item in others if item.is_retry)
    fan_outs = lane_by_lane(item for item in found if item.lane)
    return serve_order(alternate(new, retries), [ranked(item) for item in fan_outs], since_fan_out)


def alternate(new: Sequence[Ranked[T]], retries: Sequence[Ranked[T]]) -> list[Ranked[T]]:
    """Merges new items and retries, both in their own order.

    Items of the same priority alternate, and the kind that has waited longer begins. Otherwise urgency decides. So neither kind can keep
    out the other.
    """
    row: list[Ranked[T]] = []
    n = m = 0
    is_turn_of_new = bool(new and retries) and new[0][:2] >= retries[0][:2]
    while n < len(new) and m < len(retries):
        fresh, retry = new[n], retries[m]
        takes_new = is_turn_of_new if fresh[1] == retry[1] else fresh[:2] > retry[:2]
        row.append(fresh if takes_new else retry)
        n, m = (n + 1, m) if takes_new else (n, m + 1)
        is_turn_of_new = not takes_new
    return [*row, *new[n:], *retries[m:]]


def lane_by_lane(items: Iterable[Candidate]) -> list[Candidate]:
    """Orders the items of fan-outs by priority. Within a priority it takes one item of each fan-out, then another one of each."""
    lanes: dict[tuple[int, int], list[Candidate]] = {}
    for item in items:
        lanes.setdefault((item.priority, item.lane), []).append(item)
    row: list[Candidate] = []
    for priority in sorted({priority for priority, _ in lanes}, reverse=True):
        level = [sorted(lane, key=_age) for (of, _), lane in lanes.items() if of == priority]
        longest = max(len(lane) for lane in level)
        row += [lane[n] for n in range(longest) for lane in level if n < len(lane)]
    return row


def serve_order(
    others: Sequence[Ranked[T]],
    fan_outs: Sequence[Ranked[T]],
    since_fan_out: int,
    share: int = FAN_OUT_SHARE,
) -> list[T]:
    """Merges the items of fan-outs with all others, both in their own order.

    Once in `share`, the next item of a fan-out goes before other items of the same urgency or less. An item of a fan-out always goes before
    less urgent items, by its priority. Its age does not count. All items of a fan-out have waited equally long, and would delay items of a
    higher priority.
    """
    row: list[T] = []
    n = m = 0
    while n < len(others) and m < len(fan_outs):
        theirs, own = fan_outs[m], others[n]
        has_turn = since_fan_out >= share - 1 and theirs[:2] >= own[:2]
        if theirs[1] > own[0] or has_turn:
            row.append(theirs[2])
            m, since_fan_out = m + 1, 0
        else:
            row.append(own[2])
            n, since_fan_out = n + 1, since_fan_out + 1
    return [*row, *(one for _, _, one in others[n:]), *(one for _, _, one in fan_outs[m:])]


def _age(item: Candidate) -> tuple[float, int]:
    return -item.waited, item.id
