"""Makes the HTTP app over an engine, and runs the process that serves it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import structlog
import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tenax import __version__
from tenax.engine.engine import Engine
from tenax.errors import NotFound, TenaxError, UsageError
from tenax.server.access import is_server_open, own_token, set_up_access
from tenax.server.api import (
    actions,
    attune,
    callbacks,
    executions,
    fleet,
    imports,
    lint,
    pack_actions,
    packs,
    steps,
    workers,
    workflows,
)
from tenax.server.api.admin import audit, docs, health, tokens, verify
from tenax.server.api.operate import bulk, dead_letters, filters, schedules
from tenax.server.metrics import routes as metrics
from tenax.server.middleware import EntryMiddleware
from tenax.server.problems import InvalidRequest, MethodNotAllowed, answer_problem
from tenax.server.protocol.bounded import BoundedProtocol
from tenax.server.protocol.connections import ConnectionLimits, Connections
from tenax.server.protocol.direct_routes import DirectRoutes, Endpoint
from tenax.server.protocol.listen import bound_socket, callback_base, local_address, url_of
from tenax.server.schema.openapi import describe
from tenax.server.services import Services
from tenax.server.watchdog import Watchdog
from tenax.settings import Settings
from tenax.store.connect import Database
from tenax.store.connections.database_wait import DatabaseWait
from tenax.store.transaction import transaction
from tenax.ui import site
from tenax.ui.answers import answer_error
from tenax.ui.dashboard import Dashboard
from tenax.web.auth import Authenticator
from tenax.web.long_poll import LongPolls

_log = structlog.get_logger("tenax.server")

SHUTDOWN_GRACE = 1
"""Seconds that requests under way have to finish when the server stops. Parked requests are answered before."""
LISTEN_BACKLOG = 2048  # connections that wait to be accepted
KEEP_ALIVE = 30
"""Seconds for which an unused connection is kept open. Workers send a heartbeat every ten seconds."""
GC_THRESHOLD = 50_000
"""New objects between two searches for reference cycles. A batch makes thousands of objects and hardly any cycle. Python's default
of 700 took a fifth of the time."""


API = (
    executions,
    actions,
    attune,
    steps,
    dead_letters,
    filters,
    bulk,
    workflows,
    schedules,
    packs,
    pack_actions,
    imports,
    lint,
    callbacks,
    verify,
    audit,
    fleet,
    workers,
    tokens,
    health,
    metrics,
    docs,
)
HOT: dict[str, Endpoint] = {
    "/v1/worker/lease": workers.lease,
    "/v1/worker/report": workers.report,
    "/v1/worker/heartbeat": workers.heartbeat,
    "/v1/executions": executions.submit,
    "/v1/executions/batch": executions.submit_many,
}


def create_app(
    engine: Engine,
    settings: Settings,
    modules: Sequence[ModuleType] = API,
    authenticator: Authenticator | None = None,
) -> FastAPI:
    """Makes the app of a running engine.

    Without an `authenticator` of its own, requests need no token only if the settings say `open`, the server listens on loopback,
    and there are no tokens.
    """
    app = FastAPI(
        title="Tenax",
        version=__version__,
        description="Durable workflows and tasks, whose heart is the retry.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    authenticator = authenticator or Authenticator(engine.context, is_open=is_server_open(settings))
    long_polls = LongPolls()
    app.state.services = Services(engine, authenticator, long_polls, Watchdog(settings.loop_hold))
    for module in modules:
        app.include_router(module.router)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework_error)
    dashboard = None
    if modules is API:
        dashboard = site.mount(app, engine, authenticator, long_polls)
        app.add_middleware(DirectRoutes, posts=HOT)
    app.add_middleware(
        EntryMiddleware,
        dashboard=dashboard,
        authenticator=authenticator,
        max_body=settings.max_body,
        body_memory=settings.body_memory,
        max_pack=settings.max_pack,
    )
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]  # FastAPI's documented way to do this
    return app


async def serve(
    settings: Settings,
    *,
    ready: Callable[[str], None] | None = None,
    tell: Callable[[str], None] = _log.info,
    show_dashboard: Callable[[str], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serves until SIGTERM, SIGINT or `stop`.

    `ready` is called with the server's URL when it listens, and `tell` with a line that says who may use the server. `show_dashboard` is
    called after `ready` with the address of the dashboard. The address may sign in whoever opens it first, so it belongs into no log.
    """
    with contextlib.closing(bound_socket(settings.host, settings.port)) as listener:
        async with Database.open(
            settings, wait_for=DatabaseWait(settings.database_wait, _log.warning)
        ) as database:
            access = await database.wait_for(
                lambda: _set_up_access(database, settings, url_of(listener).removeprefix("http://"))
            )
            async with Engine(database, settings).running() as engine:
                engine.context.callback_base = callback_base(listener, settings)
                app = create_app(engine, settings)
                _prepare_routes(app)
                tell(access)
                listening = await _listening(app, settings, ready, show_dashboard)
                with app.state.services.watchdog.watching():
                    await _serve(app, settings, listener, listening, stop or asyncio.Event())
                if engine.context.refusal is not None:
                    raise engine.context.refusal


