"""Defines the tasks of `order.yaml`, which show the ways in which a task can end."""

from __future__ import annotations

from typing import Any

from tenax import Fatal, NotCompleted, Retry, Snooze, TaskContext, task


@task
async def pay(order: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """Charges an order. The receipt is the same in every attempt, so a payment service that gets it charges only once."""
    if order["amount"] <= 0:
        raise Fatal("nothing to pay: a retry would not help")
    if ctx.attempt == 1:
        raise Retry("the payment service is busy", after="2s")
    ctx.logger.info("charged %s", order["amount"])
    return {"receipt": ctx.receipt, "charged": order["amount"]}


@task
def reserve(order_id: int, ctx: TaskContext) -> dict[str, Any]:
    """Reserves an order. A snooze waits without using up an attempt."""
    if ctx.attempt == 1:
        raise Snooze("10s")
    return {"order": order_id, "shelf": "B7"}


@task
def ship(order_id: int, receipt: str, ctx: TaskContext) -> dict[str, Any]:
    """Ships an order. `NotCompleted` means that nothing failed, but the task must run again. The attempt counts."""
    if ctx.attempt == 1:
        raise NotCompleted("the parcel is not packed yet")
    return {"parcel": f"P-{order_id}", "receipt": receipt}
