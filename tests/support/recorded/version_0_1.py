"""Writes `version_0_1.json`: the rows of a database in which version 0.1 has work in every state.

    git archive bcf0f41 src tests/hand.py | tar -x -C FOLDER
    mkdir FOLDER/tests/support; mv FOLDER/tests/hand.py FOLDER/tests/support/
    PYTHONPATH=FOLDER/src:FOLDER/tests python tests/support/recorded/version_0_1.py

The file is never made anew: it is what that version left.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import asyncpg

from support.hand import Hand, hand_on
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment, Release
from tenax.store.embedded.server import EmbeddedPostgres
from tenax.store.migrate import migrate

FILE = Path(__file__).with_suffix(".json")
TABLES = (
    "workflow", "policy", "plan", "execution", "step", "item", "fan", "item_result", "signal", "inbox", "log", "worker",
    "worker_window", "worker_loss", "queue_limit", "service",
)  # fmt: skip
TASK = 'type: python, task: "t:t"'
RETRY = "retry: {max_attempts: 3, initial_delay: 60, jitter: 0}"
WORKFLOWS = {
    "leased": f"[{{step: s, {TASK}}}]",
    "retrying": f"[{{step: s, {TASK}, {RETRY}, queue_ttl: 1h}}]",
    "held": f"[{{step: s, {TASK}, retry: {{max_attempts: 3, infra_attempts: 5, jitter: 0}}}}]",
    "callback": "[{step: s, type: http, url: 'http://callee.test/', async: {deadline: 1h}}]",
    "signal": "[{step: s, type: wait, signal: go, deadline: 1h}]",
    "approval": "[{step: s, type: wait}]",
    "sleep": "[{step: s, type: sleep, for: 10m}]",
    "parent": "[{step: s, type: workflow, workflow: child}]",
    "fan": f"[{{step: s, {TASK}, for_each: [1, 2, 3, 4], parallelism: 2, queue_ttl: 1h, {RETRY}}}]",
    "undone": (
        f"[{{step: a, {TASK}, compensate: {{{TASK}}}}}, {{step: b, {TASK}, needs: [a], compensate: {{{TASK}}}}},"
        f" {{step: c, {TASK}, needs: [b], retry: false}}]"
    ),
    "paused": f"[{{step: s, {TASK}, queue_ttl: 1h}}]",
    "limited": f"[{{step: s, {TASK}, concurrency: 1}}]",
    "refused": f"[{{step: s, {TASK}}}]",
    "polled": f"[{{step: s, {TASK}, until: {{condition: 'result > 1', delay: 5m, max_polls: 3}}}}]",
    "queued": f"[{{step: s, {TASK}, queue_ttl: 1h}}, {{step: t, {TASK}, needs: [s]}}]",
}


def source(name: str) -> str:
    return f"name: {name}\nworkflow: {WORKFLOWS[name]}\n"


class Night:
    """Drives version 0.1 until it has work in every state."""

    def __init__(self, hand: Hand) -> None:
        self.hand = hand
        self.executions: dict[str, int] = {}
        self.leased: dict[str, Assignment] = {}

    async def submit(self, name: str, as_name: str | None = None) -> int:
        id_ = self.executions[as_name or name] = await self.hand.submit(source(name))
        return id_

    async def lease(self, name: str) -> Assignment:
        [found] = await self.hand.lease(slots=1)
        assert found.execution_id == self.executions[name], name
        self.leased[name] = found
        return found

    async def play(self) -> None:
        hand = self.hand
        await hand.engine.store_workflow(f"name: child\nworkflow: [{{step: do, {TASK}}}]\n")
        await hand.register("w1")
        await hand.register("w2")
        await self.submit("held")
        await self.lease("held")
        await hand.pass_time(40)
        await hand.engine.reap()
        await hand.register("w1")
        await hand.register("w2")
        await self.submit("retrying")
        await hand.fail(await self.lease("retrying"))
        await self.submit("callback")
        await hand.report(await self.lease("callback"), Outcome("accepted"))
        await self.submit("polled")
        await hand.succeed(await self.lease("polled"), 1)
        for name in ("signal", "approval", "sleep", "parent"):
            await self.submit(name)
        await hand.settle_down()
        self.leased["child"] = (await hand.lease(slots=1))[0]
        await self.submit("undone")
        for _ in range(2):
            await hand.succeed(await self.lease("undone"), 7)
        await hand.fail(await self.lease("undone"))
        await self.lease("undone")
        await self.submit("fan")
        first, second = await hand.lease(slots=2)
        await hand.fail(second)
        self.leased["fan"] = first
        await hand.lease(slots=1)
        await self.submit("limited")
        await self.lease("limited")
        await self.submit("limited", "blocked")
        assert await hand.lease() == []
        await self.submit("refused")
        a = await self.lease("refused")
        await hand.engine.release(
            [Release(a.execution_id, a.item_id, a.attempt, a.token, "no_handler", "none")]
        )
        await self.submit("leased")
        await self.lease("leased")
        paused = await self.submit("paused")
        await hand.engine.pause(paused, actor="me")
        await self.submit("queued")


async def rows_of(url: str) -> dict[str, list[Any]]:
    connection = await asyncpg.connect(url)
    try:
        return {
            name: [
                json.loads(row[0])
                for row in await connection.fetch(f"select to_jsonb(x) from tenax.{name} x")
            ]
            for name in TABLES
        }
    finally:
        await connection.close()


async def play(url: str, home: Path) -> dict[str, Any]:
    connection = await asyncpg.connect(url)
    await migrate(connection)
    async with hand_on(url, home, callback_url="http://tenax.test", poison_after=1) as hand:
        night = Night(hand)
        await night.play()
        at = await connection.fetchval("select tenax.now()")
    await connection.close()
    names = ("execution_id", "item_id", "attempt", "token", "step", "item", "callback")
    leased = {as_: {name: getattr(a, name) for name in names} for as_, a in night.leased.items()}
    return {
        "at": at.isoformat(),
        "executions": night.executions,
        "leased": leased,
        "rows": await rows_of(url),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        with EmbeddedPostgres(folder / "postgres") as server:
            kept = asyncio.run(play(server.ensure_running(), folder / "home"))
    FILE.write_text(_text(kept) + "\n")


def _text(kept: dict[str, Any]) -> str:
    """Returns one line for each row."""
    tables = [
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "]"
        for name, rows in kept.pop("rows").items()
    ]
    return json.dumps(kept)[:-1] + ',\n"rows": {' + ",\n".join(tables) + "}}"


if __name__ == "__main__":
    main()
