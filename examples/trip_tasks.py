"""Defines the tasks of `trip.yaml`, which book and cancel."""

from __future__ import annotations

from tenax import Fatal, TaskContext, task


@task
def book(what: str, traveller: str) -> dict[str, str]:
    if what == "car":
        raise Fatal("no car is left")
    return {"booking": f"{what}-{traveller}"}


@task
def cancel(booking: str, ctx: TaskContext) -> dict[str, str]:
    """Cancels a booking. It may run more than once, as any task, so cancelling a cancelled booking must do no harm."""
    if booking.startswith("flight") and ctx.attempt == 1:
        raise ConnectionError("the airline does not answer")
    ctx.logger.info("cancelled %s", booking)
    return {"cancelled": booking}
