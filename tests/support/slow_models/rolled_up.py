"""Compares what the roll-ups have counted with the events."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Protocol

from support.slow_models.naive_counts import naive_counts
from tenax.model.metrics.counts import LATENESS_BOUNDS


class Database(Protocol):
    """Answers queries. A hand is one."""

    async def sql(self, statement: str, *arguments: Any) -> Any: ...


async def events_of(database: Database) -> tuple[list[dict[str, Any]], dict[int, str]]:
    rows = await database.sql(
        "select id, execution_id, at, events from tenax.log where execution_id is not null order by id"
    )
    events = []
    for row in rows:
        for one in json.loads(row["events"]):
            e = {"step": None, "item": None, "attempt": None, "data": {}, **one}
            events.append({**e, "at": row["at"], "execution_id": row["execution_id"]})
    names = await database.sql("""select e.id, w.name from tenax.execution e join tenax.plan p on p.id = e.plan_id
                                join tenax.workflow w on w.id = p.workflow_id""")
    return events, {row["id"]: row["name"] for row in names}


async def rolled_up(database: Database) -> dict[str, Counter[Any]]:
    found: dict[str, Counter[Any]] = {}
    attempts = await database.sql(
        "select *, extract(epoch from minute)::bigint as m from tenax.attempt_minute"
    )
    key = ("m", "workflow", "step", "outcome", "class", "reason", "attempt", "after_class", "after_reason")
    for what, column in (
        ("attempts", "n"), ("seconds", "seconds"), ("waited", "waited"), ("retried", "retried"), ("given_up", "given_up"),
    ):  # fmt: skip
        found[what] = Counter({tuple(row[name] for name in key): row[column] for row in attempts})
    workers = await database.sql("select *, extract(epoch from minute)::bigint as m from tenax.worker_minute")
    for what in ("started", "retries", "failed", "recovered"):
        found[what] = Counter({(row["m"], row["worker"]): row[what] for row in workers if row[what]})
    for what in ("seconds", "waited"):
        found[f"worker_{what}"] = Counter({(row["m"], row["worker"]): row[what] for row in workers})
    events = await database.sql("select *, extract(epoch from minute)::bigint as m from tenax.event_minute")
    found["events"] = Counter({(row["m"], row["workflow"], row["kind"]): row["n"] for row in events})
    late = await database.sql("select *, extract(epoch from minute)::bigint as m from tenax.lateness_minute")
    found["lateness"] = Counter({(row["m"], row["bucket"]): row["n"] for row in late})
    totals = await database.sql(
        "select labels[1] as reason, n from tenax.metric_total where metric = 'retries'"
    )
    found["reasons"] = Counter({row["reason"]: int(row["n"]) for row in totals})
    return found


async def assert_equal_to_events(database: Database) -> dict[str, Counter[Any]]:
    events, workflows = await events_of(database)
    expected, found = naive_counts(events, workflows), await rolled_up(database)
    late: Counter[Any] = Counter()
    for (minute, seconds), n in expected["lateness"].items():
        late[minute, sum(seconds > bound for bound in LATENESS_BOUNDS)] += n
    for what in ("attempts", "events", "started", "retries", "failed", "recovered", "reasons", "retried", "given_up"):  # fmt: skip
        assert found[what] == expected[what], what
    assert found["lateness"] == late
    for what in ("seconds", "waited", "worker_seconds", "worker_waited"):
        assert {k: round(v, 3) for k, v in found[what].items() if round(v, 3)} == {
            k: round(v, 3) for k, v in expected[what].items() if round(v, 3)
        }
    return found


async def assert_view_equals_events(database: Database) -> None:
    """Compares `ops.retry_stats` with the events."""
    counts = naive_counts(*await events_of(database))
    expected: dict[Any, Counter[str]] = {}
    for key, n in counts["attempts"].items():
        minute, _, _, outcome, class_, reason, attempt, _, _ = key
        if outcome not in ("snoozed", "polled", "released"):
            row = expected.setdefault((minute, class_ or None, reason or None), Counter())
            row["attempts"] += n
            row["first_attempts" if attempt == 1 else "retries"] += n
            row["retried"] += counts["retried"][key]
            row["failed"] += counts["given_up"][key]
    rows = await database.sql("select *, extract(epoch from minute)::bigint as m from ops.retry_stats")
    names = ("attempts", "first_attempts", "retries", "retried", "failed")
    assert {
        (row["m"], row["class"], row["reason"]): Counter({x: row[x] for x in names}) for row in rows
    } == expected
