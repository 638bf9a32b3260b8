"""Turns calls of tasks into the keys of a python step: `task` and `args`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.builder.places import PythonLine
from tenax.model.source.findings import nearest
from tenax.sdk.task import REGISTRY

TaskLike = Callable[..., Any] | str
"""A function, or the name of a task that only workers have: `module:function`, or a registered name."""


def task_name(task: TaskLike, place: PythonLine) -> str:
    """Returns the name by which workers find a task."""
    if isinstance(task, str):
        return task
    registered = REGISTRY.of(task)
    if registered is not None:
        return registered.name
    name, module = getattr(task, "__qualname__", ""), getattr(task, "__module__", "")
    if not name or not module or "<" in name:
        message = f"a worker cannot find {task!r}: use a function of a module, with @task or without it"
        raise place.refusal("", message)
    return f"{module}:{name}"


def step_name(task: TaskLike) -> str:
    """Returns the name of a step whose author gave it none: that of its function."""
    name = task if isinstance(task, str) else getattr(task, "__name__", type(task).__name__)
    return name.rpartition(":")[2].rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Call:
    """Is a call of a task with arguments, which may be values that are known later."""

    task: TaskLike
    given: Sequence[Any]
    named: Mapping[str, Any]


def bind(call: Call, keys: Sequence[str], step: str, place: PythonLine) -> list[Any] | dict[str, Any]:
    """Returns the `args` of a call. Refuses a call that does not fit the function's parameters. `keys` are those of the step.

    Positional arguments get their names, so that the file shows them. They stay a list if the names are not known.
    """
    parameters = _parameters(call.task)
    if parameters is None:
        if call.given and call.named:
            message = "give all arguments by position or all by name: the parameters of this task are not known here"
            raise place.refusal(step, message)
        return list(call.given) if call.given else dict(call.named)
    try:
        bound = parameters.bind(*call.given, **call.named)
    except TypeError as error:
        raise place.refusal(step, _words(error, parameters, call, keys)) from None
    if bound.args and _needs_positions(parameters):
        if bound.kwargs:
            message = "these arguments cannot be given by position and by name at once"
            raise place.refusal(step, message)
        return list(bound.args)
    return dict(zip(parameters.parameters, bound.args, strict=False)) | bound.kwargs


def parameter_names(task: TaskLike) -> frozenset[str]:
    """Returns the names of the arguments that a task takes. Returns none if they are not known."""
    parameters = _parameters(task)
    return frozenset(() if parameters is None else parameters.parameters)


def _parameters(task: TaskLike) -> inspect.Signature | None:
    """Returns the parameters for which a step gives values: all but that of the context."""
    if isinstance(task, str):
        return None
    try:
        signature = inspect.signature(task, follow_wrapped=False)
    except (TypeError, ValueError):  # some builtins have none
        return None
    own = [one for one in signature.parameters.values() if not _takes_context(one)]
    return signature.replace(parameters=own)


def _takes_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name == "ctx" or name.rpartition(".")[2] == "TaskContext"


def _needs_positions(parameters: inspect.Signature) -> bool:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    return any(one.kind in positional for one in parameters.parameters.values())


def _words(error: TypeError, parameters: inspect.Signature, call: Call, keys: Sequence[str]) -> str:
    """Returns why arguments do not fit, with the nearest name for one that is not there."""
    known, task = tuple(parameters.parameters), step_name(call.task)
    unknown = next((name for name in call.named if name not in known), None)
    if unknown is not None:
        meant = nearest(unknown, (*known, *keys))
        hint = f"; did you mean `{meant}`?" if meant else f"; it takes {', '.join(known) or 'none'}"
        return f"{task} takes no argument `{unknown}`{hint}"
    return f"the arguments do not fit {task}{parameters}: {error}"
