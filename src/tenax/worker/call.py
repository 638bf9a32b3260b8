"""Calling a handler: its arguments, and what comes of the call. In a thread of the worker, or in a process of its own."""

from __future__ import annotations

from typing import Any

from tenax.model.outcome import Outcome
from tenax.sdk.context import TaskContext
from tenax.worker.failures import outcome_of, refused
from tenax.worker.json_values import Unserialisable, plain
from tenax.worker.registry import Handler


def arguments(handler: Handler, args: Any, context: TaskContext) -> tuple[list[Any], dict[str, Any]]:
    """A mapping gives keyword arguments, a list positional ones. TypeError for anything else."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    if isinstance(args, dict):
        keywords = dict(args)
    elif isinstance(args, list):
        positional = args
    elif args is not None:
        raise TypeError(f"args must be a mapping or a list, not {type(args).__name__}")
    if handler.context_parameter is not None:
        keywords.setdefault(handler.context_parameter, context)
    return positional, keywords


def call(handler: Handler, args: list[Any], kwargs: dict[str, Any]) -> Outcome:
    """Calls a sync function."""
    try:
        return succeeded(handler.function(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - the boundary to the user's code, in a thread or process of its own
        return outcome_of(error)


def succeeded(result: Any) -> Outcome:
    if result is None:
        return _NOTHING
    try:
        return Outcome("succeeded", result=plain(result))
    except Unserialisable as error:
        return refused("invalid", "invalid_result", str(error))


_NOTHING = Outcome("succeeded")
"""Outcomes are values: all that succeeded with nothing to say are the same one."""
