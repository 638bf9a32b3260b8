"""Workers, as they register and send heartbeats."""

from __future__ import annotations

from tenax.model.wire import Registration
from tenax.store.connect import Connection
from tenax.store.json_text import encode
from tenax.store.statements import sql


async def register_worker(tx: Connection, who: Registration) -> None:
    await tx.execute(
        sql("register_worker"),
        who.worker,
        who.version,
        who.runtimes,
        who.queues,
        encode(who.labels),
        who.slots,
    )


async def find_able_workers(tx: Connection, item_id: int, alive_within: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_able_workers"), item_id, alive_within)]


async def count_live_workers(tx: Connection, alive_within: float) -> int:
    count: int = await tx.fetchval(sql("count_live_workers"), alive_within)
    return count


async def end_worker(tx: Connection, name: str) -> None:
    """It says itself that it is leaving."""
    await tx.execute(sql("end_worker"), name)


async def end_lost_workers(tx: Connection, silent: float, forgotten: float) -> None:
    await tx.execute(sql("end_lost_workers"), silent, forgotten)


async def find_silent_workers(tx: Connection, names: list[str], seconds: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_silent_workers"), names, seconds)]
