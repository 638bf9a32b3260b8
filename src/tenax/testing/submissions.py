"""Turns what a test runs (a workflow file, a text, a function, a submission) into a submission."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tenax.errors import UsageError
from tenax.model.execution_views import Execution
from tenax.model.wire import Submission
from tenax.sdk.bundle import submission_of
from tenax.sdk.files import read_definition
from tenax.sdk.task import REGISTRY
from tenax.worker.handlers.json_values import to_json_value

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module


_STEP = "run"
"""The step that calls a function."""


def submission_for(what: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Submission:
    """Returns the submission. A function takes its own arguments, and everything else takes `input`."""
    if callable(what):
        return _call_of(what, args, kwargs)
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


def _call_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Submission:
    """Returns a workflow of one step that calls the function."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    name = task_name(function)
    step = {"step": _STEP, "type": "python", "task": name, "args": "{{ input.args }}"}
    definition = {"name": name.rpartition(":")[2], "input": {"args": {}}, "workflow": [step]}
    return Submission(source=json.dumps(definition), input={"args": to_json_value(dict(bound.arguments))})


def result_of(what: Any, execution: Execution) -> Any:
    """Returns the result of a completed execution: for a function its own, else that of the workflow."""
    return execution.steps[_STEP].result if callable(what) else execution.result


def task_name(target: Any) -> str:
    """Returns the name by which steps call a function, or the text itself."""
    if isinstance(target, str):
        return target
    task = REGISTRY.of(target)
    return task.name if task is not None else f"{target.__module__}:{target.__qualname__}"