async def _set_up_access(database: Database, settings: Settings, address: str) -> str:
    async with transaction(database) as tx:
        return await set_up_access(tx, settings, address)


async def _listening(
    app: FastAPI,
    settings: Settings,
    ready: Callable[[str], None] | None,
    show_dashboard: Callable[[str], None] | None,
) -> Callable[[str], None]:
    """Returns the function to call with the server's URL when it listens."""
    dashboard: Dashboard = app.state.dashboard
    token = await own_token(app.state.services.engine.context, settings) if show_dashboard else None

    def listening(url: str) -> None:
        if ready is not None:
            ready(url)
        if show_dashboard is not None:
            show_dashboard(dashboard.address(local_address(url), token))

    return listening


@contextlib.asynccontextmanager
async def listening_for_callbacks(engine: Engine) -> AsyncIterator[str]:
    """Serves callbacks only, on a free port of loopback, for an engine without a server. Gives its URL."""
    app = create_app(engine, engine.context.settings, (callbacks,))
    started = asyncio.Event()
    with contextlib.closing(bound_socket("127.0.0.1", 0)) as listener:
        server = _Server(_config(app, engine.context.settings), lambda _url: started.set())
        serving = asyncio.create_task(server.serve([listener]))
        try:
            await started.wait()
            yield url_of(listener)
        finally:
            server.should_exit = True
            await serving


def run(
    settings: Settings,
    *,
    ready: Callable[[str], None] | None = None,
    tell: Callable[[str], None] = _log.info,
    show_dashboard: Callable[[str], None] | None = None,
) -> None:
    """Runs `serve` with uvloop, as the only work of the process."""
    import uvloop

    gc.set_threshold(GC_THRESHOLD)

    def listening(url: str) -> None:
        gc.freeze()  # the objects of the start-up live as long as the process, and need not be searched again
        if ready is not None:
            ready(url)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, ready=listening, tell=tell, show_dashboard=show_dashboard))


async def _serve(
    app: FastAPI,
    settings: Settings,
    listener: socket.socket,
    ready: Callable[[str], None] | None,
    stop: asyncio.Event,
) -> None:
    server = _Server(_config(app, settings), ready)
    serving = asyncio.create_task(server.serve([listener]))
    outdated = app.state.services.engine.maintenance.schema.outdated
    stopping = [asyncio.create_task(event.wait()) for event in (stop, outdated)]
    with _signal_handlers(stop, server):
        try:
            await asyncio.wait({serving, *stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiting in stopping:
                waiting.cancel()
            app.state.services.long_polls.close()
            server.should_exit = True
            await serving


def _prepare_routes(app: FastAPI) -> None:
    """Prepares the routes now. FastAPI would do it at the first request, and hold all others for 20 ms."""
    nowhere = {"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(nowhere)


def _config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    protocol: Any = partial(BoundedProtocol, all_connections=Connections(ConnectionLimits.of(settings)))
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=LISTEN_BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=SHUTDOWN_GRACE,
    )


class _Server(uvicorn.Server):
    """Leaves the signals to `_signal_handlers`. uvicorn would raise them again when it ends, before the engine has stopped."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None and sockets:
            self._ready(url_of(sockets[0]))


@contextlib.contextmanager
def _signal_handlers(stop: asyncio.Event, server: uvicorn.Server) -> Iterator[None]:
    """Stops the server gracefully at the first signal, and at once at the second."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop_or_force() -> None:
        server.force_exit = stop.is_set()
        stop.set()

    loop, signals = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop_or_force)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _answer(request, InvalidRequest("the request", error.errors()))


def _answer(request: Request, problem: TenaxError, headers: Mapping[str, str] | None = None) -> Response:
    dashboard: Dashboard | None = getattr(request.app.state, "dashboard", None)
    if dashboard is not None and dashboard.owns(request.scope):
        return answer_error(dashboard, request, problem)
    return answer_problem(problem, headers)


async def _framework_error(request: Request, error: Exception) -> Response:
    """Answers the errors of the framework, such as an unknown path or method."""
    assert isinstance(error, HTTPException)
    method, path = request.method, request.url.path
    problem: TenaxError
    match error.status_code:
        case 404:
            problem = NotFound(
                f"there is no {method} {path} here", remedy="GET /openapi.json describes the API"
            )
        case 405:
            problem = MethodNotAllowed(f"{path} does not support {method}")
        case _:
            problem = UsageError(str(error.detail))
    headers: Any = error.headers
    return _answer(request, problem, headers)
