"""Defines the fixture `tenax` as tests see it: blocking methods, and the same ones to await below `aio`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

from tenax.model.durations import parse_duration
from tenax.model.execution_views import Execution
from tenax.model.wire import Submission
from tenax.testing.core import ACTOR, Core
from tenax.testing.execution import ExecutionResult
from tenax.testing.injecting import Injecting
from tenax.testing.loop_thread import LoopThread
from tenax.testing.submissions import submission_for

__tracebackhide__ = True  # pytest shows the lines of the test, and not those of this module

_KEPT = 100
"""Executions that a test has looked at and that are kept, in case that it fails."""
_STORIES = 3
"""Executions whose story a failed test shows."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class WorkflowBuilder(Protocol):
    """Is a workflow that Python code has built."""

    def to_yaml(self) -> str: ...


Workflow: TypeAlias = str | Path | Submission | WorkflowBuilder
"""A workflow: its file, its text (with a line break), a submission, or what has built it."""


class Tester(Injecting):
    """Runs workflows and tasks for one test, on an engine and a database of its own whose clock it moves."""

    __test__ = False  # pytest takes it for a test otherwise

    def __init__(self, core: Core, loop: LoopThread, database_url: str, roll: list[float]) -> None:
        super().__init__(core.faults.injections)
        self._core = core
        self._loop = loop
        self._roll = roll
        self._looked_at: deque[ExecutionResult[Any]] = deque(maxlen=_KEPT)
        self.database_url = database_url
        """The database of the test. It is emptied afterwards, or dropped if the test adds tables."""
        self.aio = AsyncTester(self)
        """The same methods, to be awaited."""

    @property
    def timeout(self) -> float:
        """The real seconds that an execution may take."""
        return self._core.seconds

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._core.seconds = seconds

    @property
    def roll(self) -> float:
        """The random number of every jitter, from 0 to 1. With 0.5, a jitter by a share leaves the delay of the curve as it is."""
        return self._roll[0]

    @roll.setter
    def roll(self, number: float) -> None:
        self._roll[0] = number

    @property
    def now(self) -> datetime:
        """The time of the test's clock. It stands still unless the test runs something or moves it."""
        return self._loop.call(self._core.clock.now())

    # Running

    @overload
    def run(
        self, what: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> ExecutionResult[R]: ...
    @overload
    def run(self, what: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> ExecutionResult[R]: ...
    @overload
    def run(self, what: Workflow, /, *, input: Mapping[str, Any] | None = None) -> ExecutionResult[Any]: ...
    def run(self, what: Any, /, *args: Any, **kwargs: Any) -> ExecutionResult[Any]:
        """Runs a task with its arguments, or a workflow (a file, a text, a builder) with `input={...}`, to its end.

        Returns the execution, also if it has failed. Retries, sleeps and deadlines take no time.
        """
        return self._seen(self._loop.call(self._core.run(submission_for(what, args, kwargs))), what)

    @overload
    def start(
        self, what: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> ExecutionResult[R]: ...
    @overload
    def start(self, what: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> ExecutionResult[R]: ...
    @overload
    def start(self, what: Workflow, /, *, input: Mapping[str, Any] | None = None) -> ExecutionResult[Any]: ...
    def start(self, what: Any, /, *args: Any, **kwargs: Any) -> ExecutionResult[Any]:
        """Starts what `run` runs, and returns at once. The clock stands still until `finish`, `advance` or an approval."""
        return self._seen(self._loop.call(self._core.start(submission_for(what, args, kwargs))), what)

    def finish(self, execution: ExecutionResult[Any] | int) -> ExecutionResult[Any]:
        """Runs an execution to its end that was started before, by the test or by the code under test."""
        return self._seen(self._loop.call(self._core.finish(_id_of(execution))), _what_of(execution))

    def advance(self, duration: float | str) -> datetime:
        """Moves the clock by seconds or by a text such as `2h`. Everything that falls due on the way happens."""
        return self._loop.call(self._core.advance(parse_duration(duration)))

    def get(self, execution: ExecutionResult[Any] | int) -> ExecutionResult[Any]:
        """Returns the execution as it is now."""
        return self._seen(self._loop.call(self._core.engine.get(_id_of(execution))), _what_of(execution))

    def executions(self) -> list[ExecutionResult[Any]]:
        """Returns all executions of the test, without children, the oldest first."""
        return [self._seen(one) for one in self._loop.call(self._core.executions())]

    def store(self, workflow: str | Path) -> None:
        """Stores a workflow (a file or a text), so that steps find it by its name."""
        given = submission_for(workflow, (), {})
        assert given.source is not None
        self._loop.call(
            self._core.engine.store_workflow(given.source, filename=given.filename, files=given.files)
        )

    # Answers

    def signal(self, execution: ExecutionResult[Any] | int, name: str, data: Any = None) -> None:
        """Sends a signal. It is kept until a step waits for it."""
        self._loop.call(self._core.signal(_id_of(execution), name, data))

    def approve(
        self,
        execution: ExecutionResult[Any] | int,
        step: str,
        *,
        item: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Lets time pass until the step asks for an approval, and gives it."""
        self._loop.call(self._core.decide(_id_of(execution), step, item, reason, approved=True))

    def reject(
        self,
        execution: ExecutionResult[Any] | int,
        step: str,
        *,
        item: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Lets time pass until the step asks for an approval, and refuses it."""
        self._loop.call(self._core.decide(_id_of(execution), step, item, reason, approved=False))

    def cancel(self, execution: ExecutionResult[Any] | int, *, reason: str | None = None) -> None:
        self._loop.call(self._core.engine.cancel(_id_of(execution), actor=ACTOR, reason=reason))

    def untold_stories(self) -> list[tuple[str, str]]:
        """Returns the titles and the stories of the last executions that the test has looked at, for a test that has failed.
        Leaves out those that an assertion has told."""
        last = {one.id: one for one in self._looked_at}
        return [(repr(one), one.story) for one in list(last.values())[-_STORIES:] if not one.told]

    def _seen(self, view: Execution, what: Any = None) -> ExecutionResult[Any]:
        seen: ExecutionResult[Any] = ExecutionResult(view, self._core.engine, self._loop, what)
        self._looked_at.append(seen)
        return seen


def _awaited(
    method: Callable[Concatenate[Tester, P], T],
) -> Callable[Concatenate[AsyncTester, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def call(self: AsyncTester, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.tester, *args, **kwargs)

    return cast("Callable[Concatenate[AsyncTester, P], Coroutine[Any, Any, T]]", call)


class AsyncTester:
    """Has the methods of `Tester` that wait, for tests that are coroutines: their event loop goes on meanwhile."""

    def __init__(self, tester: Tester) -> None:
        self.tester = tester

    @overload
    async def run(
        self, what: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> ExecutionResult[R]: ...
    @overload
    async def run(self, what: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> ExecutionResult[R]: ...
    @overload
    async def run(
        self, what: Workflow, /, *, input: Mapping[str, Any] | None = None
    ) -> ExecutionResult[Any]: ...
    async def run(self, what: Any, /, *args: Any, **kwargs: Any) -> ExecutionResult[Any]:
        return await asyncio.to_thread(self.tester.run, what, *args, **kwargs)

    @overload
    async def start(
        self, what: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> ExecutionResult[R]: ...
    @overload
    async def start(
        self, what: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> ExecutionResult[R]: ...
    @overload
    async def start(
        self, what: Workflow, /, *, input: Mapping[str, Any] | None = None
    ) -> ExecutionResult[Any]: ...
    async def start(self, what: Any, /, *args: Any, **kwargs: Any) -> ExecutionResult[Any]:
        return await asyncio.to_thread(self.tester.start, what, *args, **kwargs)

    finish = _awaited(Tester.finish)
    advance = _awaited(Tester.advance)
    get = _awaited(Tester.get)
    executions = _awaited(Tester.executions)
    store = _awaited(Tester.store)
    signal = _awaited(Tester.signal)
    approve = _awaited(Tester.approve)
    reject = _awaited(Tester.reject)
    cancel = _awaited(Tester.cancel)


def _id_of(execution: ExecutionResult[Any] | int) -> int:
    return execution if isinstance(execution, int) else execution.id


def _what_of(execution: ExecutionResult[Any] | int) -> Any:
    return None if isinstance(execution, int) else execution.what
