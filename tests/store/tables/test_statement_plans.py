"""Tests that the statements of a batch read rows in proportion to it, whatever the tables hold.

This includes statements that are planned once for a session, before the size of a batch is known.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from support.connections import connected
from support.statements.query_plans import Explaining, analyze, fill_executions, fill_items, rows_read

from tenax.model.changes import ItemAgain, StepRow
from tenax.policy.dispatch.claim_plan import Share
from tenax.policy.queued_action import SERVER_QUEUE, QueuedAction
from tenax.store.connections.planned_pool import PLANNED_SESSION
from tenax.store.dispatch import claims
from tenax.store.dispatch.claims import LeaseTerms, WorkerGroup
from tenax.store.item_changes import Change, Expects
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, NewExecution, NewItem
from tenax.store.statements import sql
from tenax.store.tables import compensations, live_items, steps
from tenax.store.tables import fan_outs as fans
from tenax.store.tables.new_executions import insert_executions

BATCHES = (1, 10, 100, 500)
TABLES = ("item", "execution", "step", "fan")
GROUP = WorkerGroup(("default",), ("python",), "{}", ("w1",), 1)
LEASED = "select id, lease_token::text as token, execution_id, started_at from tenax.item where state = 'leased' order by id limit $1"
NEW = 1_000_000
"""Ids of executions that are not there yet."""

Call = Callable[[Any, list[Any], Any], Awaitable[Any]]


def slots(count: int) -> list[tuple[str, str]]:
    return [("w1", str(uuid.uuid4()))] * count


def new_item(execution_id: int) -> NewItem:
    return NewItem(execution_id, 1, "b", "default", "python", 5, None, 3, 300.0, None)


def guarded(rows: list[Any], now: Any, expects: Expects) -> Journal:
    """Transitions that were decided from memory."""
    then = QueuedAction("b", "default", "python", 5, None, 3, 300.0, None, None)
    journal = Journal(now)
    for row in rows:
        change = Change(row["id"], str(row["token"]), row["execution_id"], expects, events="[]")
        if expects == "running":
            change = change._replace(state="retrying", available_at=now, ledger="{}", last_error="error")
        elif expects == "more_steps":
            change = change._replace(keeps_step=True, result="1", next=then)
        journal.guarded.append(change)
    return journal


def ending(rows: list[Any], now: Any) -> Journal:
    """Half of them end, with their steps and executions; half are retried."""
    journal = Journal(now)
    for n, row in enumerate(rows):
        of = row["execution_id"]
        journal.log(of, {"type": "action_completed"})
        if n % 2 == 0:
            journal.ended_items.append(row["id"])
            journal.new_items.append(new_item(of))
            journal.step(StepRow(of, "a", "completed", 0, 1, "done"))
            journal.execution(ExecutionRow(of, 1, "running", 1, None, None, None, now))
        else:
            journal.items_again.append(
                ItemAgain(row["id"], of, "s", None, "retrying", now, None, 1, "{}", "error")
            )
    return journal


async def insert(tx: Any, rows: list[Any], now: Any) -> None:
    journal, new = Journal(now), []
    for n in range(len(rows)):
        new.append(NewExecution(NEW + n, 1, 2, "running", f"key {n}"))
        journal.new_items.append(new_item(NEW + n))
        journal.step(StepRow(NEW + n, "a", "pending", 1))
        journal.log(NEW + n, {"type": "execution_started"})
    await insert_executions(tx, journal, new, [None] * len(new), LeaseTerms(30.0, 1.0))


async def next_wake(tx: Explaining, rows: list[Any], _now: Any) -> None:
    await tx.fetch(sql("next_wake"), [row["id"] for row in rows], SERVER_QUEUE, 5.0)


async def accept_items(tx: Explaining, rows: list[Any], now: Any) -> None:
    ids = [row["id"] for row in rows]
    awaited = ["child"] * len(ids), [now] * len(ids)
    await tx.execute(sql("accept_items"), ids, [1] * len(ids), *awaited, now)


async def lease_ready(tx: Explaining, shares: list[Share], rows: list[Any]) -> None:
    await claims.lease_ready(tx, GROUP, shares, slots(len(rows)), LeaseTerms(30.0, 1.0))


STRAIGHTLY: dict[str, Call] = {
    "to the next step": lambda tx, rows, now: guarded(rows, now, "more_steps").write(tx),
    "to the end": lambda tx, rows, now: guarded(rows, now, "last_step").write(tx),
    "to a retry": lambda tx, rows, now: guarded(rows, now, "running").write(tx),
    "lease_ready of unrestricted items": lambda tx, rows, _: lease_ready(
        tx, [Share("default", p, s, 0, 0, len(rows)) for p in range(10) for s in ("queued", "retrying")], rows
    ),
    "lease_ready of a fan-out": lambda tx, rows, _: lease_ready(
        tx, [Share("default", 5, "", 7, 0, len(rows))], rows
    ),
    "lease_ready of both": lambda tx, rows, _: lease_ready(
        tx,
        [
            Share("default", 5, "", 7, 0, len(rows) // 8),
            Share("default", 5, "retrying", 0, 0, len(rows) // 2),
            Share("default", 5, "queued", 0, 0, len(rows) // 4),
            Share("default", 5, "queued", 0, len(rows) // 4, len(rows) // 4 + 1),
            Share("default", 5, "", 7, len(rows) // 8, len(rows)),
        ],
        rows,
    ),
    "read_queues": lambda tx, rows, _: claims.read_queues(tx, [f"q{n}" for n in range(len(rows))]),
    "next_wake": next_wake,
    "lock_executions": lambda tx, rows, _: live_items.lock_executions(
        tx, [row["execution_id"] for row in rows]
    ),
    "load_fan_outs": lambda tx, rows, _: fans.load_fan_outs(tx, [(row["execution_id"], "s") for row in rows]),
    "load_steps": lambda tx, rows, _: steps.load_steps(tx, [(row["execution_id"], "a") for row in rows]),
    "load_step_results": lambda tx, rows, _: steps.load_step_results(
        tx, [(row["execution_id"], "a") for row in rows], 16_000_000
    ),
    "accept_items": accept_items,
    "under lock": lambda tx, rows, now: ending(rows, now).write(tx),
    "load_leased_items": lambda tx, rows, _: live_items.load_leased_items(
        tx, [row["id"] for row in rows], [row["token"] for row in rows]
    ),
}
EACH_TIME: dict[str, Call] = {
    "lock_executions": STRAIGHTLY["lock_executions"],
    "load_leased_items": STRAIGHTLY["load_leased_items"],
    "under lock": STRAIGHTLY["under lock"],
    "lease_chosen": lambda tx, rows, _: claims.lease_chosen(
        tx, range(1, len(rows) + 1), slots(len(rows)), LeaseTerms(30.0, 1.0)
    ),
    "insert_executions": insert,
}
PER_ROW, AT_LEAST = 25, 120
"""Rows that pass through all the nodes of a plan, for each of the batch; read_queues has ten levels to each queue."""


BELIEVED_EMPTY = """
update pg_class set reltuples = 0, relpages = 500
 where relnamespace = 'tenax'::regnamespace and relname in ('item', 'step', 'execution', 'fan')
