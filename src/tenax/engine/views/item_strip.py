"""Views a fan-out as a strip: its items by state in ranges of their numbers."""

from __future__ import annotations

from collections import Counter, defaultdict

from tenax.engine.context import EngineContext, no_execution
from tenax.errors import NotFound
from tenax.model.metrics.pages import ItemStrip, StripRange
from tenax.store.tables import executions
from tenax.store.tables.fan_outs import count_items, count_strip

WORST_FIRST = (
    "failed", "held", "retrying", "running", "accepted", "queued", "waiting", "cancelled", "succeeded",
)  # fmt: skip


async def read_strip(context: EngineContext, execution_id: int, step: str, *, ranges: int = 200) -> ItemStrip:
    """Counts the items of a fan-out by state, in at most so many ranges of their numbers."""
    async with context.view() as tx:
        row = await executions.get_execution(tx, execution_id)
        if row is None:
            raise no_execution(execution_id)
        fan_out = (await count_items(tx, execution_id)).get(step)
        if fan_out is None:
            raise NotFound(f"execution {execution_id} has no fan-out {step!r} that has started")
        number = max(min(ranges, fan_out.total), 1)
        found = await count_strip(tx, execution_id, step, number) if fan_out.total else []
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for place, state, n in found:
        counts[place][state] += n
    missing = "cancelled" if fan_out.closed or not row.open else "waiting"
    shown = [_range(place, number, fan_out.total, counts[place], missing) for place in range(number)]
    return ItemStrip(total=fan_out.total, ranges=shown if fan_out.total else [])


def _range(place: int, ranges: int, total: int, counts: Counter[str], missing: str) -> StripRange:
    """Returns one range. Items without a row count as `missing`."""
    first = -(-place * total // ranges)
    last = -(-(place + 1) * total // ranges) - 1
    if (left := last - first + 1 - counts.total()) > 0:
        counts[missing] += left
    worst = next(state for state in WORST_FIRST if counts[state])
    return StripRange(first=first, last=last, worst=worst, counts=dict(counts))
