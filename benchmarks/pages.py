"""Measures the reads of the dashboard's pages over a million executions with ten million events."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.arena import Arena
from benchmarks.page_database import FAN_OUT_ITEMS, fill
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import percentile
from tenax.engine.engine import Engine
from tenax.model.events.audit import AuditFilter
from tenax.model.filters.letters import LetterFilter
from tenax.model.filters.parse import parse_filter
from tenax.settings import load_settings
from tenax.store import service
from tenax.store.connect import Database

MEASURE = "pages"
LOOK = Mark("at most", 100)
_CALLS = 50
_FILTERS = (
    "", "status=failed", "status=running", "workflow=orders", "workflow=nothing", "status=failed workflow=syncs",
    "text=nothing", "input.customer=nobody", "reason=nothing", "class=nothing", "queue=unserved", "until=3d",
    "since=1d workflow=nothing",
)  # fmt: skip
_AUDITED = """
insert into tenax.audit (at, actor, action, kind, target, reason)
select tenax.now() - make_interval(secs => 200000 - n), 'actor ' || n % 40, 'action ' || n % 12, 'execution', (n * 37 % 1000000)::text, 'why'
  from generate_series(1, 200000) as n
 where not exists (select from tenax.audit limit 1 offset 100000)
"""
Read = Callable[[], Awaitable[Any]]


async def measure(arena: Arena, plan: Plan) -> list[Figure]:
    async with arena.round() as round_:
        executions = max(plan.events // 10, 1)
        await fill(round_.url, executions, plan.say)
        return await looks(round_.url, f"{executions:,} executions")


async def looks(url: str, what: str) -> list[Figure]:
    """Calls each read, and returns the 95th percentile of its milliseconds, beside its first call."""
    settings = load_settings({"database_url": url}, env={})
    figures: list[Figure] = []
    async with Database.open(settings) as database:
        engine = Engine(database, settings)
        async with engine.context.transaction() as tx:
            await tx.execute(_AUDITED)
            now = await service.now(tx)
            large = await tx.fetchval("select execution_id from tenax.fan where total = $1", FAN_OUT_ITEMS)
            last = await tx.fetchval("select max(id) from tenax.execution")
        for name, read in _reads(engine, now, large, last).items():
            took = [await _milliseconds(read) for _ in range(_CALLS + 1)]
            title = f"{name} of {what}"
            figures.append(Figure(MEASURE, f"{title}, p95", "ms", (percentile(took[1:], 95),), LOOK))
            figures.append(Figure(MEASURE, f"{title}, the first", "ms", (took[0],)))
    return figures


def _reads(engine: Engine, now: datetime, large: int, last: int) -> Mapping[str, Read]:
    letters, over_time = engine.letters, engine.metrics.over_time
    fingerprints: list[str] = []

    async def groups() -> Sequence[Any]:
        found = await letters.groups(LetterFilter())
        fingerprints[:] = [one.fingerprint for one in found]
        return found

    def some() -> int:
        return random.randint(last // 2, last)

    reads: dict[str, Read] = {}
    for text in _FILTERS:
        chosen = parse_filter(text)
        reads[f"page `{text}`"] = partial(engine.page, chosen, before=last // 2)
        reads[f"count `{text}`"] = partial(engine.count, chosen)
    for days in (7.0, 1.0, 0.25, 1 / 96):
        since = now - timedelta(days=days)
        reads[f"series of {days * 24:g} h"] = partial(over_time.series, since=since)
    day, week = now - timedelta(days=1), now - timedelta(days=7)
    names = [f"worker-{n}" for n in range(1, 9)]
    return {
        **reads,
        "series of 7 days of one workflow": lambda: over_time.series(since=week, workflow="orders"),
        "workers, series of a day": lambda: over_time.workers(names, since=day),
        "workers": engine.workers,
        "queues": engine.queues,
        "alerts": engine.metrics.alerts,
        "steps of a workflow, 7 days": lambda: over_time.steps("orders", since=week),
        "steps of a workflow, a day": lambda: over_time.steps("orders", since=day),
        "groups of dead letters": groups,
        "trends of dead letters": lambda: letters.trends(fingerprints, since=week),
        "dead letters": lambda: letters.list(LetterFilter()),
        "one execution": lambda: engine.get(some()),
        "one execution of 10,000 items": lambda: engine.get(large),
        "its strip of items": lambda: engine.item_strip(large, "render"),
        "its failed items": lambda: engine.items(large, "render", states=["failed"]),
        "its last events": lambda: engine.event_page(large),
        "audit": engine.audit,
        "audit of an actor": lambda: engine.audit(AuditFilter(actor="actor 7"), before=100_000),
        "audit of a target": lambda: engine.audit(AuditFilter(kind="execution", target="370")),
        "audit of an unknown actor": lambda: engine.audit(AuditFilter(actor="nobody")),
        "audit of an hour": lambda: engine.audit(AuditFilter(since=now - timedelta(hours=1))),
        "audit names": engine.audit_names,
    }


async def _milliseconds(read: Read) -> float:
    begun = time.perf_counter()
    await read()
    return 1000 * (time.perf_counter() - begun)


async def _of_folder(folder: Path) -> None:
    settings = load_settings({"home": folder}, env={})
    async with Database.open(settings) as database:
        for figure in await looks(database.url, str(folder)):
            print(f"{figure.value:9.1f} ms  {figure.name.replace(f' of {folder}', '')}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("folder", type=Path, help="the home folder of a database of benchmarks.page_database")
    asyncio.run(_of_folder(parser.parse_args().folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
