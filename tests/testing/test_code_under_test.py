"""Code under test submits tasks itself, writes in transactions and keeps checkpoints: on the engine and the clock of the test."""

from __future__ import annotations

from datetime import date, timedelta

import asyncpg
import pytest
from testing import shop

from tenax import TaskFailed
from tenax.testing import Tester, completed


def test_a_handle_gives_its_result_and_hours_pass(tenax: Tester) -> None:
    tenax.fail(shop.invoice, attempt=[1, 2])
    before = tenax.now
    assert shop.checkout(5) == shop.Order(5, date(2026, 3, 2))
    assert tenax.now - before == timedelta(hours=6)
    [execution] = tenax.executions()
    execution.assert_attempts("run", 3)


def test_a_handle_raises(tenax: Tester) -> None:
    tenax.fail(shop.invoice, error=ValueError("no"))
    with pytest.raises(TaskFailed, match=r"logical \(exception_ValueError\): ValueError: no"):
        shop.checkout(5)


def test_an_execution_that_is_only_submitted(tenax: Tester) -> None:
    handle = shop.invoice.submit_sync(shop.Order(1, date(2026, 1, 1)))
    assert tenax.finish(handle.id) == completed


async def test_from_the_event_loop_of_the_test(tenax: Tester) -> None:
    tenax.lose_worker(shop.invoice)
    handle = await shop.invoice.submit(shop.Order(1, date(2026, 1, 1)))
    assert (await handle).due == date(2026, 1, 31)


def test_an_attempt_goes_on_at_the_checkpoint(tenax: Tester) -> None:
    assert tenax.run(shop.count, 5).result == [4, 5]


async def test_an_effect_is_there_once_although_the_report_is_lost(tenax: Tester) -> None:
    connection = await asyncpg.connect(tenax.database_url)
    await connection.execute("create table effect (number bigint)")
    tenax.lose_worker(shop.write_in_transaction, after_work=True)
    execution = await tenax.aio.run(shop.write_in_transaction, 7)
    assert execution == completed
    execution.assert_attempts("run", 1)
    assert await connection.fetch("select number from effect") == [(7,)]
    await connection.close()


def test_a_task_that_submits_tasks(tenax: Tester) -> None:
    tenax.fail(shop.invoice, attempt=1)
    orders = [shop.Order(number, date(2026, 1, 1)) for number in (1, 2, 3)]
    assert tenax.run(shop.order_all, orders).result == [1, 2, 3]
    assert len(tenax.executions()) == 4


def test_a_task_that_waits_beyond_its_timeout(tenax: Tester) -> None:
    """Its timeout is 5 minutes, and the task that it waits for retries after 2 hours."""
    tenax.fail(shop.invoice, attempt=1)
    tenax.run(shop.order_one, shop.Order(1, date(2026, 1, 1))).assert_failed(failure_class="timeout")


def test_a_task_that_waits_in_a_thread(tenax: Tester) -> None:
    assert tenax.run(shop.order_one, shop.Order(1, date(2026, 1, 1))).result == 1
