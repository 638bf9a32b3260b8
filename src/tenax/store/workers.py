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


async def find_able_workers(tx: Connection, runtime: str, queue: str, alive_within: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_able_workers"), runtime, queue, alive_within)]


async def find_silent_workers(tx: Connection, names: list[str], seconds: float) -> list[str]:
    return [row["name"] for row in await tx.fetch(sql("find_silent_workers"), names, seconds)]
