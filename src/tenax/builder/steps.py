"""Defines the steps of a workflow that is built in Python, and how their keys become those of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from tenax.builder.later_values import LaterValue, ValuePath
from tenax.builder.places import PythonLine, line_of_caller
from tenax.builder.python_calls import Call, TaskLike, bind, parameter_names, task_name
from tenax.errors import TenaxError
from tenax.model.parse.keys.step_types import OWN_KEYS
from tenax.model.parse.shape import Shape
from tenax.model.parse.workflow_file import COMPENSATIONS

_FIRST = ("step", "type", "needs", "when", "for_each", "parallelism")
_NAMES = ("needs", "next")
"""The keys whose values are names of steps."""


class Step:
    """Is a step that was declared. Its `result` is a value that later steps can read.

    Where a value is expected, the step itself stands for its result. Where a step is expected (`needs`, `next`,
    `on_failure`), it stands for its name.
    """

    def __init__(self, data: dict[str, Any], changed: Callable[[], None]) -> None:
        """`data` are the keys of the step in the file. `changed` is called after each change of them."""
        self.name: str = data["step"]
        self._data = data
        self._changed = changed

    @property
    def result(self) -> ValuePath:
        """Returns the result: of a fan-out the list of the results of its items."""
        return self._fact("result")

    @property
    def status(self) -> ValuePath:
        """Returns the state of the step, such as `completed` or `skipped`."""
        return self._fact("status")

    @property
    def failure(self) -> ValuePath:
        """Returns why the step has failed: `class`, `reason`, `message` and `attempts`."""
        return self._fact("failure")

    @property
    def failures(self) -> ValuePath:
        """Returns the failures of the items of a fan-out."""
        return self._fact("failures")

    def compensate(self, task: TaskLike | None = None, /, *arguments: Any, **keys: Any) -> Step:
        """Says what undoes the step if the execution fails: a task with its arguments, or `type=` with the keys of that type.

        `workflow.result` is the result that is undone.
        """
        line = line_of_caller()
        keys = dict(keys)
        if task is not None:
            keys = python_keys(COMPENSATIONS["python"], task, arguments, keys, self.name, line)
        shape = next((shape for kind, shape in COMPENSATIONS.items() if kind == keys.get("type")), None)
        self._data["compensate"] = rendered_keys(keys, shape, self.name, line)
        self._changed()
        return self

    def __repr__(self) -> str:
        return f"Step({self.name!r})"

    def _fact(self, fact: str) -> ValuePath:
        return ValuePath("steps")[self.name][fact]


def python_keys(
    shape: type[Shape],
    task: TaskLike,
    arguments: Sequence[Any],
    keys: Mapping[str, Any],
    step: str,
    line: PythonLine,
) -> dict[str, Any]:
    """Returns the keys of a python step. Keys that steps of this type do not have are arguments of the task."""
    own = {key: value for key, value in keys.items() if _file_key(key, shape) is not None}
    named = {key: value for key, value in keys.items() if key not in own}
    given = {"type": "python", "task": task_name(task, line)}
    if "args" in own:
        if arguments or named:
            other = next(iter(named), "the first argument")
            raise line.refusal(step, f"give all arguments in `args`, or none: `{other}` stands beside it")
        return {**given, **own}
    both = sorted(parameter_names(task) & own.keys())
    if both:
        message = f"`{both[0]}` is a key of the step and an argument of the task: give the arguments as args={{...}}"
        raise line.refusal(step, message)
    args = bind(Call(task, arguments, named), shape.key_names(), step, line)
    return {**given, **({"args": args} if args else {}), **own}


def rendered_keys(
    keys: Mapping[str, Any], shape: type[Shape] | None, step: str, line: PythonLine
) -> dict[str, Any]:
    """Returns the keys as a file has them. `shape` declares the keys; a name that ends in `_` is a word of Python."""
    made: dict[str, Any] = {}
    for name, value in keys.items():
        key = (shape and _file_key(name, shape)) or name
        try:
            made[key] = _rendered_key(key, value)
        except TenaxError as error:
            raise line.refusal(f"{step}.{key}" if step else key, error.message) from None
        except ValueError as error:
            raise line.refusal(f"{step}.{key}" if step else key, str(error)) from None
    own = next((own.key_names() for kind, own in OWN_KEYS.items() if kind == made.get("type")), ())
    order = (*_FIRST, *own)
    return {key: made[key] for key in dict.fromkeys((*order, *made)) if key in made}


def render(value: Any) -> Any:
    """Returns a value as plain data. Later values and steps become templates. Raises ValueError for what a file cannot hold."""
    match value:
        case None | bool():
            return value
        case LaterValue():
            return str(value)
        case Step():
            return str(value.result)
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            if not math.isfinite(value):
                raise ValueError("a NaN or an infinity cannot stand in a workflow")
            return float(value)
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {_text_key(key): render(part) for key, part in value.items()}
        case list() | tuple():
            return [render(part) for part in value]
        case _:
            raise ValueError(f"a value of type {type(value).__name__} cannot stand in a workflow")


def _text_key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the keys of a mapping are texts, and not {key!r}")
    return str.__str__(key)


def _rendered_key(key: str, value: Any) -> Any:
    if key in _NAMES:
        return _names(value)
    if key == "on_failure":
        if isinstance(value, Step):
            return {"step": value.name}
        if isinstance(value, Mapping) and isinstance(fallback := value.get("step"), Step):
            return {**value, "step": fallback.name}
    return render(value)


def _names(value: Any) -> Any:
    match value:
        case Step():
            return value.name
        case list() | tuple():
            return [_names(one) for one in value]
        case Mapping():
            return {key: _names(one) for key, one in value.items()}
        case _:
            return render(value)


def _file_key(name: str, shape: type[Shape]) -> str | None:
    """Returns the key of the file for a name of Python. Returns None if the shape has no such key."""
    known = shape.key_names()
    bare = name.removesuffix("_")
    return name if name in known else bare if bare in known else None
