"""Gives the attempts of a worker what the worker has: its database, and the secrets that no result may contain."""

from __future__ import annotations

from typing import Any, Protocol

from tenax.errors import UsageError
from tenax.model.wire import Assignment
from tenax.sdk.context import CompletingTransaction, TaskContext
from tenax.worker.handlers.call import success_of
from tenax.worker.handlers.secrets import Secrets


class Transactions(Protocol):
    """Opens transactions of the database for attempts."""

    def transaction(self, context: TaskContext) -> CompletingTransaction:
        """Makes a transaction that completes the attempt."""

    async def close(self) -> None:
        """Closes the connections."""


class WorkerServices:
    """Serves the contexts of all attempts of a worker."""

    def __init__(self, secrets: Secrets, database: Transactions | None) -> None:
        self._secrets = secrets
        self._database = database

    def encode(self, assignment: Assignment, result: Any) -> Any:
        outcome = success_of(result)
        if outcome.facts is not None:
            raise UsageError(str(outcome.facts.message))
        return self._secrets.scrub_outcome(outcome, assignment).result

    def transaction(self, context: TaskContext) -> CompletingTransaction:
        if self._database is None:
            raise UsageError(
                "this worker was not given the database, so its tasks have no transaction: "
                "start it with `tenax worker --database URL` (TENAX_WORKER_DATABASE)"
            )
        return self._database.transaction(context)

    async def close(self) -> None:
        if self._database is not None:
            await self._database.close()
