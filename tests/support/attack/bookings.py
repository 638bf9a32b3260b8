"""Submits executions in transactions, whose tasks write rows in transactions too. Every row can be checked against the log."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import asyncpg
import psycopg

from support.attack.chaos import PATIENCE, Chaos
from support.waiting import eventually
from tenax.transactions import submit_sync

FEEDERS = 3
TABLES = """
create table public.placed (key text primary key);
create table public.booked (
    execution_id bigint not null, step text not null, item integer, attempt integer not null,
    at timestamptz not null default clock_timestamp()
)
"""
TASKS = """
import asyncio
import random

from tenax import TaskContext, task


@task
async def book(ctx: TaskContext) -> None:
    async with ctx.transaction() as connection:
        row = (ctx.execution_id, ctx.step, ctx.item, ctx.attempt)
        await connection.execute(
            "insert into public.booked (execution_id, step, item, attempt) values ($1, $2, $3, $4)", *row
        )
        if random.random() < 0.1:
            raise OSError("before the commit")
        ctx.complete(ctx.attempt)
        await asyncio.sleep(random.uniform(0, 0.05))
    await asyncio.sleep(random.uniform(0, 0.4))
    if random.random() < 0.1:
        raise OSError("after the commit")
"""
WORKFLOW = """
name: booking
defaults: {retry: {max_attempts: 20, initial_delay: 100ms, max_delay: 500ms, infra_attempts: 20}}
workflow:
  - {step: first, type: python, task: "bookings:book"}
  - {step: each, type: python, task: "bookings:book", needs: [first], for_each: [1, 2, 3], parallelism: 2}
  - {step: last, type: python, task: "bookings:book", needs: [each]}
"""
WRONG = """
with done as (
    select e.execution_id, e.step, e.item, count(*) as times
      from tenax.event e where e.type = 'action_completed' group by 1, 2, 3
), written as (
    select b.execution_id, b.step, b.item, count(*) as times from public.booked b group by 1, 2, 3
)
select format('%s %s %s: %s successes, %s rows', coalesce(d.execution_id, w.execution_id), coalesce(d.step, w.step),
              coalesce(d.item, w.item), coalesce(d.times, 0), coalesce(w.times, 0))
  from done d
  full join written w on w.execution_id = d.execution_id and w.step = d.step and w.item is not distinct from d.item
 where d.times is distinct from 1 or w.times is distinct from 1
"""
"""Finds work items whose successes and rows are not one of each."""
UNEQUAL_KEYS = """
select coalesce(p.key, e.submit_key)
  from public.placed p
  full join (select submit_key from tenax.execution where parent_id is null) e on e.submit_key = p.key
 where p.key is null or e.submit_key is null
"""
"""Finds orders without an execution, and executions without an order."""
FIGURES = """
select json_build_object(
    'executions', (select count(*) from tenax.execution),
    'completed', (select count(*) from tenax.execution where state = 'completed'),
    'rows', (select count(*) from public.booked),
    'lost attempts', (select count(*) from tenax.event where type = 'lease_expired'),
    'failed attempts', (select count(*) from tenax.event where type = 'action_error'),
    'failed after their commit', (select count(*) from tenax.event where type = 'late_result'),
    'successes found by the reaper', (
        select count(*) from public.booked b
          join tenax.event e on e.execution_id = b.execution_id and e.step = b.step and e.item is not distinct from b.item
                            and e.type = 'action_completed'
         where e.at > b.at + interval '1500 milliseconds'))
"""
LEFT = """
select (select count(*) from tenax.execution where finished_at is null)
       + (select count(*) from tenax.requested_submission) + (select count(*) from tenax.attempt_result)
"""


class Bookings:
    """Runs threads that place orders until they are told to stop. Some roll back on purpose."""

    def __init__(self, house: Chaos, seed: int) -> None:
        self._house = house
        self._over = threading.Event()
        self.said: Counter[str] = Counter()
        """How the transactions ended: committed, rolled back, or unknown, if the connection broke."""
        self._threads = [threading.Thread(target=self._feed, args=(seed, n)) for n in range(FEEDERS)]

    @contextmanager
    def feeding(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join(PATIENCE)

    def _feed(self, seed: int, number: int) -> None:
        dice = random.Random(seed * 1000 + number)
        for place in count():
            if self._over.wait(dice.uniform(0.05, 0.3)):
                return
            self.said[self._order(f"{number}-{place}", stays=dice.random() > 0.2)] += 1

    def _order(self, key: str, *, stays: bool) -> str:
        """Places an order: a row of the application and its execution, in one transaction."""
        try:
            with psycopg.connect(self._house.database_url) as connection:
                connection.execute("insert into public.placed (key) values (%s)", (key,))
                submit_sync(connection, "booking", key=key)
                if not stays:
                    connection.rollback()
        except psycopg.Error:
            return "unknown"
        return "committed" if stays else "rolled back"

    def until_all_ended(self) -> None:
        """Returns when every execution has ended, and no request and no recorded result is left."""

        def over() -> bool:
            self._house.mend()
            try:
                return self._house.query(LEFT) == [0]
            except (OSError, asyncpg.PostgresError):  # PostgreSQL may be about to start
                return False

        eventually(over, timeout=PATIENCE)

    def figures(self) -> dict[str, Any]:
        return {**json.loads(self._house.query(FIGURES)[0]), "transactions": dict(self.said)}
