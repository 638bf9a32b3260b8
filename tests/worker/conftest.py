"""Holds what the worker's tests share: assignments, attempts that are run by hand, and a real HTTP server."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

import pytest
from support.serve.server_in_memory import Gate

from tenax.model.attempt.outcome import Outcome
from tenax.model.definition.tiers import NO_AGENT_DEFAULTS, AgentDefaults
from tenax.model.wire import Assignment
from tenax.sdk.task import REGISTRY, Task
from tenax.worker.attempt import RunningAttempt
from tenax.worker.executors.agent import AgentExecutor
from tenax.worker.executors.http import HttpExecutor
from tenax.worker.executors.process import ProcessExecutor
from tenax.worker.executors.python import PythonExecutor
from tenax.worker.processes.guardian import Guardian

_ids = count(1)

Assign = Callable[..., Assignment]
Run = Callable[..., Outcome]


@pytest.fixture
def assign() -> Assign:
    def make(runtime: str, spec: dict[str, Any], **more: Any) -> Assignment:
        values: dict[str, Any] = {
            "execution_id": 7,
            "item_id": next(_ids),
            "attempt": 2,
            "token": "token-1",
            "step": "the_step",
            "timeout": 30.0,
            "receipt": "receipt-1",
            "workflow": "flow",
            "max_attempts": 3,
            "is_retry": True,
        }
        return Assignment(runtime=runtime, spec=spec, **{**values, **more})

    return make


@pytest.fixture
def run(assign: Assign) -> Run:
    """Runs one attempt with the real executor of its runtime."""

    def run_one(
        runtime: str, spec: dict[str, Any], *, agents: AgentDefaults = NO_AGENT_DEFAULTS, **more: Any
    ) -> Outcome:
        async def go() -> Outcome:
            guardian = Guardian()
            made = {
                "http": HttpExecutor,
                "process": lambda: ProcessExecutor(guardian),
                "agent": lambda: AgentExecutor(guardian, agents),
                "python": lambda: PythonExecutor(guardian),
            }
            executor: Any = made[runtime]()
            assignment = assign(runtime, spec, **more)
            try:
                attempt = RunningAttempt(assignment)
                told = attempt.with_usage(await executor.run(assignment, attempt.context))
                assert isinstance(told, Outcome)
                return told
            finally:
                await executor.close()
                guardian.close()

        return asyncio.run(go())

    return run_one


class Callee:
    """A real HTTP server on a free port. `answers` are given in turn; `requests` is what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.never = threading.Event()
        callee = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                callee.requests.append((self.command, self.path, dict(self.headers.items()), body))
                if self.path == "/hang":
                    callee.never.wait(20)
                    return
                if self.path == "/slam":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, headers, content = callee.answers.pop(0)
                if "Date" in headers:
                    self.send_response_only(status)
                else:
                    self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = answer  # noqa: N815 - the names that http.server calls

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.never.set()
        self.server.shutdown()
        self.server.server_close()


def _callee() -> Iterator[Callee]:
    server = Callee()
    yield server
    server.close()


callee = pytest.fixture(_callee, name="callee")
second = pytest.fixture(_callee, name="second")


@pytest.fixture
def register():
    """Registers a function for one test."""

    def add(name, function):
        REGISTRY._tasks[name] = Task(name, function)
        return name

    before = dict(REGISTRY._tasks)
    yield add
    REGISTRY._tasks.clear()
    REGISTRY._tasks.update(before)


@pytest.fixture
def gate(register):
    made = Gate()

    async def waits():
        return await made()

    register("waits", waits)
    return made


@pytest.fixture
def quick(register):
    async def returns():
        return "ok"

    return register("quick", returns)
