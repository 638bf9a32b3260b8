"""Offers the methods of `Client` on an engine in the same process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from tenax.app.in_process import InProcess
from tenax.engine.engine import Engine
from tenax.model.wire import Submission, Submitted
from tenax.sdk.client import Client


class EngineClient(Client):
    """Is a client of an engine in this process.

    What tasks and handles need is called directly. All other requests go to the routes of the API, without a connection.
    """

    def __init__(self, engine: Engine, actor: str) -> None:
        self._engine = engine
        self._actor = actor
        self._servers = InProcess(engine, actor)
        self._timeout = 30.0

    async def submit(self, submission: Submission) -> Submitted:
        [submitted] = await self._engine.submit([submission])
        return submitted

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self._engine.submit(submissions)

    async def get(self, execution_id: int) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.get(execution_id)))

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0) -> dict[str, Any]:
        news = await self._engine.news(execution_id, cursor=cursor, wait=wait)
        return dict(to_builtins(news))

    async def explain(
        self,
        execution_id: int,
        *,
        step: str | None = None,
        item: int | None = None,
        attempt: int | None = None,
    ) -> Any:
        found = await self._engine.explain(execution_id, step=step, item=item, attempt=attempt)
        return [to_builtins(one) for one in found]

    async def diagnose(
        self, execution_id: int, *, step: str | None = None, item: int | None = None
    ) -> dict[str, Any]:
        return dict(to_builtins(await self._engine.diagnose(execution_id, step=step, item=item)))

    async def cancel(self, execution_id: int, *, reason: str | None = None) -> Mapping[str, Any]:
        return {"cancelled": await self._engine.cancel(execution_id, actor=self._actor, reason=reason)}
