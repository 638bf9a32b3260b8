"""Tests your own workflows with a real PostgreSQL, real workers, and a clock that jumps to the next retry.

async def test_import_survives_a_bad_night():
    async with workbench(settings) as bench:
        execution = await bench.run("import.yaml", input={"day": "2024-05-01"})
        assert execution["status"] == "completed"
        assert len(execution["steps"]["fetch"]["attempts"]) == 3
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from tenax.embed import local_worker
from tenax.engine.engine import Engine
from tenax.model.wire import Submission
from tenax.sdk.bundle import submission_of
from tenax.sdk.files import read_definition
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.for_tests.fake_clock import FakeClock, next_time

FINISHED = ("completed", "failed", "cancelled")


class Workbench:
    """Runs workflows to their end. A retry that is due in an hour starts at once, and the log shows that an hour has passed."""

    def __init__(self, engine: Engine, clock: FakeClock) -> None:
        self.engine = engine
        self.clock = clock

    async def run(self, file: str | Path, *, input: Mapping[str, Any] | None = None) -> dict[str, Any]:  # noqa: A002
        """Runs a workflow from its file. Modules and the files of children are searched in its folder, as by `tenax run`."""
        return await self._run(submission_of(read_definition(file), input=input))

    async def run_text(
        self,
        source: str,
        *,
        filename: str | None = None,
        base_dir: str | None = None,
        input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
        files: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Runs a workflow from its text. `files` has the texts of the files that its `file:` steps name, by path."""
        return await self._run(
            Submission(
                source=source,
                filename=filename,
                base_dir=base_dir,
                input=dict(input or {}),
                files=dict(files or {}),
            )
        )

    async def _run(self, submission: Submission) -> dict[str, Any]:
        [submitted] = await self.engine.submit([submission])
        return await self.finish(submitted.id)

    async def finish(self, execution_id: int) -> dict[str, Any]:
        """Waits for the end. Moves the clock forward whenever everything waits for a time: a retry, a sleep or a deadline."""
        context = self.engine.context
        async with context.notifier.following_all() as changed:
            while True:
                execution = await self.engine.get(execution_id)
                if execution.status in FINISHED:
                    return dict(to_builtins(execution))
                async with context.transaction() as tx:
                    due = await next_time(tx)
                if due is not None:
                    await self.clock.pass_to(due)
                    context.notifier.announce(ready=True, server_steps=True, messages=True, due_in=0.0)
                await changed.wait()
                changed.clear()


@contextlib.asynccontextmanager
async def workbench(settings: Settings, **worker: Any) -> AsyncIterator[Workbench]:
    """Opens a workbench on the database of the settings. It replaces the database's clock for ever, so use a database for tests."""
    async with Database.open(settings) as database:
        clock = FakeClock(database)
        await clock.install()
        async with (
            Engine(database, settings).running() as engine,
            local_worker(engine, name="workbench", **worker),
        ):
            yield Workbench(engine, clock)
