"""Tests `python` steps: where functions are found, how they are called, and how each way of ending is reported."""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import sys
import textwrap
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import httpx2
import msgspec
import pytest

from tenax.model.attempt.classify import classify
from tenax.model.attempt.outcome import Outcome
from tenax.sdk.context import TaskContext, context
from tenax.sdk.outcomes import Fatal, NotCompleted, Retry, Snooze
from tenax.sdk.task import REGISTRY, Task, TaskRegistry
from tenax.worker.executors.python import PythonExecutor
from tenax.worker.handlers.call import bind_arguments
from tenax.worker.handlers.registry import NoHandler, handler_of, import_beside
from tenax.worker.processes.guardian import Guardian


@pytest.fixture
def call(run):
    """Registers a function under a name of its own and runs it as a step."""

    def call_function(function, args=None, **more) -> Outcome:
        name = f"test-{id(function)}-{time.monotonic_ns()}"
        REGISTRY.add(Task(name, function))
        return run("python", {"task": name, "args": args}, **more)

    return call_function


def raising(error):
    def function():
        raise error

    return function


def raising_async(error):
    async def function():
        raise error

    return function


async def add_async(a, b=0):
    return {"sum": a + b}


def add_sync(a, b=0):
    return {"sum": a + b}


@pytest.mark.parametrize("function", [add_async, add_sync])
@pytest.mark.parametrize("args", [{"a": 1, "b": 2}, [1, 2]])
def test_arguments_by_name_and_by_place(call, function, args):
    outcome = call(function, args)
    assert (outcome.status, outcome.result) == ("succeeded", {"sum": 3})


@pytest.mark.parametrize("function", [add_async, add_sync])
@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"a": 1, "c": 1}, "got an unexpected keyword argument 'c'; it takes a, b"),
        ({"b": 1}, "missing a required argument: 'a'; it takes a, b"),
        (None, "missing a required argument: 'a'"),
        ([1, 2, 3], "too many positional arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_the_call(call, function, args, says):
    outcome = call(function, args)
    failure = classify(outcome.facts)
    assert (failure.failure_class, failure.reason) == ("invalid", "invalid_parameters")
    assert "the arguments do not fit the task 'test-" in failure.message
    assert says in failure.message


def test_a_call_that_fits_does_not_vouch_for_another():
    handler = handler_of(Task("sum", add_sync))
    context: Any = None
    for _ in range(2):
        assert bind_arguments(handler, {"a": 1}, context) == ([], {"a": 1})
        for others in ({"b": 1}, {"a": 1, "c": 1}, [1, 2, 3], None):
            with pytest.raises(TypeError, match="do not fit the task 'sum'"):
                bind_arguments(handler, others, context)


def test_a_type_error_of_the_function_itself_is_a_bug_in_it(call):
    def inner(x):
        return len(x)

    failure = classify(call(inner, {"x": 5}).facts)
    assert (failure.failure_class, failure.reason) == ("logical", "exception_TypeError")


def test_a_decorator_may_give_the_function_what_the_step_does_not(call):
    def connected(function):
        @functools.wraps(function)
        def wrapper(**given):
            return function(connection="db", **given)

        return wrapper

    @connected
    def load(connection, x):
        return [connection, x]

    assert call(load, {"x": 1}).result == ["db", 1]


def test_built_in_functions_and_open_signatures_are_called_as_they_are(call):
    assert call(lambda *a, **k: [a, k], {"x": 1}).result == [[], {"x": 1}]
    assert call(max, [1, 5, 3]).result == 5


def test_args_of_another_kind_are_refused(call):
    assert call(add_sync, "text").facts.reason == "invalid_parameters"


@pytest.mark.parametrize("make", [raising, raising_async])
@pytest.mark.parametrize(
    ("error", "status", "after", "facts"),
    [
        (
            Retry("later", after="5s"),
            "failed",
            5.0,
            {"message": "later", "exception": "tenax.sdk.outcomes.Retry"},
        ),
        (Retry(), "failed", None, {"fatal": False, "failure_class": None}),
        (
            Fatal("never", data={"k": 1}),
            "failed",
            None,
            {"fatal": True, "message": "never", "data": {"k": 1}},
        ),
        (NotCompleted("half", data=[1]), "not_completed", None, {"message": "half", "data": [1]}),
        (
            ValueError("bad"),
            "failed",
            None,
            {"exception": "builtins.ValueError", "message": "ValueError: bad"},
        ),
        (KeyError("x"), "failed", None, {"message": "KeyError: 'x'"}),
        (SystemExit(3), "failed", None, {"exception": "builtins.SystemExit"}),
        (GeneratorExit(), "failed", None, {"exception": "builtins.GeneratorExit"}),
        (KeyboardInterrupt(), "failed", None, {"exception": "builtins.KeyboardInterrupt"}),
        (asyncio.CancelledError(), "failed", None, {"exception": "asyncio.exceptions.CancelledError"}),
        (TimeoutError("theirs"), "failed", None, {"exception": "builtins.TimeoutError", "timed_out": False}),
        (ConnectionRefusedError(111, "no"), "failed", None, {"connection": "refused"}),
    ],
)
def test_what_is_raised_is_reported_as_facts(call, make, error, status, after, facts):
    outcome = call(make(error))
    assert (outcome.status, outcome.after) == (status, after)
    assert {name: getattr(outcome.facts, name) for name in facts} == facts


class PeerGone(ConnectionResetError):
    pass


class Broken(ConnectionError):
    pass


@pytest.mark.parametrize(
    ("error", "connection", "reason"),
    [
        (ConnectionRefusedError("no"), "refused", "connection_refused"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "no"), "refused", "connection_refused"),
        (ConnectionResetError("peer"), "reset", "connection_reset"),
        (ConnectionResetError(errno.ECONNRESET, "peer"), "reset", "connection_reset"),
        (ConnectionAbortedError(), "reset", "connection_reset"),
        (BrokenPipeError("pipe"), "reset", "connection_reset"),
        (PeerGone("subclass"), "reset", "connection_reset"),
        (PeerGone(errno.ECONNRESET, "subclass"), "reset", "connection_reset"),
        (ConnectionError("somehow"), "other", "connection_failed"),
        (Broken("somehow"), "other", "connection_failed"),
        (Broken(errno.EHOSTUNREACH, "no route"), "unreachable", "connection_unreachable"),
    ],
)
def test_a_connection_error_is_told_by_its_type_with_and_without_errno(call, error, connection, reason):
    facts = call(raising(error)).facts
    assert facts.connection == connection
    assert (classify(facts).failure_class, classify(facts).reason) == ("transient", reason)