"""
"""Leaves the statistics of a vacuum of the empty queue that cannot give pages back. Until the next one, plans are made for no rows."""


async def explain_all(
    database_url: str,
    calls: dict[str, Call],
    settings: Mapping[str, str],
    *,
    planned_while_empty: bool = False,
    believed_empty: bool = False,
) -> dict[tuple[str, int], Explaining]:
    prepared: dict[str, str] = {}
    nobody = {"id": 1, "token": str(uuid.uuid4()), "execution_id": 1}
    found = {}
    async with connected(database_url) as filling, connected(database_url, session=settings) as connection:
        now = await connection.fetchval("select tenax.now()")
        if believed_empty:
            await analyze(filling)
            await filling.execute(BELIEVED_EMPTY)
        for call in calls.values() if planned_while_empty else ():
            await call(Explaining(connection, prepared), [nobody], now)
        await fill_items(filling)
        await fill_executions(filling)
        if not planned_while_empty and not believed_empty:
            await analyze(filling)
        for name, call in calls.items():
            for batch in BATCHES:
                found[name, batch] = Explaining(connection, prepared)
                await call(found[name, batch], await connection.fetch(LEASED, batch), now)
    return found


def check(found: dict[tuple[str, int], Explaining]) -> None:
    for (name, batch), explaining in found.items():
        place = f"{name}, a batch of {batch}"
        kinds = {n["Node Type"] for n in explaining.reading(*TABLES)}
        assert kinds <= {"Index Scan", "Index Only Scan", "Tid Scan"}, place
        assert kinds or name == "insert_executions", place
        assert batch <= rows_read(explaining.nodes) <= AT_LEAST + PER_ROW * batch, place


async def test_statements_that_are_planned_once_read_in_proportion_to_their_batch(database_url):
    check(await explain_all(database_url, STRAIGHTLY, PLANNED_SESSION))


async def test_so_do_those_that_were_planned_before_there_was_anything(database_url):
    check(await explain_all(database_url, STRAIGHTLY, PLANNED_SESSION, planned_while_empty=True))


@pytest.mark.parametrize("planned_while_empty", [False, True])
async def test_so_do_those_that_are_planned_while_statistics_say_that_there_is_nothing(
    database_url, planned_while_empty
):
    found = await explain_all(
        database_url,
        STRAIGHTLY,
        PLANNED_SESSION,
        planned_while_empty=planned_while_empty,
        believed_empty=True,
    )
    check(found)


async def test_statements_that_are_planned_each_time_read_in_proportion_to_their_batch(database_url):
    check(await explain_all(database_url, EACH_TIME, {}))


MANY = 3_000
_UNDOABLE = """
insert into tenax.log (execution_id, at, events)
select 1, tenax.now(), format('[{"type":"%s","step":"s","item":%s,"attempt":1,"data":{"result":1}}]', kind, n)
  from generate_series(0, $1 - 1) as n, unnest(array['action_completed', 'compensation_completed']) as kind
