"""Defines `@task`, which gives a function a name that steps can refer to. The function itself stays unchanged."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from tenax.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Task:
    """Holds a function that steps of type `python` can name."""

    name: str
    function: Callable[..., Any]
    process: bool = False
    """True if each attempt runs in a process of its own, which a timeout can kill."""

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


class TaskRegistry:
    """Holds tasks by name."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    def add(self, task: Task) -> None:
        """Registers a task. A function that is registered again, since its module was reloaded, replaces the earlier one."""
        known = self._tasks.get(task.name)
        if known is not None and _origin(known.function) != _origin(task.function):
            raise UsageError(
                f"two tasks are named {task.name!r}: {_origin(known.function)} and {_origin(task.function)}",
                remedy="give one of them another name: @task(name=...)",
            )
        self._tasks[task.name] = task

    def find(self, name: str) -> Task | None:
        return self._tasks.get(name)

    def of(self, function: Callable[..., Any]) -> Task | None:
        """Returns the task of a registered function, or None."""
        return next((task for task in self._tasks.values() if task.function is function), None)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())


REGISTRY = TaskRegistry()
"""The registry of `@task`."""


@overload
def task(function: Function, /) -> Function: ...
@overload
def task(*, name: str | None = None, process: bool = False) -> Callable[[Function], Function]: ...
def task(function: Any = None, /, *, name: str | None = None, process: bool = False) -> Any:
    """Registers a function as a task, by default as `module:function`.

    An async function runs in the worker's event loop, and a sync function in a thread. With `process=True`, both run in a
    process of their own that can be killed.
    """

    def register(target: Function) -> Function:
        REGISTRY.add(Task(name or _origin(target), target, process))
        return target

    return register if function is None else register(function)


def _origin(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"