def test_a_connection_error_is_told_by_its_cause_too(call):
    def function():
        try:
            raise ConnectionRefusedError("no")
        except ConnectionRefusedError as error:
            raise Broken("somehow") from error

    assert call(function).facts.connection == "refused"


def test_snooze(call):
    outcome = call(raising(Snooze("2m")))
    assert (outcome.status, outcome.after, outcome.facts) == ("snoozed", 120.0, None)


class QuotaError(RuntimeError):
    def __str__(self):
        raise ValueError("no text")


def test_the_exceptions_bases_and_traceback_start_at_the_users_code(call):
    facts = call(raising(QuotaError())).facts
    assert facts.exception.endswith("test_python.QuotaError")
    assert facts.exception_bases == ("builtins.RuntimeError", "builtins.Exception", "builtins.BaseException")
    assert "raise error" in facts.traceback
    assert "tenax/worker" not in facts.traceback


@pytest.mark.parametrize("make", [raising, raising_async])
def test_half_a_surrogate_pair_in_a_text_of_a_failure_can_be_sent(call, make):
    class Response:
        status_code = 500
        url = "http://\ud800.test/"

    error = OSError("cannot read " + os.fsdecode(b"caf\xe9.txt") + "\x00")
    error.__cause__ = ValueError("\ud800")
    error.response = Response()
    outcome = call(make(error))
    msgspec.json.encode(outcome)
    assert outcome.facts.message == "OSError: cannot read caf\\udce9.txt\ufffd"
    assert "ValueError: \\ud800" in outcome.facts.traceback
    assert outcome.facts.dependency == "\\ud800.test"


class Odd(Exception):
    @property
    def response(self):
        raise OSError("no")


def test_an_exception_that_cannot_be_asked_is_reported_by_its_type(call):
    facts = call(raising(Odd("no"))).facts
    assert facts.message == "Odd: (its details cannot be read: OSError)"
    assert facts.exception.endswith("test_python.Odd")


def test_an_http_clients_exception_gives_status_and_retry_after(call):
    request = httpx2.Request("GET", "http://api.test:81/x")
    response = httpx2.Response(429, headers={"Retry-After": "9"}, request=request)
    facts = call(raising(httpx2.HTTPStatusError("slow", request=request, response=response))).facts
    assert (facts.status_code, facts.retry_after, facts.dependency) == (429, 9.0, "api.test:81")


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        ((1, 2), [1, 2]),
        ({1: "\x01"}, {"1": "\x01"}),
    ],
)
def test_results_become_plain_json(call, value, result):
    assert call(lambda: value).result == result


