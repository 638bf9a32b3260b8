"""Uses the public API as its users do. It is only type-checked: `test_typing.py` runs mypy over it.

A line that is wrong has a comment with the error that mypy must report there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from tenax import Client, Handle, RetryPolicy, Rule, SyncClient, SyncHandle, SyncTenax, Task, Tenax, task


@dataclass
class Order:
    amount: int


@dataclass
class Receipt:
    order: Order


@task
def charge(order: Order, *, currency: str = "CHF") -> Receipt:
    return Receipt(order)


@task(retry=RetryPolicy(max_attempts=5, rules=[Rule(on=["http_429"], initial_delay="30s")]), timeout="5m")
async def ship(receipt: Receipt, express: bool = False) -> str:
    return "sent"


@task(name="clean", retry=3, queue="slow", labels={"disk": "fast"}, concurrency=2, process=True)
def clean() -> None: ...


async def awaited(order: Order) -> None:
    assert_type(charge(order), Receipt)
    assert_type(await ship(Receipt(order)), str)
    handle = await charge.submit(order, currency="EUR")
    assert_type(handle, Handle[Receipt])
    assert_type(await handle, Receipt)
    assert_type(await handle.result(timeout=3), Receipt)
    assert_type(await handle.status(), str)
    shipped = await ship.submit(Receipt(order), express=True)
    assert_type(shipped, Handle[str])
    assert_type(await (await clean.submit()), None)
    assert_type(await charge.map([order, order]), Handle[list[Receipt]])
    assert_type(await ship.map([Receipt(order)], express=True), Handle[list[str]])
    assert_type(await charge.submit_many([order]), list[Handle[Receipt]])
    assert_type(await charge.options(key="x", queue="fast").submit(order), Handle[Receipt])
    assert_type(await charge.options(parallelism=5).map([order]), Handle[list[Receipt]])


def blocking(order: Order) -> None:
    assert_type(charge.submit_sync(order), SyncHandle[Receipt])
    assert_type(charge.submit_sync(order).result(timeout=3), Receipt)
    assert_type(ship.map_sync([Receipt(order)]).result(), list[str])
    assert_type(charge.submit_many_sync([order]), list[SyncHandle[Receipt]])


def any_task(known: Task[..., Any]) -> str:
    return known.name


def tasks_are_tasks() -> None:
    any_task(charge)
    any_task(ship)


async def applications() -> None:
    async with Tenax() as app, app.worker("mytasks", slots=5):
        assert_type(app.client, Client)
    with Tenax.sync("postgresql:///x") as blocking_app, blocking_app.worker(queues=["a"]):
        assert_type(blocking_app, SyncTenax)
        assert_type(blocking_app.client, SyncClient)


async def mistakes(order: Order) -> None:
    await charge.submit(3)  # error: Argument 1 to "submit"
    await charge.submit(order, curency="EUR")  # error: Unexpected keyword argument "curency"
    await charge.submit()  # error: Missing positional argument "order"
    charge.submit_sync("x")  # error: Argument 1 to "submit_sync"
    await clean.options(key="x").submit(1)  # error: Too many arguments
    charge(3)  # error: Argument 1 to "__call__"
    number: int = await (await ship.submit(Receipt(order)))  # error: Incompatible types in assignment
    RetryPolicy(max_atempts=3)  # error: Unexpected keyword argument "max_atempts"
    Rule(backoff="quick")  # error: Argument "backoff" to "Rule"
    task(retries=3)  # error: Unexpected keyword argument "retries"
    del number
