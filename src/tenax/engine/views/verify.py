"""Checks all history against the laws for `tenax verify`, in bounded memory and without writing anything.

Executions are checked in pages. Each page is one snapshot of the database, so that running work raises no false alarm.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from tenax.engine.context import EngineContext, no_execution
from tenax.engine.slices import TimeSlice
from tenax.errors import UsageError
from tenax.model import views
from tenax.policy.laws import ExecutionCheck, LawViolation, VerifyTally
from tenax.policy.laws.facts import BudgetFacts, ExecutionFacts, Rows
from tenax.policy.laws.rows import plan_is_readable, recorded_result_taken, rows_have_an_execution
from tenax.store.applications.attempt_results import find_left_results
from tenax.store.connect import Connection
from tenax.store.tables import history as store

EXECUTIONS_AT_ONCE = 200
"""Executions of one page, and so of one snapshot."""
RESULT_GRACE = 300.0
"""Seconds after which the sweep has found a recorded result whose attempt a person has ended."""
PAGE_SECONDS = 5.0
"""Seconds after which a page ends with its current execution."""


async def verify_page(
    context: EngineContext, *, after: int = 0, since: datetime | None = None, only: int | None = None
) -> views.Verified:
    """Checks the next executions: all of them, those that were open at some time after `since`, or only one."""
    if only is not None and since is not None:
        raise UsageError("one execution and a time since when exclude each other", remedy="name one of them")
    tally = VerifyTally()
    async with context.view_snapshot() as tx:
        page = await store.find_page(tx, after, since, only, EXECUTIONS_AT_ONCE)
        if only is not None and not page.ids:
            raise no_execution(only)
        checked = await _check_all(tx, context, page, tally)
        is_last = page.is_last and checked == len(page.ids)
        last = store.ALL_IDS if is_last else page.ids[checked - 1]
        await _find_left_results(
            tx, tally, after if only is None else only - 1, last if only is None else only
        )
        if only is None and since is None:
            await _find_orphans(tx, tally, after, last)
    return _verified(tally, None if is_last or only is not None else last)


def _verified(tally: VerifyTally, last: int | None) -> views.Verified:
    """Returns the findings. `last` is the execution after which the next page begins."""
    return views.Verified(
        checked=views.Checked(executions=tally.executions, events=tally.events, decisions=tally.decisions),
        violations=[_shown(violation) for violation in tally.violations],
        not_shown=tally.not_shown,
        other_versions=dict(sorted(tally.other_versions.items())),
        next=last,
    )


def _shown(violation: LawViolation) -> views.Violation:
    return views.Violation(
        law=violation.law,
        execution=violation.execution,
        step=violation.step,
        item=violation.item,
        attempt=violation.attempt,
        events=list(violation.events),
        message=violation.message,
    )


async def _check_all(
    tx: Connection, context: EngineContext, page: store.HistoryPage, tally: VerifyTally
) -> int:
    """Checks the executions of a page until its time is over. Returns the number checked."""
    if not page.ids:
        return 0
    found = await store.load_executions(tx, page.ids)
    plans = await context.plans.load(tx, {row.plan_id for row in found})
    streams = _Streams(tx, page, await store.load_budgets(tx, page.ids))
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PAGE_SECONDS
    for number, row in enumerate(found, 1):
        tally.executions += 1
        if row.plan_id in plans:
            check = ExecutionCheck(row.id, plans[row.plan_id], tally)
            await streams.replay(check, row)
            if check.fold.plan.has_fan_outs:
                await _check_fan_outs(tx, page, check, row.id)
        else:
            _add(tally, plan_is_readable.name, row.id, plan_is_readable(row.plan_id))
        if loop.time() > deadline:
            return number
    return len(found)


class _Streams:
    """Streams of the events and rows of the executions of a page, side by side."""

    def __init__(self, tx: Connection, page: store.HistoryPage, budgets: dict[int, BudgetFacts]) -> None:
        self._budgets = budgets
        self._log = store.stream_log(tx, page)
        self._steps = store.stream_steps(tx, page)
        self._items = store.stream_items(tx, page)
        self._fan_outs = store.stream_fan_outs(tx, page)
        self._letters = store.stream_letters(tx, page)

    async def replay(self, check: ExecutionCheck, row: ExecutionFacts) -> None:
        """Feeds the events of an execution to the check, one by one, and then its rows."""
        time_slice = TimeSlice()
        async for events in self._log.take(row.id):
            for event in events:
                check.see(event)
                if time_slice.is_over:
                    await time_slice.give_way()
            await _let_others_go_on()
        check.compare(
            Rows(
                row,
                {step.step: step for step in await self._steps.take_all(row.id)},
                await self._items.take_all(row.id),
                {found.step: found for found in await self._fan_outs.take_all(row.id)},
                await self._letters.take_all(row.id),
                self._budgets.get(row.id),
            )
        )


async def _check_fan_outs(
    tx: Connection, page: store.HistoryPage, check: ExecutionCheck, execution_id: int
) -> None:
    """Checks the items of fan-outs one after the other. Events and rows come in the order of the items."""
    streams = (
        store.stream_fan_out_events(tx, page, execution_id),
        store.stream_fan_out_items(tx, page, execution_id),
        store.stream_item_results(tx, page, execution_id),
        store.stream_fan_out_letters(tx, page, execution_id),
    )
    events, items, results, letters = streams
    while keys := [key for stream in streams if (key := await stream.next_key()) is not None]:
        await _let_others_go_on()
        step, item = key = min(keys)
        works = {undoes: check.item_work(step, item, undoes=undoes) for undoes in (False, True)}
        async for event in events.take(key):
            if (work := works[event.undoes]) is not None:
                check.see_item(work, event)
        rows = {row.undoes: row for row in await items.take_all(key)}
        ended = await results.take_all(key)
        found = {letter.undoes: letter for letter in await letters.take_all(key)}
        for undoes, work in works.items():
            if work is not None:
                result = ended[0] if ended and not undoes else None
                check.compare_item(work, rows.get(undoes), result, found.get(undoes))


async def _let_others_go_on() -> None:
    """Lets other work run: rows that were fetched together would otherwise block the event loop."""
    await asyncio.sleep(0)


async def _find_orphans(tx: Connection, tally: VerifyTally, after: int, last: int) -> None:
    for table, execution_id in await store.find_orphans(tx, after, last):
        _add(tally, rows_have_an_execution.name, execution_id, rows_have_an_execution(table))


async def _find_left_results(tx: Connection, tally: VerifyTally, after: int, last: int) -> None:
    for left in await find_left_results(tx, after, last, RESULT_GRACE):
        for message in recorded_result_taken(left):
            law = recorded_result_taken.name
            tally.add(LawViolation(law, left.execution_id, message, left.step, left.item, left.attempt))


def _add(tally: VerifyTally, law: str, execution_id: int, messages: Any) -> None:
    for message in messages:
        tally.add(LawViolation(law, execution_id, message))
