"""Has the tasks that the tests of the plugin run."""

from __future__ import annotations

CHARGED: list[int] = []


def charge(order: dict) -> dict:
    CHARGED.append(order["id"])
    return {"receipt": f"R-{order['id']}"}


async def ship(receipt: str) -> str:
    return f"parcel for {receipt}"


def refuse(order: dict) -> None:
    raise ValueError(f"order {order['id']} has no amount")
