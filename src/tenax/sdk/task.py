"""Defines `@task`, which makes a function a task: a step can name it, and it can be submitted on its own."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, overload

import orjson

from tenax.codec import CallSignature, decode, result_annotation, signature_of
from tenax.errors import UsageError
from tenax.sdk.tasks.calls import CallOptions, Calls
from tenax.sdk.tasks.definition import mapped_definition, single_definition
from tenax.sdk.tasks.options import Retry, TaskOptions, are_checks_deferred, check_options
from tenax.sdk.tasks.retry_policy import Duration

P = ParamSpec("P")
R = TypeVar("R")
_MOST_DEFINITIONS = 100  # texts of definitions that a task keeps
_NO_OPTIONS = TaskOptions()


class Task(Calls[P, R]):
    """Is a function that workers can run. It can be called as the function that it is, and submitted.

    `name` is the name by which steps refer to it.
    """

    call_options: CallOptions

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        process: bool = False,  # noqa: FBT001, FBT002 -- an option like the others
        *,
        options: TaskOptions | None = None,
        found_at: tuple[str, tuple[str, ...]] | None = None,
    ) -> None:
        """`found_at` is the module and the path in it where the function is looked up. By default it is its own place."""
        update_wrapper(self, function)
        self.name = name
        self.declared_options = options or (TaskOptions(process=True) if process else _NO_OPTIONS)
        self.call_options = CallOptions(self, self.declared_options)
        self.declared: Callable[..., Any] = function
        """The function that was decorated. Its annotations say how arguments and results are rebuilt."""
        self._place = found_at or _place_of(function)
        self._own_definition: str | None = None
        self._definitions: dict[tuple[bytes, int | None], str] = {}
        """Texts of definitions by the step's keys and the parallelism."""
        self._checked = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function here and now."""
        return self.declared(*args, **kwargs)

    @property
    def function(self) -> Callable[..., Any]:
        """The function that a worker calls: what its module has under its name now, so that a test can replace it."""
        if self._place is None:
            return self.declared
        module, path = self._place
        found: Any = sys.modules.get(module)
        for part in path:
            found = getattr(found, part, None)
        return found if callable(found) and not isinstance(found, Task) else self.declared

    @property
    def process(self) -> bool:
        """True if each attempt runs in a process of its own, which a timeout can kill."""
        return self.declared_options.process

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def module(self) -> str:
        return str(self.declared.__module__)

    @cached_property
    def signature(self) -> CallSignature:
        return signature_of(self.declared)

    def definition(self, options: TaskOptions | None = None, *, parallelism: int | None = None) -> str:
        """Returns the definition of an execution that calls the task: a workflow with the one step `run`.

        The arguments are its input. With `parallelism` it is a fan-out, whose input `items` has the arguments of each call.
        """
        if (options is None or options is self.declared_options) and parallelism is None:
            if self._own_definition is None:
                self._own_definition = self._write(self.declared_options, None)
            return self._own_definition
        chosen = options or self.declared_options
        wanted = (orjson.dumps(chosen.step_keys()), parallelism)
        known = self._definitions.get(wanted)
        if known is None:
            if len(self._definitions) >= _MOST_DEFINITIONS:
                self._definitions.clear()
            known = self._definitions[wanted] = self._write(chosen, parallelism)
        return known

    def check(self) -> None:
        """Checks the options. Raises `InvalidDefinition` with the line of the function."""
        if not self._checked and self.declared_options.step_keys():
            check_options(mapped_definition(self.name, self.declared_options, 1), self.declared)
        self._checked = True

    def decode_result(self, value: Any) -> R:
        """Returns a result of the task, rebuilt from JSON by the annotation of the function."""
        annotation = result_annotation(self.declared)
        if annotation is Any:
            return value  # type: ignore[no-any-return]  # nothing says what it is
        return decode(annotation, value, place=f"the result of {self.name}")  # type: ignore[no-any-return]

    def _write(self, options: TaskOptions, parallelism: int | None) -> str:
        self.check()
        if parallelism is None:
            text = single_definition(self.name, self.signature, options)
        else:
            text = mapped_definition(self.name, options, parallelism)
        if options is not self.declared_options or parallelism is not None:
            check_options(text, self.declared)
        return text

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def __reduce__(self) -> str:
        """Pickles the task by its place in its module, as functions are pickled."""
        return str(self.declared.__qualname__)


class SyncTask(Task[P, R]):
    """Is a task made of a `def` function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function here and now."""
        return self.declared(*args, **kwargs)  # type: ignore[no-any-return]  # `declared` is the function that was given


class AsyncTask(Task[P, R]):
    """Is a task made of an `async def` function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Calls the function here and now."""
        return self.declared(*args, **kwargs)  # type: ignore[no-any-return]  # `declared` is the function that was given


class TaskRegistry:
    """Holds tasks by name."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task[..., Any]] = {}

    def add(self, task: Task[..., Any]) -> None:
        """Registers a task. A function that is registered again, since its module was reloaded, replaces the earlier one."""
        known = self._tasks.get(task.name)
        if known is not None and _origin(known.declared) != _origin(task.declared):
            raise UsageError(
                f"two tasks are named {task.name!r}: {_origin(known.declared)} and {_origin(task.declared)}",
                remedy="give one of them another name: @task(name=...)",
            )
        self._tasks[task.name] = task

    def find(self, name: str) -> Task[..., Any] | None:
        return self._tasks.get(name)

    def of(self, function: Callable[..., Any]) -> Task[..., Any] | None:
        """Returns the task of a registered function, or the task itself. Returns None for other functions."""
        return next((task for task in self._tasks.values() if function in (task, task.declared)), None)

    def __iter__(self) -> Iterator[Task[..., Any]]:
        return iter(self._tasks.values())


