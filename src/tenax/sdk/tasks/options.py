"""Defines the options of a task, and checks them as the workflow file is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tenax.sdk.tasks.retry_policy import Duration, RetryPolicy, as_written

if TYPE_CHECKING:
    from collections.abc import Iterator

Retry = RetryPolicy | Mapping[str, Any] | int | bool
_NOT_OF_STEP = ("process", "schedule")
"""The options that are no keys of a step: how a worker calls the function, and when executions start by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskOptions:
    """Holds the options of a task.

    `schedule` is the key of a workflow file, and all others but `process` are keys of its steps, with the same meaning. None
    means that the option is not given.
    """

    retry: Retry | None = None
    timeout: Duration | None = None
    queue: str | None = None
    priority: int | None = None
    labels: Mapping[str, str] | None = None
    concurrency: int | Mapping[str, Any] | None = None
    dependency: str | None = None
    process: bool = False
    schedule: Mapping[str, Any] | None = None

    def step_keys(self) -> dict[str, Any]:
        """Returns the options that are given, as the keys of a step in a workflow file."""
        names = (field.name for field in fields(self) if field.name not in _NOT_OF_STEP)
        given = {name: getattr(self, name) for name in names}
        return {name: as_written(value) for name, value in given.items() if value is not None}


_DEFERRED: ContextVar[bool] = ContextVar("tenax_checks_deferred", default=False)


@contextmanager
def checks_deferred() -> Iterator[None]:
    """Checks the options of tasks that the block registers when they are first used.

    A worker imports modules in such a block: it runs tasks and needs no options, and the checks would cost it 12 MB of memory.
    """
    token = _DEFERRED.set(True)
    try:
        yield
    finally:
        _DEFERRED.reset(token)


def are_checks_deferred() -> bool:
    return _DEFERRED.get()


def check_options(definition: str, function: Callable[..., Any]) -> None:
    """Checks the definition of a task. Raises `InvalidDefinition` with the line of the decorated function."""
    from tenax.errors import Finding, InvalidDefinition
    from tenax.model.parse.parse import parse_workflow

    try:
        parse_workflow(definition)
    except InvalidDefinition as error:
        code = getattr(function, "__code__", None)
        file, line = (code.co_filename, code.co_firstlineno) if code is not None else (None, None)
        raise InvalidDefinition(
            [
                Finding(found.message, path=found.path.removeprefix("workflow[0]."), file=file, line=line)
                for found in error.findings
            ]
        ) from None
