"""Runs one attempt of a task with `process=True`, in a process of its own: `python -m tenax.worker.processes.child`.

It reads its job from stdin and writes the outcome to a file. Stdout belongs to the function.
"""

from __future__ import annotations

import asyncio
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import orjson

from tenax.errors import InvalidValue
from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment
from tenax.sdk.context import CURRENT, TaskContext
from tenax.sdk.tasks.options import checks_deferred
from tenax.worker.handlers.call import bind_arguments, call_sync, success_of
from tenax.worker.handlers.error_outcomes import classified_failure, outcome_of
from tenax.worker.handlers.registry import Handler, NoHandler, find_handler, import_beside
from tenax.worker.processes.child_notes import ChildChannel

_MAIN = "__tenax_task__"


def main() -> None:
    job = orjson.loads(sys.stdin.buffer.read())
    sys.path[:] = job["path"]
    outcome = _run(job)
    path = Path(job["result"])
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(msgspec.json.encode(outcome))
    unfinished.rename(path)


def _run(job: dict[str, Any]) -> Outcome:
    assignment = Assignment(**job["assignment"])
    try:
        handler = _find(job, assignment)
    except NoHandler as error:
        return classified_failure("not_found", "unknown_handler", str(error))
    except InvalidValue as error:
        return classified_failure("invalid", "invalid_parameters", str(error))
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything at all
        return outcome_of(error)
    context = TaskContext(assignment, started=time.time(), channel=ChildChannel(job["max_checkpoint"]))
    CURRENT.set(context)
    try:
        args, kwargs = bind_arguments(handler, assignment.spec.get("args"), context)
    except (TypeError, InvalidValue) as error:
        return classified_failure("invalid", "invalid_parameters", str(error))
    return _run_async(handler, args, kwargs) if handler.is_async else call_sync(handler, args, kwargs)


def _find(job: dict[str, Any], assignment: Assignment) -> Handler:
    """Finds the handler. First imports the module that registered the task, since this process has no tasks yet."""
    name: str = assignment.spec["task"]
    module: str = job["module"]
    if module == "__main__" and job["main"]:
        # The script does not run as __main__, so that the code that it guards by this name does not run again.
        with checks_deferred():
            runpy.run_path(job["main"], run_name=_MAIN)
        return find_handler(name.replace("__main__:", f"{_MAIN}:"), assignment.base_dir)
    import_beside(module.partition("@")[0], assignment.base_dir)  # the part after @ is the worker's own alias
    return find_handler(name, assignment.base_dir)


def _run_async(handler: Handler, args: list[Any], kwargs: dict[str, Any]) -> Outcome:
    try:
        return success_of(asyncio.run(handler.function(*args, **kwargs)))
    except BaseException as error:  # noqa: BLE001 - the boundary to the user's code, in a process of its own
        return outcome_of(error)


if __name__ == "__main__":
    main()