REGISTRY = TaskRegistry()
"""The registry of `@task`."""


class Decorator:
    """Is what `@task(...)` with options returns."""

    def __init__(self, name: str | None, options: TaskOptions) -> None:
        self._name = name
        self._options = options

    @overload
    def __call__(  # type: ignore[overload-overlap]  # the first that fits counts
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> SyncTask[P, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        return _register(function, self._name, self._options)


@overload
def task(  # type: ignore[overload-overlap]  # the first that fits counts
    function: Callable[P, Coroutine[Any, Any, R]], /
) -> AsyncTask[P, R]: ...
@overload
def task(function: Callable[P, R], /) -> SyncTask[P, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    retry: Retry | None = None,
    timeout: Duration | None = None,
    queue: str | None = None,
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    concurrency: int | Mapping[str, Any] | None = None,
    dependency: str | None = None,
    process: bool = False,
) -> Decorator: ...
def task(function: Any = None, /, *, name: str | None = None, **options: Any) -> Any:
    """Makes a function a task, by default with the name `module:function`.

    An async function runs in the worker's event loop, and a sync function in a thread. With `process=True`, both run in a
    process of their own that can be killed. The other options are those of a step in a workflow file, and apply where the task
    is submitted on its own. A mistake in them raises `InvalidDefinition` with the line of the function.
    """
    made = Decorator(name, TaskOptions(**options))
    return made if function is None else made(function)


def _register(function: Callable[..., Any], name: str | None, options: TaskOptions) -> Task[..., Any]:
    target = function.declared if isinstance(function, Task) else function
    kind = AsyncTask if inspect.iscoroutinefunction(target) else SyncTask
    made: Task[..., Any] = kind(name or _origin(target), target, options=options)
    if not are_checks_deferred():
        made.check()
    REGISTRY.add(made)
    return made


def _origin(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


def _place_of(function: Callable[..., Any]) -> tuple[str, tuple[str, ...]] | None:
    """Returns the module of a function and the path in it. Returns None if its module does not have it by its name."""
    if not isinstance(function, FunctionType) or "<" in function.__qualname__:
        return None
    return function.__module__, tuple(function.__qualname__.split("."))
