"""Defines `Tenax`, the application: it submits tasks and workflows, and runs workers, in the process of its user.

Modules of tasks may import it at their top. So it imports what costs memory, such as the settings, only when it is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tenax.app.lent_client import LentClient
from tenax.errors import UsageError
from tenax.sdk.client import Client
from tenax.sdk.sync_client import SyncClient
from tenax.sdk.tasks.application import CURRENT, Application, Executions, enter, leave
from tenax.sdk.tasks.handles import Handle, SyncHandle
from tenax.worker.worker import Worker

if TYPE_CHECKING:
    from tenax.engine.engine import Engine
    from tenax.worker.transport import Transport

T = TypeVar("T")
_numbers = count(1)
_REMEDY = "use `async with Tenax() as app:`, or `with Tenax.sync() as app:` in code without an event loop"


class Tenax:
    """Is Tenax in your own process. Use it as `async with Tenax() as app:`.

    It works on a database (the embedded one, or a PostgreSQL by its URL) or through a server by its URL, with the same methods.
    """

    def __init__(self, target: str | None = None, *, token: str | None = None, **settings: Any) -> None:
        """Chooses what to work on.

        `target` is the URL of a server (`http://...`) or of a database (`postgresql://...`). Without it, the settings say it, as
        for the command line: `TENAX_SERVER`, else `TENAX_DATABASE_URL`, else the embedded database. Other settings are named as
        their variables are, such as `home`.
        """
        from tenax.settings.load import load_settings

        named = _named_by(target)
        self.settings = load_settings({**named, "token": token, **settings})
        self._server = None if "database_url" in named else self.settings.server
        self._open: contextlib.AsyncExitStack | None = None
        self._engine: Engine | None = None
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: Application | None = None
        self._workers = 0

    @staticmethod
    def sync(target: str | None = None, *, token: str | None = None, **settings: Any) -> SyncTenax:
        """Returns the application for code without an event loop. The arguments are the same."""
        return SyncTenax(target, token=token, **settings)

    @property
    def engine(self) -> Engine | None:
        """The engine, if the application works on a database. None if it works through a server."""
        self._check_open()
        return self._engine

    @property
    def client(self) -> Client:
        """The client with all methods of [`tenax.Client`](#tenaxclient)."""
        self._check_open()
        assert self._client is not None
        return self._client

    def handle(self, execution_id: int) -> Handle[Any]:
        """Returns a handle of any execution. Its result is that of the execution, as JSON."""
        return Handle(self, execution_id, lambda result: result)

    @contextlib.asynccontextmanager
    async def worker(self, *modules: str, name: str | None = None, **options: Any) -> AsyncIterator[Worker]:
        """Runs a worker in this process for as long as the block lasts, and drains it then.

        It serves what the settings say (`TENAX_SLOTS`, `TENAX_QUEUES`, ...), unless `slots`, `queues`, `labels`, `runtimes` or
        `drain` say otherwise. `modules` are imported for the tasks that they register.
        """
        from tenax.settings.agents import agent_defaults
        from tenax.settings.worker_options import worker_options
        from tenax.worker.handlers.registry import load_modules

        self._check_open()
        load_modules(modules)
        transport = self._transport()
        own: dict[str, Any] = {"runtimes": self.settings.runtimes}
        own |= {**worker_options(self.settings, agent_defaults(self.settings)), **options}
        worker = Worker(transport, name=name or self._worker_name(), **own)
        stop = asyncio.Event()
        running = asyncio.create_task(worker.run(stop))
        self._workers += 1
        try:
            yield worker
        finally:
            self._workers -= 1
            stop.set()
            try:
                await running
            finally:
                await transport.close()

    def lifespan(
        self, *modules: str, worker: bool = True, **options: Any
    ) -> Callable[[Any], contextlib.AbstractAsyncContextManager[None]]:
        """Returns the lifespan of an ASGI application: `FastAPI(lifespan=Tenax().lifespan())`.

        It opens this application, with a worker unless `worker` is false. The other arguments are those of `worker()`.
        """

        @contextlib.asynccontextmanager
        async def opened(_: Any) -> AsyncIterator[None]:
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(self)
                if worker:
                    await stack.enter_async_context(self.worker(*modules, **options))
                yield

        return opened

    async def call(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        """Runs `work` with the client in the event loop of the application, from any event loop."""
        self._check_open()
        if asyncio.get_running_loop() is self._loop:
            return await work(self.client)
        return await asyncio.wrap_future(self._send(work))

    def call_sync(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        """Runs `work` from a thread that does not run the application's event loop, and waits for it."""
        self._check_open()
        if _running_loop() is self._loop:
            raise UsageError(
                "this would block the event loop that has to do the work",
                remedy="use the form with await: `await task.submit(...)`, `await handle.result()`",
            )
        future = self._send(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def admit(self, task: str, module: str) -> None:
        """Raises `UsageError` for a task of the main script if other processes would have to run it."""
        if module == "__main__" and self._server is not None and not self._workers:
            raise UsageError(
                f"the task {task!r} belongs to the main script, so workers of other processes cannot import it",
                remedy="move it into a module, or run a worker in this process: `async with app.worker():`",
            )

    async def __aenter__(self) -> Self:
        if self._open is not None:
            raise UsageError("this application is open already")
        async with contextlib.AsyncExitStack() as stack:
            await self._start(stack)
            self._open = stack.pop_all()
        self._loop = asyncio.get_running_loop()
        self._before = CURRENT.get()
        CURRENT.set(self)
        enter(self)
        return self

    async def __aexit__(self, *error: object) -> None:
        opened, self._open = self._open, None
        leave(self)
        CURRENT.set(self._before)
        assert opened is not None
        await opened.aclose()
        self._engine = self._client = self._loop = None

    async def _start(self, stack: contextlib.AsyncExitStack) -> None:
        if self._server is not None:
            self._client = await stack.enter_async_context(Client(self._server, self._token()))
            return
        from tenax.app.engine_client import EngineClient
        from tenax.embed import open_engine

        self._engine = await stack.enter_async_context(open_engine(self.settings))
        self._client = EngineClient(self._engine, _user_name())

    def _send(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> Future[T]:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work(self.client), self._loop)

    def _transport(self) -> Transport:
        if self._engine is not None:
            from tenax.embed import LocalTransport

            return LocalTransport(self._engine)
        from tenax.worker.transport import HttpTransport

        assert self._server is not None
        return HttpTransport(self._server, self._token())

    def _token(self) -> str | None:
        from tenax.settings.server_token import token_for

        assert self._server is not None
        return token_for(self.settings, self._server)

    def _worker_name(self) -> str:
        from tenax.model.names import as_worker_name

        own = self.settings.worker_name or as_worker_name(f"app-{socket.gethostname()}-{os.getpid()}")
        return f"{own}-{next(_numbers)}"

    def _check_open(self) -> None:
        if self._open is None:
            raise UsageError("this application is not open", remedy=_REMEDY)


class SyncTenax:
    """Is `Tenax` for code without an event loop. Use it as `with Tenax.sync() as app:`, with `task.submit_sync(...)`."""

    def __init__(self, target: str | None = None, *, token: str | None = None, **settings: Any) -> None:
        self.app = Tenax(target, token=token, **settings)
        """The application itself, whose event loop runs in a thread."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._before: Application | None = None

    @property
    def engine(self) -> Engine | None:
        """The engine, if the application works on a database. It belongs to the thread of the application."""
        return self.app.engine

    @property
    def client(self) -> SyncClient:
        """The client with all methods of `tenax.SyncClient`."""
        assert self._loop is not None
        return LentClient(self.app.client, self._loop)

    def handle(self, execution_id: int) -> SyncHandle[Any]:
        """Returns a handle of any execution. Its result is that of the execution, as JSON."""
        return self.app.handle(execution_id).sync()

    @contextlib.contextmanager
    def worker(self, *modules: str, name: str | None = None, **options: Any) -> Iterator[Worker]:
        """Runs a worker in this process for as long as the block lasts, and drains it then. See `Tenax.worker`."""
        running = self.app.worker(*modules, name=name, **options)
        worker = self._run(running.__aenter__())
        try:
            yield worker
        finally:
            self._run(running.__aexit__(None, None, None))

    async def call(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        """Runs `work` with the client in the event loop of the application, from any event loop."""
        return await self.app.call(work)

    def call_sync(self, work: Callable[[Executions], Coroutine[Any, Any, T]]) -> T:
        """Runs `work` in the event loop of the application, and waits for it."""
        return self.app.call_sync(work)

    def admit(self, task: str, module: str) -> None:
        self.app.admit(task, module)

    def __enter__(self) -> Self:
        loop = self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="tenax-app", daemon=True)
        self._thread.start()
        try:
            self._run(self.app.__aenter__())
        except BaseException:
            self._stop()
            raise
        self._before = CURRENT.get()
        CURRENT.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        CURRENT.set(self._before)
        try:
            self._run(self.app.__aexit__())
        finally:
            self._stop()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _stop(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None


def _named_by(target: str | None) -> dict[str, str]:
    """Returns the setting that a target gives."""
    if target is None:
        return {}
    if target.startswith(("http://", "https://")):
        return {"server": target}
    if target.startswith(("postgresql://", "postgres://")):
        return {"database_url": target}
    raise UsageError(
        f"{target!r} is neither the URL of a server (http://...) nor of a database (postgresql://...)",
        remedy="leave it out for the settings of the environment, or for the embedded database",
    )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _user_name() -> str:
    """Returns the name of the user, which is recorded as the actor."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # the uid has no name, as in some containers
        return f"uid {os.getuid()}"
