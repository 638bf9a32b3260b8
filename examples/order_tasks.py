"""The tasks of `order.yaml`: the ways in which a task can end."""

from __future__ import annotations

from typing import Any

from tenax import Fatal, NotCompleted, Retry, Snooze, TaskContext, task


@task
async def pay(order: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """The receipt is the same in every attempt: a payment service that is given it charges once."""
    if order["amount"] <= 0:
        raise Fatal("nothing to pay: trying again would not help")
    if ctx.attempt == 1:
        raise Retry("the payment service is busy", after="2s")
    ctx.logger.info("charged %s", order["amount"])
    return {"receipt": ctx.receipt, "charged": order["amount"]}


@task
def reserve(order_id: int, ctx: TaskContext) -> dict[str, Any]:
    """A snooze waits without using up an attempt."""
    if ctx.attempt == 1:
        raise Snooze("10s")
    return {"order": order_id, "shelf": "B7"}


@task
def ship(order_id: int, receipt: str, ctx: TaskContext) -> dict[str, Any]:
    """`NotCompleted` says: no fault of anyone, but run me again. It counts."""
    if ctx.attempt == 1:
        raise NotCompleted("the parcel is not packed yet")
    return {"parcel": f"P-{order_id}", "receipt": receipt}
