"""Fills a database as a dashboard meets it: many executions of several workflows, in all states, with dead letters.

Tenax runs one execution of each kind. SQL then copies its rows. The copies take turns, and a later copy has a larger id.
`python -m benchmarks.page_database FOLDER` keeps such a database in a folder: `TENAX_HOME=FOLDER tenax server` shows it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.arena import settle
from benchmarks.filling import Say, has_ids, tables_of_executions
from benchmarks.operator_views import pretend_real
from tenax.embed import open_engine
from tenax.engine.engine import Engine
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.wire import Assignment, LeaseRequest, Report, Submission
from tenax.settings import load_settings
from tenax.store.connect import Database, connect

EXECUTIONS = 1_000_000
DAYS = 14  # days over which the executions are spread
MINUTE_DAYS = 7  # days of counts by minute
FAN_OUT_ITEMS = 10_000
FAN_OUT_FAILURES = 37  # every so many items of the fan-out fail
_CHUNK = 50_000  # executions whose rows one statement copies
_LEASED = 500  # items of one lease
_ROOM = 32  # ids that a row of the log takes
_SUCCEEDED = Outcome("succeeded", {"rows": 12})
_WORKFLOW = """
name: {name}
input:
  customer: {{type: string, default: acme}}
workflow:
  - {{step: fetch, type: python, task: "benchmarks.tasks:noop", queue: {queue},
      retry: {{max_attempts: {most}, backoff: fixed, initial_delay: {delay}, max_delay: 24h, jitter: 0}}}}
  - {{step: store, type: python, task: "benchmarks.tasks:noop", queue: {queue}, needs: [fetch]}}
"""
_FAN_OUT = """
name: nightly-thumbnails
input:
  numbers: {type: array, required: true}
workflow:
  - step: render
    type: python
    task: benchmarks.tasks:noop
    for_each: "{{ input.numbers }}"
    parallelism: 100000
    tolerate: 100%
    retry: {max_attempts: 1}
