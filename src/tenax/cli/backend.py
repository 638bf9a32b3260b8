"""Whom a command speaks to: a server over HTTP, or the database itself. The commands see no difference."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
from collections.abc import AsyncIterator, Coroutine, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tenax.errors import Unreachable, UsageError
from tenax.settings import Settings

if TYPE_CHECKING:
    from tenax.engine.engine import Engine
    from tenax.model.wire import Submission, Submitted
    from tenax.sdk.client import Client

T = TypeVar("T")

LARGEST_ID = 2**63 - 1


class Backend(Protocol):
    """The verbs that commands need."""

    async def submit(self, submission: Submission) -> Submitted: ...

    async def get(self, execution_id: int) -> dict[str, Any]: ...

    async def list(
        self,
        *,
        states: Sequence[str],
        workflow: str | None,
        since: datetime | None,
        before: int | None,
        limit: int,
    ) -> list[dict[str, Any]]: ...

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[dict[str, Any]]: ...

    async def news(
        self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0
    ) -> dict[str, Any]: ...

    async def explain(
        self, execution_id: int, *, step: str | None, attempt: int | None
    ) -> Sequence[dict[str, Any]]: ...

    async def cancel(self, execution_id: int, *, reason: str | None) -> bool:
        """False where it had been cancelled before."""
        ...

    async def retry(self, execution_id: int, *, from_failed: bool, reason: str | None) -> dict[str, Any]: ...

    async def nobody_works(self) -> bool:
        """Whether it is known that no worker is alive. A server does not say."""
        ...


class ServerBackend:
    """Over HTTP."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def submit(self, submission: Submission) -> Submitted:
        return await self._client.submit(submission)

    async def get(self, execution_id: int) -> dict[str, Any]:
        return await self._client.get(check_id(execution_id))

    async def list(
        self,
        *,
        states: Sequence[str],
        workflow: str | None,
        since: datetime | None,
        before: int | None,
        limit: int,
    ) -> list[dict[str, Any]]:
        found = await self._client.list(
            status=",".join(states) or None,
            workflow=workflow,
            since=since.isoformat() if since else None,
            limit=limit,
            before=before,
        )
        return list(found)

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[dict[str, Any]]:
        return await self._client.events(check_id(execution_id), after=after)

    async def news(
        self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0
    ) -> dict[str, Any]:
        return await self._client.news(check_id(execution_id), cursor=cursor, wait=wait)

    async def explain(
        self, execution_id: int, *, step: str | None, attempt: int | None
    ) -> Sequence[dict[str, Any]]:
        return list(await self._client.explain(check_id(execution_id), step=step, attempt=attempt))

    async def cancel(self, execution_id: int, *, reason: str | None) -> bool:
        return bool((await self._client.cancel(check_id(execution_id), reason=reason))["changed"])

    async def retry(self, execution_id: int, *, from_failed: bool, reason: str | None) -> dict[str, Any]:
        answer = await self._client.retry(check_id(execution_id), from_failed=from_failed, reason=reason)
        return {name: value for name, value in answer.items() if value is not None}

    async def nobody_works(self) -> bool:
        return False


class DatabaseBackend:
    """The database itself, by an engine whose loops do not run: a short command leases, reaps and repairs nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._actor = user_name()

    async def submit(self, submission: Submission) -> Submitted:
        await self._make_room()
        [submitted] = await self._engine.submit([submission])
        await self._tell_others()
        return submitted

    async def get(self, execution_id: int) -> dict[str, Any]:
        return await self._engine.get(check_id(execution_id))

    async def list(
        self,
        *,
        states: Sequence[str],
        workflow: str | None,
        since: datetime | None,
        before: int | None,
        limit: int,
    ) -> list[dict[str, Any]]:
        return await self._engine.list(
            states=list(states) or None, workflow=workflow, since=since, before=before, limit=limit
        )

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[dict[str, Any]]:
        return await self._engine.events(check_id(execution_id), after=after)

    async def news(
        self, execution_id: int, *, cursor: str | None = None, wait: float = 0.0
    ) -> dict[str, Any]:
        return await self._engine.news(check_id(execution_id), cursor=cursor, wait=wait)

    async def explain(
        self, execution_id: int, *, step: str | None, attempt: int | None
    ) -> Sequence[dict[str, Any]]:
        return await self._engine.explain(check_id(execution_id), step=step, attempt=attempt)

    async def cancel(self, execution_id: int, *, reason: str | None) -> bool:
        await self._make_room()
        changed = await self._engine.cancel(check_id(execution_id), actor=self._actor, reason=reason)
        await self._tell_others()
        return changed

    async def retry(self, execution_id: int, *, from_failed: bool, reason: str | None) -> dict[str, Any]:
        await self._make_room()
        answer = await self._engine.retry(
            check_id(execution_id), actor=self._actor, reason=reason, from_failed=from_failed
        )
        await self._tell_others()
        return answer

    async def nobody_works(self) -> bool:
        from tenax.store.workers import count_live_workers

        async with self._engine.core.transaction() as tx:
            return not await count_live_workers(tx, self._engine.core.settings.lease)

    async def _make_room(self) -> None:
        """No server may have run here yet. What is written before the log has its partitions would stand in their way."""
        from tenax.store.service import ensure_log_partitions

        async with self._engine.core.transaction() as tx:
            await ensure_log_partitions(tx)

    async def _tell_others(self) -> None:
        with contextlib.suppress(Unreachable):  # it is done; the sweep of a server finds it as well
            await self._engine.core.hub.flush()


@contextlib.asynccontextmanager
async def open_backend(settings: Settings, *, follow: bool = False) -> AsyncIterator[Backend]:
    """`follow`: hear at once of what happens to an execution, for `news(wait=...)`."""
    if settings.server:
        from tenax.sdk.client import Client

        async with Client(settings.server, settings.token) as client:
            yield ServerBackend(client)
        return
    from tenax.cli.home import tell_of_new_database
    from tenax.cli.logs import configure_logging
    from tenax.engine.engine import Engine
    from tenax.store.connect import Database

    configure_logging("warning")
    tell_of_new_database(settings)
    async with Database.open(settings, max_size=2, application_name="tenax command") as database:
        engine = Engine(database, settings)
        async with _hearing(engine, follow=follow):
            yield DatabaseBackend(engine)


@contextlib.asynccontextmanager
async def _hearing(engine: Engine, *, follow: bool) -> AsyncIterator[None]:
    if not follow:
        yield
        return
    ears = asyncio.create_task(engine.core.hub.receive())
    try:
        yield
    finally:
        ears.cancel()
        await asyncio.gather(ears, return_exceptions=True)


async def nobody_to_run(backend: Backend, execution_id: int) -> str | None:
    """What to say where no worker will take an execution on."""
    if not await backend.nobody_works():
        return None
    return f"no worker is alive: start `tenax up`, or run it here: tenax run --resume {execution_id}"


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """One command's work, to its end. Ctrl-C cancels it and is then raised."""
    return asyncio.run(work)


def check_id(execution_id: int) -> int:
    if not 0 < execution_id <= LARGEST_ID:
        raise UsageError(
            f"{execution_id} cannot be the number of an execution",
            remedy="`tenax list` shows the executions there are",
        )
    return execution_id


def user_name() -> str:
    """Who acts, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for this uid, as in some containers
        return f"uid {os.getuid()}"