@pytest.mark.parametrize("value", [object(), {1j}, 2**70, "\ud800", {"a": "\x00"}])
def test_a_result_without_a_json_form_is_invalid(call, value):
    facts = call(lambda: value).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_result")


class Level(Enum):
    TOP = float("inf")


@dataclass
class Point:
    x: float
    _hidden: float = float("nan")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "the result is a NaN"),
        ({"rows": [1, None, float("nan")]}, "the result has a NaN at rows[2]"),
        ([{"a": {"b": float("-inf")}}], "the result has an infinity at [0].a.b"),
        ((1.0, Point(float("nan"))), "the result has a NaN at [1].x"),
        ({"level": Level.TOP}, "the result has an infinity at level"),
        ({float("nan"): 1}, "the result has a NaN at nan"),
    ],
)
def test_a_number_that_json_lacks_is_refused_and_not_lost(call, value, said):
    facts = call(lambda: value).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_result")
    assert facts.message.startswith(f"{said}, which JSON cannot hold")


@pytest.mark.parametrize("value", [[None, 1.5], {"null": "null"}, {"deep": [[None]]}])
def test_what_is_null_by_itself_stays(call, value):
    assert call(lambda: value).result == value


def test_hidden_fields_are_not_part_of_the_result(call):
    assert call(lambda: [None, Point(1.0)]).result == [None, {"x": 1.0}]


def test_a_nan_in_the_data_of_a_failure_does_not_cost_the_rest(call):
    assert call(raising(Fatal("no", data={"code": 7, "x": float("nan")}))).facts.data == {
        "code": 7,
        "x": None,
    }


def test_the_context(call):
    def by_name(ctx):
        return [
            ctx.attempt,
            ctx.max_attempts,
            ctx.is_retry,
            ctx.execution_id,
            ctx.step,
            ctx.receipt,
            ctx is context(),
        ]

    async def by_annotation(x, info: TaskContext):
        return [x, info.workflow, info.deadline > datetime.now(UTC), info is context()]

    assert call(by_name).result == [2, 3, True, 7, "the_step", "receipt-1", True]
    assert call(by_annotation, {"x": 1}).result == [1, "flow", True, True]


def test_an_async_function_is_cancelled_at_its_timeout(call):
    ended = []

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    outcome = call(slow, timeout=0.05)
    assert outcome.facts.timed_out
    assert ended == [True]


def test_a_timeout_beats_a_result_that_comes_of_the_cancellation(call):
    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done after all"

    assert call(stubborn, timeout=0.05).facts.timed_out


def test_a_thread_that_outlives_its_timeout_keeps_its_slot_until_it_ends(assign):
    hold = threading.Event()
    REGISTRY.add(Task("test-slow-thread", hold.wait))

    async def go():
        overdue = asyncio.Queue()
        executor = PythonExecutor(Guardian(), on_overdue=overdue.put_nowait)
        assignment = assign("python", {"task": "test-slow-thread"}, timeout=0.05)
        outcome = await executor.run(assignment, TaskContext(assignment, started=time.time()))
        assert outcome.facts.timed_out
        assert overdue.get_nowait() == 1
        assert overdue.empty()
        hold.set()
        assert await asyncio.wait_for(overdue.get(), 10) == 0
        await executor.close()

    asyncio.run(go())


# Where functions are found


@pytest.fixture
def module(tmp_path):
    """Writes a module beside an imaginary workflow file."""
    before = set(sys.modules)

    def write(name, text, folder="."):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / f"{name}.py").write_text(textwrap.dedent(text))
        return str(place)

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_module_beside_the_file(run, module):
    base = module("beside_a", "def f(x): return x + 1")
    path = list(sys.path)
    assert run("python", {"task": "beside_a:f", "args": {"x": 1}}, base_dir=base).result == 2
    assert sys.path == path


def test_a_module_on_the_path_and_a_dotted_function(run):
    assert run("python", {"task": "datetime:date.fromordinal", "args": [1]}).result == "0001-01-01"


def test_two_folders_may_each_have_a_module_of_the_same_name(run, module):
    first = module("twin", "def f(): return 'first'", "one")
    second = module("twin", "def f(): return 'second'", "two")
    for base, result in ((first, "first"), (second, "second"), (first, "first")):
        assert run("python", {"task": "twin:f"}, base_dir=base).result == result


