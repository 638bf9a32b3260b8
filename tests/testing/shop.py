"""Has the tasks that the tests of the plugin run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from tenax import RetryPolicy, TaskContext, task

CHARGED: list[int] = []


def charge(order: dict) -> dict:
    CHARGED.append(order["id"])
    return {"receipt": f"R-{order['id']}"}


async def ship(receipt: str) -> str:
    return f"parcel for {receipt}"


def refuse(order: dict) -> None:
    raise ValueError(f"order {order['id']} has no amount")


@dataclass(frozen=True)
class Order:
    id: int
    due: date


@task(retry=RetryPolicy(max_attempts=3, initial_delay="2h", max_delay="1d"))
async def invoice(order: Order) -> Order:
    return replace(order, due=order.due + timedelta(days=30))


@task(retry=RetryPolicy(max_attempts=3, initial_delay="2h", max_delay="1d"))
def count(ctx: TaskContext, until: int) -> list[int]:
    first = (ctx.resumed_from or 0) + 1
    for page in range(first, until + 1):
        ctx.checkpoint(page)
        if page == 3 and first == 1:
            raise ConnectionError("at page 3")
    return [first, until]


@task(retry=RetryPolicy(max_attempts=3), timeout="1d")
async def order_all(orders: list[Order]) -> list[int]:
    """Submits other tasks and waits for them."""
    handles = [await invoice.submit(order) for order in orders]
    return [(await handle).id for handle in handles]


def checkout(number: int) -> Order:
    """Is code under test that is no task itself."""
    return invoice.submit_sync(Order(number, date(2026, 1, 31))).result()


@task(retry=RetryPolicy(max_attempts=3))
async def write_in_transaction(ctx: TaskContext, number: int) -> int:
    async with ctx.transaction() as connection:
        await connection.execute("insert into effect values ($1)", number)
        ctx.complete(number)
    return number


@task
def order_one(order: Order) -> int:
    """Waits for another task in a thread."""
    return invoice.submit_sync(order).result().id
