"""Submits calls of tasks: one, many as executions of their own, or many as the items of one fan-out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from tenax.codec import CallSignature
from tenax.errors import UsageError
from tenax.model.wire import Submission
from tenax.sdk.tasks.application import Application, Executions, current_application
from tenax.sdk.tasks.definition import ITEMS, STEP, folder_of_module, single_input
from tenax.sdk.tasks.handles import Handle, SyncHandle
from tenax.sdk.tasks.options import Retry, TaskOptions
from tenax.sdk.tasks.retry_policy import Duration

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T")
DEFAULT_PARALLELISM = 100  # items of `map` that run at once


class Callee(Protocol):
    """Is what calls need of a task."""

    name: str

    @property
    def module(self) -> str: ...

    @property
    def signature(self) -> CallSignature: ...

    def definition(self, options: TaskOptions | None = None, *, parallelism: int | None = None) -> str: ...

    def decode_result(self, value: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Holds how calls of a task are submitted."""

    task: Callee
    options: TaskOptions
    key: str | None = None
    app: Application | None = None
    parallelism: int = DEFAULT_PARALLELISM


class Calls(Generic[P, R]):
    """Has the methods that submit calls of a task. Each has a form for code without an event loop, `..._sync`."""

    call_options: CallOptions

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Submits a call of the task as an execution of its own."""
        call = self.call_options
        app, one = _application(call), _single(call, args, kwargs)
        submitted = await app.call(lambda client: client.submit(one))
        return Handle(app, submitted.id, _single_result(call.task), created=submitted.created)

    def submit_sync(self, *args: P.args, **kwargs: P.kwargs) -> SyncHandle[R]:
        """Submits a call of the task as an execution of its own. Blocks until it is recorded."""
        call = self.call_options
        app, one = _application(call), _single(call, args, kwargs)
        submitted = app.call_sync(lambda client: client.submit(one))
        return SyncHandle(app, submitted.id, _single_result(call.task), created=submitted.created)

    async def submit_many(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> list[Handle[R]]:
        """Submits a call for each item, all of them or none. Each is an execution of its own.

        An item is the first argument of its call. The other arguments are the same in all calls.
        """
        call = self.call_options
        app, many = _application(call), _many(call, items, args, kwargs)
        submitted = await app.call(lambda client: _submit_many(client, many))
        return [Handle(app, one, _single_result(call.task)) for one in submitted]

    def submit_many_sync(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> list[SyncHandle[R]]:
        """Submits a call for each item, all of them or none. Each is an execution of its own."""
        call = self.call_options
        app, many = _application(call), _many(call, items, args, kwargs)
        submitted = app.call_sync(lambda client: _submit_many(client, many))
        return [SyncHandle(app, one, _single_result(call.task)) for one in submitted]

    async def map(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Handle[list[R]]:
        """Submits one execution with a call for each item: a fan-out. The result is the list of the results.

        An item is the first argument of its call. The other arguments are the same in all calls.
        """
        call = self.call_options
        app, one = _application(call), _mapped(call, items, args, kwargs)
        submitted = await app.call(lambda client: client.submit(one))
        return Handle(app, submitted.id, _mapped_result(call.task), created=submitted.created)

    def map_sync(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> SyncHandle[list[R]]:
        """Submits one execution with a call for each item: a fan-out. Blocks until it is recorded."""
        call = self.call_options
        app, one = _application(call), _mapped(call, items, args, kwargs)
        submitted = app.call_sync(lambda client: client.submit(one))
        return SyncHandle(app, submitted.id, _mapped_result(call.task), created=submitted.created)

    def submission(self, *args: P.args, **kwargs: P.kwargs) -> Submission:
        """Returns what `submit` sends, for a client or a transaction of your own."""
        return _single(self.call_options, args, kwargs)

    def options(
        self,
        *,
        key: str | None = None,
        app: Application | None = None,
        parallelism: int | None = None,
        retry: Retry | None = None,
        timeout: Duration | None = None,
        queue: str | None = None,
        priority: int | None = None,
        labels: Mapping[str, str] | None = None,
        concurrency: int | Mapping[str, Any] | None = None,
        dependency: str | None = None,
    ) -> BoundCalls[P, R]:
        """Returns the task with other options for its calls. An option that is None stays as it is.

        The same `key` starts only one execution. `parallelism` is how many items of a `map` run at once.
        """
        changed: dict[str, Any] = {
            "retry": retry,
            "timeout": timeout,
            "queue": queue,
            "priority": priority,
            "labels": labels,
            "concurrency": concurrency,
            "dependency": dependency,
        }
        given = {name: value for name, value in changed.items() if value is not None}
        call = self.call_options
        return BoundCalls(
            CallOptions(
                call.task,
                replace(call.options, **given) if given else call.options,
                call.key if key is None else key,
                app or call.app,
                call.parallelism if parallelism is None else parallelism,
            )
        )


class BoundCalls(Calls[P, R]):
    """Submits calls of a task with options of their own: what `task.options(...)` returns."""

    def __init__(self, call_options: CallOptions) -> None:
        self.call_options = call_options

    def __repr__(self) -> str:
        return f"<task {self.call_options.task.name} with options>"


def _application(call: CallOptions) -> Application:
    app = current_application(call.app)
    app.admit(call.task.name, call.task.module)
    return app


def _single(call: CallOptions, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Submission:
    task = call.task
    arguments = task.signature.encode(args, kwargs)
    return Submission(
        source=task.definition(call.options),
        input=single_input(arguments),
        key=call.key,
        base_dir=folder_of_module(task.module),
    )


def _many(
    call: CallOptions, items: Iterable[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[Submission]:
    if call.key is not None:
        raise UsageError(
            "a key names one execution, and submit_many starts many", remedy="submit them one by one"
        )
    return [_single(call, (item, *args), kwargs) for item in items]


async def _submit_many(client: Executions, many: list[Submission]) -> list[int]:
    return [one.id for one in await client.submit_many(many)] if many else []


def _mapped(
    call: CallOptions, items: Iterable[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Submission:
    task = call.task
    encoded = [task.signature.encode((item, *args), kwargs) for item in items]
    return Submission(
        source=task.definition(call.options, parallelism=call.parallelism),
        input={ITEMS: encoded},
        key=call.key,
        base_dir=folder_of_module(task.module),
    )


def _single_result(task: Callee) -> Callable[[Any], Any]:
    return lambda result: task.decode_result(result[STEP])


def _mapped_result(task: Callee) -> Callable[[Any], list[Any]]:
    return lambda result: [task.decode_result(one) for one in result[STEP]]
