"""Defines the tasks of `limits.yaml`."""

from __future__ import annotations

import time
from typing import Any

from tenax import task


@task
def call(customer: str) -> dict[str, Any]:
    """Simulates a request to the payment service, which takes a while."""
    began = time.time()
    time.sleep(0.2)
    return {"customer": customer, "began": began, "ended": time.time()}


@task
def most_at_once(payments: list[dict[str, Any]], refund: dict[str, Any]) -> dict[str, int]:
    """Returns the most calls that ran at the same time, of all customers and of one customer."""
    calls = [*payments, refund]
    of_all, of_one_customer = 0, 0
    for one in calls:
        running = [other for other in calls if other["began"] <= one["began"] < other["ended"]]
        own = [other for other in running if other["customer"] == one["customer"]]
        of_all, of_one_customer = max(of_all, len(running)), max(of_one_customer, len(own))
    return {"calls": len(calls), "of_all": of_all, "of_one_customer": of_one_customer}
