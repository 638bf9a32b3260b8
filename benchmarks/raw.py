"""Measures the raw limit: a bare loop of durable batches on PostgreSQL with the same driver, with three event rows per job.

Run as a process: claims batches of 100 and completes them, the claim of the next batch overlapping the completion of the
last on a second connection. It has no retries, no graph, no leases: nothing that Tenax is for.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

import asyncpg

from benchmarks.gate import wait_at_gate
from tenax.cli.process.parent import under_supervision

BATCH = 100

SCHEMA = """
create schema bench;
create table bench.job (
    id bigint generated always as identity primary key,
    queue text not null default 'default',
    state text not null default 'queued',
    available_at timestamptz not null default clock_timestamp(),
    worker text,
    lease_until timestamptz
) with (fillfactor = 70);
create index job_ready on bench.job (queue, available_at) where state = 'queued';
create table bench.event (
    id bigint generated always as identity,
    job_id bigint not null,
    type text not null,
    at timestamptz not null default clock_timestamp()
);
create index event_job on bench.event (job_id);
"""
FILL = "insert into bench.job (queue) select 'default' from generate_series(1, $1::integer)"

CLAIM = """
with picked as materialized (
    select id from bench.job
     where queue = 'default' and state = 'queued' and available_at <= now()
     order by available_at limit $1 for update skip locked
), claimed as (
    update bench.job j set state = 'leased', worker = $2, lease_until = now() + interval '30 s'
      from picked p where j.id = p.id
    returning j.id
), logged as (
    insert into bench.event (job_id, type) select id, 'started' from claimed
)
select id from claimed
"""
COMPLETE = """
with done as (
    delete from bench.job where id = any($1::bigint[]) returning id
)
insert into bench.event (job_id, type)
select done.id, e.type from done cross join unnest(array['completed', 'finished']) as e (type)
"""
SESSION = {"jit": "off", "plan_cache_mode": "force_custom_plan"}


async def work(url: str) -> dict[str, Any]:
    claiming = await asyncpg.connect(url, server_settings=SESSION)
    completing = await asyncpg.connect(url, server_settings=SESSION)
    claim, complete = await claiming.prepare(CLAIM), await completing.prepare(COMPLETE)
    await asyncio.to_thread(wait_at_gate)
    first, done = time.time(), 0
    ids = [row["id"] for row in await claim.fetch(BATCH, "raw")]
    last = first
    while ids:
        rows, _ = await asyncio.gather(claim.fetch(BATCH, "raw"), complete.fetch(ids))
        last, done = time.time(), done + len(ids)
        ids = [row["id"] for row in rows]
    await claiming.close()
    await completing.close()
    return {"first": first, "last": last, "done": done}


if __name__ == "__main__":
    import uvloop

    under_supervision()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.stdout.write(json.dumps(runner.run(work(os.environ["TENAX_DATABASE_URL"]))))