"""
FAILURES: Sequence[Facts] = (
    Facts(message="connection refused by billing:443", exception="builtins.ConnectionError"),
    Facts(message="503 Service Unavailable", status_code=503),
    Facts(message="429 Too Many Requests", status_code=429),
    Facts(message="404 Not Found: /v2/customers", status_code=404),
    Facts(message="timed out after 30 s", exception="builtins.TimeoutError"),
    Facts(message="invoice has no lines", exception="builtins.ValueError"),
    Facts(message="'amount'", exception="builtins.KeyError"),
    Facts(message="disk full on /var/spool", exception="builtins.OSError"),
    Facts(message="400 Bad Request: currency", status_code=400),
    Facts(message="500 Internal Server Error", status_code=500),
)
_NAMES = ("orders", "invoices", "mails", "reports", "imports")


class Model(NamedTuple):
    """Is an execution that Tenax has run, and the number of its copies in 10,000."""

    execution_id: int
    share: int


async def fill(url: str, executions: int, say: Say) -> range:
    """Fills a database that has the schema of Tenax. Returns the ids of the copies."""
    async with open_engine(load_settings({"database_url": url}, env={})) as engine:
        models = await _models(engine)
        say("ran one execution of each kind")
        await _fan_out(engine)
        say(f"ran a fan-out of {FAN_OUT_ITEMS:,} items")
    connection = await connect(url)
    try:
        await connection.execute("set statement_timeout = 0")
        await connection.execute("set synchronous_commit = off")
        ids = await _copy_all(connection, models, executions, say)
        await _fill_minutes(connection)
        say("filled the counts by minute")
        await pretend_real(connection)
        await settle(connection)
    finally:
        await connection.close()
    return ids


# -- the models


async def _models(engine: Engine) -> list[Model]:
    made: list[Model] = []
    for n, name in enumerate(_NAMES):
        made.append(Model(await _run(engine, name, ()), 1_250))
        made.append(Model(await _run(engine, name, FAILURES[n : n + 1]), 430))
    for n, facts in enumerate(FAILURES):
        name = _NAMES[n % len(_NAMES)]
        made.append(Model(await _run(engine, name, (facts,) * 3), 100))
    cancelled = await _submit(engine, "reports")
    await engine.cancel(cancelled, actor="ada", reason="asked for twice")
    made.append(Model(cancelled, 298))
    made.append(Model(await _run(engine, "syncs", FAILURES[:1], delay="24h"), 150))
    paused = await _submit(engine, "mails", queue="unserved")
    await engine.pause(paused, actor="ada", reason="wait for the new template")
    made.append(Model(paused, 2))
    made.append(Model(await _submit(engine, "mails", queue="unserved"), 150))
    return made


async def _submit(engine: Engine, name: str, *, queue: str = "default", delay: str = "0") -> int:
    source = _WORKFLOW.format(name=name, queue=queue, most=3, delay=delay)
    [submitted] = await engine.submit([Submission(source=source, input={"customer": f"{name}-17"})])
    return submitted.id


async def _run(engine: Engine, name: str, failures: Sequence[Facts], *, delay: str = "0") -> int:
    """Runs an execution whose first attempts fail so, until it has ended or waits for a retry of tomorrow."""
    execution_id = await _submit(engine, name, delay=delay)
    left = list(failures)
    while (await engine.get(execution_id)).status == "running":
        for one in await _lease(engine, 1, wait=0.0 if delay != "0" and not left else 10.0):
            outcome = Outcome("failed", facts=left.pop(0)) if left else _SUCCEEDED
            await engine.report([_report(one, outcome)])
        if delay != "0" and not left:
            break
    return execution_id


async def _fan_out(engine: Engine) -> int:
    source, numbers = _FAN_OUT, list(range(FAN_OUT_ITEMS))
    [submitted] = await engine.submit([Submission(source=source, input={"numbers": numbers})])
    left = FAN_OUT_ITEMS
    failed = Outcome("failed", facts=FAILURES[5])
    while left:
        leased = await _lease(engine, _LEASED)
        await engine.report(
            [
                _report(one, failed if (one.item or 0) % FAN_OUT_FAILURES == 5 else _SUCCEEDED)
                for one in leased
            ]
        )
        left -= len(leased)
    return submitted.id


async def _lease(engine: Engine, slots: int, *, wait: float = 10.0) -> Sequence[Assignment]:
    return await engine.lease(LeaseRequest("bench", str(uuid.uuid4()), slots, ("python",), wait=wait))


def _report(one: Assignment, outcome: Outcome) -> Report:
    return Report(one.execution_id, one.item_id, one.attempt, one.token, outcome, one.step, one.item)


# -- their copies

_COPIES = """
create temporary table copy as
select n, m.model, o.created_at,
       tenax.now() - make_interval(secs => ($1::bigint - n) * $2::double precision) - o.created_at as later
  from generate_series(1, $1::bigint) as n
  join unnest($3::bigint[], $4::integer[], $5::integer[]) as m (model, first, last)
    on (n * 7919) % 10000 between m.first and m.last
  join tenax.execution o on o.id = m.model
"""


async def _copy_all(connection: Any, models: Sequence[Model], executions: int, say: Say) -> range:
    firsts, lasts, upto = [], [], 0
    for one in models:
        firsts.append(upto)
        upto += one.share
        lasts.append(upto - 1)
    assert upto == 10_000, f"the shares are {upto} of 10,000"
    apart = DAYS * 86_400 / executions
    ids = [one.execution_id for one in models]
    await connection.execute(_COPIES, executions, apart, ids, firsts, lasts, timeout=600)
    await connection.execute("create index on copy (n)")
    await connection.execute("analyze copy")
    last = await connection.fetchval("select nextval('tenax.execution_id')")
    for table, columns in (await tables_of_executions(connection)).items():
        rows = await _copy_table(connection, table, columns, last, executions, ids)
        if rows:
            say(f"filled {table} with {rows:,} rows")
    await connection.execute("select setval('tenax.execution_id', $1)", last + executions)
    return range(last + 1, last + executions + 1)


async def _copy_table(
    connection: Any,
    table: str,
    columns: Mapping[str, bool],
    last: int,
    executions: int,
    models: Sequence[int],
) -> int:
    """Copies the rows that the models have in a table. Returns the number of rows made."""
    key = "id" if table == "execution" else "execution_id"
    found = await connection.fetchval(
        f"select count(*) from tenax.{table} where {key} = any($1::bigint[])", models
    )
    if not found:
        return 0
    changed = {name: f"o.{name} + c.later" for name, is_time in columns.items() if is_time}
    changed[key] = f"{last} + c.n"
    numbered = table == "dead_letter" or (table != "execution" and has_ids(table))
    if numbered:
        sequence = "event_id" if table == "log" else "item_id"
        base = await connection.fetchval(f"select nextval('tenax.{sequence}')")
        number = "id" if table != "dead_letter" else "item_id"
        step = _ROOM if table == "log" else 1
        # An execution of the models has at most this many rows in the table.
        span = 64 * step
        changed[number] = (
            f"{base} + c.n * {span} + {step} * row_number() over (partition by c.n order by o.{number})"
        )
    values = ", ".join(changed.get(name, f"o.{name}") for name in columns)
    statement = (
        f"insert into tenax.{table} ({', '.join(columns)}) select {values} from copy c"
        f" join tenax.{table} o on o.{key} = c.model where c.n between $1 and $2"
        f" and o.{key} = any($3::bigint[]) order by c.n"
    )
    made = 0
    for start in range(1, executions + 1, _CHUNK):
        done = await connection.execute(
            statement, start, min(start + _CHUNK - 1, executions), models, timeout=600
        )
        made += int(done.split()[-1])
    if numbered:
        await connection.execute(f"select setval('tenax.{sequence}', $1)", base + (executions + 2) * span)
    return made


_MINUTES = (
    """
