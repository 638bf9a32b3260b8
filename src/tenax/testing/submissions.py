"""Turns what a test runs (a workflow file, a text, a function, a submission) into a submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tenax.errors import UsageError
from tenax.model.execution_views import Execution
from tenax.model.wire import Submission
from tenax.sdk.bundle import submission_of
from tenax.sdk.files import read_definition
from tenax.sdk.task import REGISTRY, Task
from tenax.sdk.tasks.definition import STEP, folder_of_module, single_input

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module


def submission_for(what: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Submission:
    """Returns the submission. A function takes its own arguments, and everything else takes `input`."""
    if callable(what):
        return _call_of(_task_of(what), args, kwargs)
    if args or set(kwargs) - {"input"}:
        raise UsageError("a workflow takes its inputs as a mapping", remedy="tenax.run(FILE, input={...})")
    given = dict(kwargs.get("input") or {})
    match what:
        case Submission():
            return what
        case str() if "\n" in what:
            return Submission(source=what, input=given)
        case str() | Path():
            return submission_of(read_definition(what), input=given)
        case _ if hasattr(what, "to_yaml"):
            return Submission(source=what.to_yaml(), input=given)
        case _:
            raise UsageError(
                f"a {type(what).__name__} cannot be run: give a file, a text, a task or a workflow"
            )


def _call_of(task: Task[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Submission:
    return Submission(
        source=task.definition(),
        input=single_input(task.signature.encode(args, kwargs)),
        base_dir=folder_of_module(task.module),
    )


def _task_of(function: Callable[..., Any]) -> Task[..., Any]:
    """Returns the task of a function. A function that is not decorated is a task without options."""
    if isinstance(function, Task):
        return function
    return REGISTRY.of(function) or Task(f"{function.__module__}:{function.__qualname__}", function)


def result_of(what: Any, execution: Execution) -> Any:
    """Returns the result of a completed execution: for a task its own, rebuilt from the annotation, else that of the workflow."""
    if not callable(what):
        return execution.result
    return _task_of(what).decode_result(execution.steps[STEP].result)


def task_name(target: str | Callable[..., Any]) -> str:
    """Returns the name by which steps call a function, or the text itself."""
    return target if isinstance(target, str) else _task_of(target).name
