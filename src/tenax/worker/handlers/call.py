"""Binds the arguments of handlers, calls them and turns their results into outcomes.

Used by the threads of a worker and by the processes of tasks with `process=True`.
"""

from __future__ import annotations

from inspect import Signature
from typing import Any

from tenax.codec import encode
from tenax.errors import InvalidValue
from tenax.model.attempt.outcome import Outcome
from tenax.sdk.context import TaskContext
from tenax.worker.handlers.error_outcomes import classified_failure, outcome_of
from tenax.worker.handlers.registry import Handler

MAX_KNOWN_SHAPES = 100
"""Shapes of calls that a handler remembers. A function with `**kwargs` can be called in any number of shapes."""


def bind_arguments(handler: Handler, args: Any, context: TaskContext) -> tuple[list[Any], dict[str, Any]]:
    """Returns the positional and keyword arguments of a call. A list gives the former, and a mapping the latter.

    Raises TypeError for any other value, and for arguments that do not fit the function. The arguments of a task are rebuilt
    by its annotations: one that does not fit raises `InvalidValue`.
    """
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    if isinstance(args, dict):
        keywords = dict(args)
    elif isinstance(args, list):
        positional = args
    elif args is not None:
        raise TypeError(f"args must be a mapping or a list, not {type(args).__name__}")
    if handler.declared is not None and handler.declared.annotations:
        positional, keywords = handler.declared.decode(positional, keywords)
    if handler.context_parameter is not None:
        keywords.setdefault(handler.context_parameter, context)
    shape = (len(positional), frozenset(keywords))
    if handler.signature is not None and shape not in handler.known_shapes:
        _check(handler, handler.signature, positional, keywords)
        if len(handler.known_shapes) < MAX_KNOWN_SHAPES:
            handler.known_shapes.add(shape)
    return positional, keywords


def _check(handler: Handler, signature: Signature, positional: list[Any], keywords: dict[str, Any]) -> None:
    """Raises TypeError if the arguments do not fit. This depends only on the number and the names of the arguments."""
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        known = ", ".join(name for name in signature.parameters if name != handler.context_parameter)
        takes = f"it takes {known}" if known else "it takes none"
        raise TypeError(f"the arguments do not fit the task {handler.name!r}: {error}; {takes}") from None


def call_sync(handler: Handler, args: list[Any], kwargs: dict[str, Any]) -> Outcome:
    """Calls a sync function and returns its outcome."""
    try:
        return success_of(handler.function(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - the boundary to the user's code: any exception ends its attempt
        return outcome_of(error)


def success_of(result: Any) -> Outcome:
    if result is None:
        return _EMPTY_SUCCESS
    try:
        return Outcome("succeeded", result=encode(result, what="the result"))
    except InvalidValue as error:
        return classified_failure("invalid", "invalid_result", str(error))


_EMPTY_SUCCESS = Outcome("succeeded")
"""The shared outcome of all attempts that returned None. Outcomes are immutable."""
