"""Defines the steps of a workflow that is built in Python, and how their keys become those of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tenax.builder.later_values import LaterValue, ValuePath
from tenax.builder.places import PythonLine, line_of_caller
from tenax.builder.python_calls import Call, TaskLike, bind
from tenax.codec import decode, encode
from tenax.errors import InvalidValue, TenaxError
from tenax.model.parse.keys.step_types import OWN_KEYS
from tenax.model.parse.shape import Shape
from tenax.model.parse.workflow_file import COMPENSATIONS
from tenax.sdk.tasks.retry_policy import as_written

_FIRST = ("step", "type", "needs", "when", "for_each", "parallelism")
_NAMES = ("needs", "next")
"""The keys whose values are names of steps."""
_ARGUMENTS = ("args", "for_each", "input")
"""The keys whose values are rebuilt by the annotations of a task. In the others, durations are seconds."""


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
            keys = python_keys(COMPENSATIONS["python"], Call(task, arguments, {}, self.name, line), keys)
        shape = next((shape for kind, shape in COMPENSATIONS.items() if kind == keys.get("type")), None)
        self._data["compensate"] = rendered_keys(keys, shape, self.name, line)
        self._changed()
        return self

    def __repr__(self) -> str:
        return f"Step({self.name!r})"

    def _fact(self, fact: str) -> ValuePath:
        return ValuePath("steps")[self.name][fact]


def python_keys(shape: type[Shape], call: Call, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the keys of a python step. Keys that steps of this type do not have are arguments of the task.

    The options of the task are keys that the step itself may override.
    """
    own = {key: value for key, value in keys.items() if _file_key(key, shape) is not None}
    named = {key: value for key, value in keys.items() if key not in own}
    options = _options(shape, call, own)
    given = {"type": "python", "task": call.task_name, **options}
    if "args" in own:
        if call.given or named:
            other = next(iter(named), "the first argument")
            message = f"give all arguments in `args`, or none: `{other}` stands beside it"
            raise call.line.refusal(call.step, message)
        return {**given, **own}
    parameters = call.signature.signature.parameters if call.signature is not None else {}
    both = sorted(parameters.keys() & own.keys())
    if both:
        message = f"`{both[0]}` is a key of the step and an argument of the task: give the arguments as args={{...}}"
        raise call.line.refusal(call.step, message)
    args = _fitting(bind(replace(call, named=named), shape.key_names()), call)
    return {**given, **({"args": args} if args else {}), **own}


def _options(shape: type[Shape], call: Call, own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of the task that are keys of the step. Refuses a template in one that the step does not replace."""
    options = {
        key: value for key, value in call.options.items() if key in shape.key_names() and key not in own
    }
    later = next((key for key, value in options.items() if _is_known_later(value)), None)
    if later is not None:
        message = (
            f"`{later}` of the task has a template, which reads the arguments of a task that is submitted on its own: "
            f"give this step a `{later}` of its own"
        )
        raise call.line.refusal(call.step, message)
    return options


def _fitting(args: list[Any] | dict[str, Any], call: Call) -> list[Any] | dict[str, Any]:
    """Returns the arguments of a call as plain data. Refuses a value that does not fit the annotation of its parameter."""
    annotations = call.signature.annotations if call.signature is not None else {}
    fitting: dict[str, Any] = {}
    for name, value in (
        args.items() if isinstance(args, dict) else ((f"[{n}]", v) for n, v in enumerate(args))
    ):
        try:
            fitting[name] = render(value)
            if name in annotations and not _is_known_later(fitting[name]):
                decode(annotations[name], fitting[name], place=name)
        except (InvalidValue, ValueError) as error:
            raise call.line.refusal(f"{call.step}.args", str(error)) from None
    return fitting if isinstance(args, dict) else list(fitting.values())


def _is_known_later(value: Any) -> bool:
    """Returns whether plain data has a template."""
    match value:
        case str():
            return "{{" in value
        case dict():
            return any(map(_is_known_later, value.values()))
        case list():
            return any(map(_is_known_later, value))
        case _:
            return False


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
        case Mapping():
            return {str(encode(key)): render(part) for key, part in value.items()}
        case list() | tuple():
            return [render(part) for part in value]
        case _:
            return encode(value)


def _rendered_key(key: str, value: Any) -> Any:
    if key in _NAMES:
        return _names(value)
    if key == "on_failure":
        if isinstance(value, Step):
            return {"step": value.name}
        if isinstance(value, Mapping) and isinstance(fallback := value.get("step"), Step):
            return {**value, "step": fallback.name}
    return render(value if key in _ARGUMENTS else as_written(value))


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