insert into tenax.attempt_minute (minute, workflow, step, outcome, class, reason, attempt, after_class, after_reason, n, seconds, waited)
select m, w, s, o.outcome, o.class, o.reason, o.attempt, o.after_class, o.after_reason,
       1 + (random() * o.most)::integer, random() * 10, random() * 5
  from generate_series(date_trunc('minute', tenax.now()) - make_interval(days => $1), tenax.now() - interval '1 minute', interval '1 minute') as m
 cross join unnest($2::text[]) as w
 cross join unnest(array['fetch', 'store']) as s
 cross join (values ('succeeded', '', '', 1, '', '', 60.0), ('failed', 'transient', 'http_503', 1, '', '', 6.0),
                    ('succeeded', '', '', 2, 'transient', 'http_503', 5.0), ('failed', 'permanent', 'ValueError', 1, '', '', 1.0))
       as o (outcome, class, reason, attempt, after_class, after_reason, most)
on conflict do nothing
""",
    """
insert into tenax.event_minute (minute, workflow, kind, n)
select m, w, k, 1 + (random() * 30)::integer
  from generate_series(date_trunc('minute', tenax.now()) - make_interval(days => $1), tenax.now() - interval '1 minute', interval '1 minute') as m
 cross join unnest($2::text[]) as w
 cross join unnest(array['execution_started', 'execution_completed', 'execution_failed', 'first_attempt', 'retry']) as k
on conflict do nothing
""",
    """
insert into tenax.lateness_minute (minute, bucket, n, seconds)
select m, b, 1 + (random() * 100 / (b + 1))::integer, random()
  from generate_series(date_trunc('minute', tenax.now()) - make_interval(days => $1), tenax.now() - interval '1 minute', interval '1 minute') as m
 cross join generate_series(0, 7) as b
 where cardinality($2::text[]) > 0
on conflict do nothing
""",
    """
insert into tenax.worker_minute (minute, worker, started, retries, failed, recovered, seconds, waited)
select m, 'worker-' || w, 40 + (random() * 40)::integer, (random() * 6)::integer, (random() * 6)::integer, 1, random(), random()
  from generate_series(date_trunc('minute', tenax.now()) - make_interval(days => $1), tenax.now() - interval '1 minute', interval '1 minute') as m
 cross join generate_series(1, 8) as w
 where cardinality($2::text[]) > 0
on conflict do nothing
""",
    # The log counts as counted: the counts are in the minutes above.
    """
update tenax.roll_up
   set counted = pg_current_xact_id()::text::bigint, open = '{}', counted_at = tenax.now()
 where $1::integer > 0 and cardinality($2::text[]) > 0
""",
)


async def _fill_minutes(connection: Any) -> None:
    for statement in _MINUTES:
        await connection.execute(statement, MINUTE_DAYS, list(_NAMES), timeout=600)


# -- a database that is kept


async def keep(folder: Path, executions: int, say: Say) -> None:
    settings = load_settings({"home": folder}, env={})
    async with Database.open(settings) as database:
        await fill(database.url, executions, say)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_database", description=__doc__)
    parser.add_argument("folder", type=Path, help="the home folder of the database, which is made")
    parser.add_argument("--executions", type=int, default=EXECUTIONS, metavar="N")
    options = parser.parse_args()
    asyncio.run(keep(options.folder, options.executions, lambda words: print(words, flush=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
