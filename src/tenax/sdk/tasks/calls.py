"""Submits calls of tasks: one, many as executions of their own, or many as the items of one fan-out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from tenax.codec import CallSignature
from tenax.errors import UsageError
from tenax.model.durations import parse_duration
from tenax.model.wire import Submission, Submitted
from tenax.sdk.tasks.application import Application, current_application
from tenax.sdk.tasks.definition import ITEMS, STEP, folder_of_module, single_input
from tenax.sdk.tasks.handles import Handle, SyncHandle
from tenax.sdk.tasks.options import Retry, TaskOptions
from tenax.sdk.tasks.retry_policy import Duration, as_written

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
    start_in: float | None = None
    start_at: datetime | None = None
    connection: Any = None


class Calls(Generic[P, R]):
    """Has the methods that submit calls of a task. Each has a form for code without an event loop, `..._sync`."""

    call_options: CallOptions

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Submits a call of the task as an execution of its own."""
        call = self.call_options
        app, one = _application(call), _single(call, args, kwargs)
        submitted = await _submit(app, call, one)
        return Handle(app, submitted.id, _single_result(call.task), created=submitted.created)

    def submit_sync(self, *args: P.args, **kwargs: P.kwargs) -> SyncHandle[R]:
        """Submits a call of the task as an execution of its own. Blocks until it is recorded."""
        call = self.call_options
        app, one = _application(call), _single(call, args, kwargs)
        submitted = _submit_sync(app, call, one)
        return SyncHandle(app, submitted.id, _single_result(call.task), created=submitted.created)

    async def submit_many(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> list[Handle[R]]:
        """Submits a call for each item, all of them or none. Each is an execution of its own.

        An item is the first argument of its call. The other arguments are the same in all calls.
        """
        call = self.call_options
        app, many = _application(call), _many(call, items, args, kwargs)
        submitted = await _submit_many(app, call, many)
        return [Handle(app, one, _single_result(call.task)) for one in submitted]

    def submit_many_sync(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> list[SyncHandle[R]]:
        """Submits a call for each item, all of them or none. Each is an execution of its own."""
        call = self.call_options
        app, many = _application(call), _many(call, items, args, kwargs)
        submitted = _submit_many_sync(app, call, many)
        return [SyncHandle(app, one, _single_result(call.task)) for one in submitted]

    async def map(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Handle[list[R]]:
        """Submits one execution with a call for each item: a fan-out. The result is the list of the results.

        An item is the first argument of its call. The other arguments are the same in all calls.
        """
        call = self.call_options
        app, one = _application(call), _mapped(call, items, args, kwargs)
        submitted = await _submit(app, call, one)
        return Handle(app, submitted.id, _mapped_result(call.task), created=submitted.created)

    def map_sync(
        self: Calls[Concatenate[T, Q], R], items: Iterable[T], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> SyncHandle[list[R]]:
        """Submits one execution with a call for each item: a fan-out. Blocks until it is recorded."""
        call = self.call_options
        app, one = _application(call), _mapped(call, items, args, kwargs)
        submitted = _submit_sync(app, call, one)
        return SyncHandle(app, submitted.id, _mapped_result(call.task), created=submitted.created)

    def submission(self, *args: P.args, **kwargs: P.kwargs) -> Submission:
        """Returns what `submit` sends, for a client or a transaction of your own."""
        return _single(self.call_options, args, kwargs)

    def options(
        self,
        *,
        key: str | None = None,
        delay: Duration | None = None,
        at: datetime | None = None,
        connection: Any = None,
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

        The same `key` starts only one execution. `delay` and `at` say when it starts. With a `connection` to the database, it exists
        if and only if the transaction of the connection commits. `parallelism` is how many items of a `map` run at once.
        """
        own: dict[str, Any] = {
            "retry": retry,
            "timeout": timeout,
            "queue": queue,
            "priority": priority,
            "labels": labels,
        }
        own |= {"concurrency": concurrency, "dependency": dependency}
        how = {"key": key, "app": app, "parallelism": parallelism, "connection": connection}
        how |= _start(delay, at)
        call = self.call_options
        changed: dict[str, Any] = {name: value for name, value in how.items() if value is not None}
        if given := {name: value for name, value in own.items() if value is not None}:
            changed["options"] = replace(call.options, **given)
        bound = replace(call, **changed)
        if bound.connection is not None and (bound.start_in is not None or bound.start_at is not None):
            raise UsageError("what is submitted in a transaction starts when it commits, not later")
        return BoundCalls(bound)


class BoundCalls(Calls[P, R]):
    """Submits calls of a task with options of their own: what `task.options(...)` returns."""

    def __init__(self, call_options: CallOptions) -> None:
        self.call_options = call_options

    def __repr__(self) -> str:
        return f"<task {self.call_options.task.name} with options>"


def _start(delay: Duration | None, at: datetime | None) -> dict[str, Any]:
    """Returns when an execution starts. Raises `UsageError` for a time without a zone, or for two times."""
    if delay is not None and at is not None:
        raise UsageError("`delay` and `at` exclude each other: give one")
    if at is not None and at.tzinfo is None:
        raise UsageError(
            "`at` has no zone",
            remedy="datetime.now(UTC) has one, and `.astimezone()` adds that of this machine",
        )
    if delay is None:
        return {"start_at": at}
    try:
        return {"start_in": parse_duration(as_written(delay))}
    except ValueError as error:
        raise UsageError(f"delay: {error}") from error


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
        start_at=call.start_at,
        start_in=call.start_in,
    )


def _many(
    call: CallOptions, items: Iterable[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[Submission]:
    if call.key is not None:
        raise UsageError(
            "a key names one execution, and submit_many starts many", remedy="submit them one by one"
        )
    return [_single(call, (item, *args), kwargs) for item in items]


async def _submit(app: Application, call: CallOptions, one: Submission) -> Submitted:
    if call.connection is None:
        return await app.call(lambda client: client.submit(one))
    return Submitted(await app.submit_through(call.connection, one), created=True)


def _submit_sync(app: Application, call: CallOptions, one: Submission) -> Submitted:
    if call.connection is None:
        return app.call_sync(lambda client: client.submit(one))
    return Submitted(app.submit_through_sync(call.connection, one), created=True)


async def _submit_many(app: Application, call: CallOptions, many: list[Submission]) -> list[int]:
    if call.connection is not None:
        return [await app.submit_through(call.connection, one) for one in many]
    return [one.id for one in await app.call(lambda client: client.submit_many(many))] if many else []


def _submit_many_sync(app: Application, call: CallOptions, many: list[Submission]) -> list[int]:
    if call.connection is not None:
        return [app.submit_through_sync(call.connection, one) for one in many]
    return [one.id for one in app.call_sync(lambda client: client.submit_many(many))] if many else []


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
        start_at=call.start_at,
        start_in=call.start_in,
    )


def _single_result(task: Callee) -> Callable[[Any], Any]:
    return lambda result: task.decode_result(result[STEP])


def _mapped_result(task: Callee) -> Callable[[Any], list[Any]]:
    return lambda result: [task.decode_result(one) for one in result[STEP]]