"""
_RESULTS = """
insert into tenax.item_result (execution_id, step, item_no, state, attempts, result, element)
select 1, 's', n, 'succeeded', 1, '1', '1' from generate_series(0, $1 - 1) as n
"""


class Carrying(Explaining):
    """Carries out what is asked for without rows, and keeps it: settings of the transaction must hold for the next statement."""

    async def execute(self, statement: str, *arguments: Any) -> list[Any]:
        await self._connection.execute(statement, *arguments)
        return []


@pytest.mark.odd_log
async def test_the_compensations_that_a_large_fan_out_lacks_are_found_in_proportion_to_it(database_url):
    """Sessions that plan once forbid hash joins: the statement is planned freely there, or it would join row by row."""
    action = NewItem(1, 1, "s", "default", "python", 5, None, 3, 300.0, None)
    async with connected(database_url, session=PLANNED_SESSION) as connection, connection.transaction():
        await connection.execute(_UNDOABLE, MANY)
        await connection.execute(_RESULTS, MANY)
        explaining = Carrying(connection)
        await compensations.insert_compensations(
            explaining, [action], await connection.fetchval("select tenax.now()"), 60.0
        )
        kept = await connection.fetchrow(
            "select current_setting('enable_hashjoin'), current_setting('enable_nestloop')"
        )
    assert MANY <= rows_read(explaining.nodes) <= 100 * MANY
    assert tuple(kept) == ("off", "on"), "later statements of the transaction are planned as usual"


async def test_the_result_of_a_large_fan_out_is_put_together_in_proportion_to_it(database_url):
    async with connected(database_url, session=PLANNED_SESSION) as connection, connection.transaction():
        await connection.execute(_RESULTS, MANY)
        explaining = Explaining(connection)
        await explaining.fetch(sql("close_fan_out"), 1, "s", "completed", MANY, None, MANY)
    assert MANY <= rows_read(explaining.nodes) <= 20 * MANY