@pytest.mark.parametrize("task", ["nowhere:f", "os:no_such_function", "not-registered", ":f", "os.nothing:f"])
def test_an_unknown_function_is_no_failure_but_no_handler(run, task):
    with pytest.raises(NoHandler):
        run("python", {"task": task})


def test_a_module_that_is_not_there_is_told_with_where_it_was_looked_for(tmp_path):
    with pytest.raises(NoHandler, match=r"there is no module 'absent_module' in ") as raised:
        import_beside("absent_module", str(tmp_path))
    assert f"in {tmp_path}, " in str(raised.value)


def test_a_dot_where_the_colon_belongs_is_pointed_out(run):
    with pytest.raises(NoHandler, match=r"did you mean module:function, e\.g\. my\.tasks:load\?$"):
        run("python", {"task": "my.tasks.load"})


@pytest.mark.parametrize(("task", "example"), [("load", "mytasks:load"), ("not-a-function", "mytasks:load")])
def test_where_nothing_is_registered_the_other_way_is_shown(run, monkeypatch, task, example):
    monkeypatch.setattr("tenax.worker.handlers.registry.REGISTRY", TaskRegistry())
    with pytest.raises(
        NoHandler, match=rf"known here: none; did you mean module:function, e\.g\. {example}\?$"
    ):
        run("python", {"task": task})


def test_an_error_within_a_module_is_a_failure(run, module):
    base = module("broken_a", "import no_such_dependency_x")
    facts = run("python", {"task": "broken_a:f"}, base_dir=base).facts
    assert facts.exception == "builtins.ModuleNotFoundError"
    assert "no_such_dependency_x" in facts.traceback


# In a process of its own


PROCESS_TASKS = """
    import os, time
    from tenax import task, context, Fatal

    @task(process=True)
    def pid(x): return [x, os.getpid(), context().attempt]

    @task(name="named-async", process=True)
    async def named(x): return x * 2

    @task(process=True)
    def fatal(): raise Fatal("no", data=1)

    @task(process=True)
    def surrogate(): raise ValueError(os.fsdecode(b"caf\\xe9"))

    @task(process=True)
    def die(): os.kill(os.getpid(), 9)

    @task(process=True)
    def hang():
        print("about to hang", flush=True)
        os.write(2, b"hanging")
        time.sleep(600)
"""


def test_process_tasks(run, module):
    base = module("process_tasks", PROCESS_TASKS)
    x, pid, attempt = run("python", {"task": "process_tasks:pid", "args": [5]}, base_dir=base).result
    assert (x, attempt) == (5, 2)
    assert pid != os.getpid()
    assert run("python", {"task": "named-async", "args": {"x": 4}}, base_dir=base).result == 8
    assert run("python", {"task": "process_tasks:fatal"}, base_dir=base).facts.fatal
    said = run("python", {"task": "process_tasks:surrogate"}, base_dir=base).facts.message
    assert said == "ValueError: caf\\udce9"
    assert run("python", {"task": "process_tasks:die"}, base_dir=base).facts.signal == 9


def test_arguments_of_a_process_task_are_checked_before_its_process_starts(run, module, monkeypatch):
    base = module("process_tasks_c", PROCESS_TASKS.replace("named-async", "named-c"))
    monkeypatch.setattr("sys.executable", "/no/such/python")
    facts = run("python", {"task": "process_tasks_c:pid", "args": {"y": 5}}, base_dir=base).facts
    assert (facts.failure_class, facts.reason) == ("invalid", "invalid_parameters")
    assert "it takes x" in facts.message


def test_a_process_task_is_killed_at_its_timeout(run, module):
    base = module("process_tasks_b", PROCESS_TASKS.replace("named-async", "named-b"))
    facts = run("python", {"task": "process_tasks_b:hang"}, base_dir=base, timeout=3.0).facts
    assert facts.timed_out
    assert facts.stderr_tail == "hanging"


ENVIRONMENT_TASK = """
    import os
    from tenax import task

    @task(process=True)
    def environment(): return dict(os.environ)
"""


def test_a_process_task_does_not_get_what_is_the_workers_alone(run, module, monkeypatch):
    for name in ("TENAX_TOKEN", "TENAX_DATABASE_URL", "TENAX_SECRET_X", "INHERITED"):
        monkeypatch.setenv(name, "there")
    base = module("environment_task", ENVIRONMENT_TASK)
    found = run("python", {"task": "environment_task:environment"}, base_dir=base).result
    assert found["INHERITED"] == "there"
    assert not {"TENAX_TOKEN", "TENAX_DATABASE_URL", "TENAX_SECRET_X"} & set(found)
