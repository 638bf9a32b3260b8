"""Stores the schedules that the tasks of Python modules declare."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.output import print_json, say
from tenax.errors import UsageError


def apply(
    *modules: Annotated[
        str, Parameter(name="MODULE", help="A module with tasks, such as app.tasks. Repeatable.")
    ],
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Store the schedules of Python tasks: of each `@task(schedule=...)` that these modules register.

    A task that has lost its schedule loses the stored one too. Start a worker with the same modules to run them.
    """
    if not modules:
        raise UsageError("which modules?", remedy="tenax schedules apply MODULE")
    scheduled, others = _definitions(modules)
    applied = run_async(_applied(where, scheduled, others))
    if json:
        print_json(applied)
        return
    from tenax.drawing.schedule_words import local_time, times_words

    for one in applied["schedules"]:
        coming = f"; its next tick is {local_time(one['next_at'], one['schedule'])}" if one["next_at"] else ""
        say(f"schedule {one['name']}: {times_words(one['schedule'])}{coming}")
    for name in applied["deleted"]:
        say(f"schedule {name} is deleted: its task has none any more")
    if not applied["schedules"] and not applied["deleted"]:
        say("no task of these modules has a schedule")


def _definitions(modules: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Imports the modules. Returns the definitions of tasks with a schedule and of the others, by their workflows."""
    from tenax.sdk.task import REGISTRY
    from tenax.sdk.tasks.definition import workflow_name
    from tenax.worker.handlers.registry import NoHandler, load_modules

    sys.path.insert(0, str(Path.cwd()))
    try:
        load_modules(tuple(modules))
    except NoHandler as error:
        raise UsageError(
            str(error), remedy="modules are searched in the working folder and on sys.path"
        ) from error
    scheduled: dict[str, str] = {}
    others: dict[str, str] = {}
    for task in REGISTRY:
        found = others if task.declared_options.schedule is None else scheduled
        found[workflow_name(task.name)] = task.stored_definition()
    return scheduled, others


async def _applied(where: TargetFlags, scheduled: dict[str, str], others: dict[str, str]) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        for name, text in scheduled.items():
            await backend.store_workflow(text, filename=f"{name}.yaml", files={})
        stored = await backend.schedules()
        deleted = [one["name"] for one in stored if one["declared"] and one["name"] in others]
        for name in deleted:
            await backend.store_workflow(others[name], filename=f"{name}.yaml", files={})
    return {"schedules": [one for one in stored if one["name"] in scheduled], "deleted": deleted}
