"""A shop on FastAPI: an order is accepted at once, and a task charges it, also after a crash.

    uvicorn shop:app
    curl -d '{"id": 17, "amount": 250}' -H 'content-type: application/json' localhost:8000/orders
    curl localhost:8000/orders/1

The worker runs in the process of the web server. To run workers of their own, write `tenax.lifespan(worker=False)` here,
and start `tenax up shop`.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from tenax import Retry, Tenax, context, task


class Order(BaseModel):
    id: int
    amount: int


class Receipt(BaseModel):
    order: int
    number: str


tenax = Tenax()
app = FastAPI(lifespan=tenax.lifespan())


@task(retry={"max_attempts": 5, "initial_delay": "1s"}, timeout="30s")
async def charge(order: Order) -> Receipt:
    if context().attempt == 1:
        raise Retry("the bank is busy", after="100ms")
    return Receipt(order=order.id, number=f"R-{order.id}")


@app.post("/orders", status_code=202)
async def place(order: Order) -> dict[str, int]:
    handle = await charge.options(key=f"order-{order.id}").submit(order)  # the same order is charged once
    return {"execution": handle.id}


@app.get("/orders/{execution}")
async def show(execution: int) -> dict[str, Any]:
    found = await tenax.client.get(execution)
    return {"status": found["status"], "receipt": (found["result"] or {}).get("run")}
