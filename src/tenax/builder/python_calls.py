"""Turns calls of tasks into the keys of a python step: `task` and `args`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenax.builder.places import PythonLine
from tenax.codec import CallSignature, signature_of
from tenax.errors import InvalidValue
from tenax.model.source.findings import nearest
from tenax.sdk.task import REGISTRY
from tenax.sdk.tasks.calls import Calls

TaskLike = Calls[..., Any] | Callable[..., Any] | str
"""A task (also with `options(...)` of its own), a function, or the name of a task that only workers have: `module:function`, or a registered name."""


@dataclass(frozen=True, slots=True)
class Call:
    """Is a call of a task with arguments, which may be values that are known later."""

    task: TaskLike
    given: Sequence[Any]
    named: Mapping[str, Any]
    step: str
    """The name of the step that makes the call."""
    line: PythonLine

    @property
    def task_name(self) -> str:
        """Returns the name by which workers find the task."""
        if isinstance(self.task, str):
            return self.task
        if isinstance(self.task, Calls):
            return self.task.call_options.task.name
        registered = REGISTRY.of(self.task)
        if registered is not None:
            return registered.name
        name, module = getattr(self.task, "__qualname__", ""), getattr(self.task, "__module__", "")
        if not name or not module or "<" in name:
            message = (
                f"a worker cannot find {self.task!r}: use a function of a module, with @task or without it"
            )
            raise self.line.refusal(self.step, message)
        return f"{module}:{name}"

    @property
    def options(self) -> dict[str, Any]:
        """Returns the options of the task, which are keys of a step."""
        return self.task.call_options.options.step_keys() if isinstance(self.task, Calls) else {}

    @property
    def signature(self) -> CallSignature | None:
        """Returns the parameters for which the step gives values. Returns None if they are not known."""
        if isinstance(self.task, str):
            return None
        if isinstance(self.task, Calls):
            return self.task.call_options.task.signature
        try:
            return signature_of(self.task)
        except InvalidValue as error:
            raise self.line.refusal(self.step, error.message) from None


def step_name(task: TaskLike) -> str:
    """Returns the name of a step whose author gave it none: that of its function."""
    target = task.call_options.task if isinstance(task, Calls) else task
    name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
    return name.rpartition(":")[2].rpartition(".")[2]


def bind(call: Call, keys: Sequence[str]) -> list[Any] | dict[str, Any]:
    """Returns the `args` of a call. Refuses a call that does not fit the function's parameters. `keys` are those of the step.

    Positional arguments get their names, so that the file shows them. They stay a list if the names are not known.
    """
    signature = call.signature
    if signature is None:
        if call.given and call.named:
            message = "give all arguments by position or all by name: the parameters of this task are not known here"
            raise call.line.refusal(call.step, message)
        return list(call.given) if call.given else dict(call.named)
    try:
        bound = signature.signature.bind(*call.given, **call.named)
    except TypeError as error:
        raise call.line.refusal(call.step, _words(error, signature, call, keys)) from None
    if signature.by_name:
        return dict(bound.arguments)
    if bound.args and bound.kwargs:
        raise call.line.refusal(call.step, "these arguments cannot be given by position and by name at once")
    return list(bound.args) or bound.kwargs


def _words(error: TypeError, signature: CallSignature, call: Call, keys: Sequence[str]) -> str:
    """Returns why arguments do not fit, with the nearest name for one that is not there."""
    known, task = tuple(signature.signature.parameters), step_name(call.task)
    unknown = next((name for name in call.named if name not in known), None)
    if unknown is not None:
        meant = nearest(unknown, (*known, *keys))
        hint = f"; did you mean `{meant}`?" if meant else f"; it takes {', '.join(known) or 'none'}"
        return f"{task} takes no argument `{unknown}`{hint}"
    return f"the arguments do not fit {task}{signature.signature}: {error}"
