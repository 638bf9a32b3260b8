"""Runs `tenax server`, `tenax worker`, and `tenax up`, which starts both. They run until they are stopped."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tenax.cli.flags import DEFAULT_DATABASE, DatabaseFlags
from tenax.cli.output import say
from tenax.cli.process.home import announce_new_database
from tenax.cli.process.interrupts import Interrupts
from tenax.cli.process.parent import given_life, is_supervised, under_supervision
from tenax.errors import UsageError
from tenax.model.definition.types import RUNTIMES
from tenax.settings.server_token import default_server, token_for
from tenax.worker.collector import collect_rarely

if TYPE_CHECKING:
    from tenax.cli.process.own_files import OwnFiles
    from tenax.model.definition.tiers import AgentDefaults
    from tenax.settings import Settings

Host = Annotated[str | None, Parameter(help="The address to listen on. [TENAX_HOST: 127.0.0.1]")]
Port = Annotated[int | None, Parameter(help="The port to listen on; 0 takes a free one. [TENAX_PORT: 8520]")]
Open = Annotated[
    bool,
    Parameter(
        name="--open",
        negative=(),
        help="Make no token, and while there are none, accept everyone on this machine. [TENAX_OPEN: false]",
    ),
]
Modules = Annotated[
    str,
    Parameter(
        name="MODULE",
        help="Modules to import for the tasks that they register: mytasks, app.tasks or app/tasks.py.",
    ),
]
Slots = Annotated[
    int | None, Parameter(help="The number of work items that a worker runs at once. [TENAX_SLOTS: 10]")
]
Queues = Annotated[
    tuple[str, ...], Parameter(name="--queue", help="A queue to serve. Repeatable. [TENAX_QUEUES: default]")
]
Runtimes = Annotated[
    tuple[str, ...],
    Parameter(
        name="--runtime",
        help=f"A runtime that workers offer: {', '.join(RUNTIMES[:-1])} or {RUNTIMES[-1]}. Repeatable. [TENAX_RUNTIMES: all]",
    ),
]
Labels = Annotated[
    tuple[str, ...],
    Parameter(name="--label", help="A label of the worker, NAME=VALUE. Repeatable. [TENAX_LABELS]"),
]
Name = Annotated[
    str | None, Parameter(help="The worker's name. [TENAX_WORKER_NAME: its host and process id]")
]
ServerUrl = Annotated[
    str | None, Parameter(help="The server's URL, or several with commas between them. [TENAX_SERVER]")
]
Token = Annotated[str | None, Parameter(help="A token with the role worker. [TENAX_TOKEN]")]
Reload = Annotated[
    bool,
    Parameter(
        negative=(),
        help="Start workers again when a Python file of their own modules changes. Running attempts finish first.",
    ),
]
TaskDatabaseUrl = Annotated[
    str | None,
    Parameter(
        help="The URL of the database of Tenax, for tasks that complete in a transaction (`ctx.transaction()`). [TENAX_WORKER_DATABASE]"
    ),
]
Workers = Annotated[int | None, Parameter(help="The number of worker processes. [TENAX_WORKERS: 2]")]


def server(
    *,
    host: Host = None,
    port: Port = None,
    open: Open = False,  # noqa: A002 -- the flag's name
    store: DatabaseFlags = DEFAULT_DATABASE,
) -> int:
    """Start a server: the HTTP API and the engine. SIGTERM stops it gracefully.

    Every request needs a token. If there is none yet, the server makes one for this user, in the file `token` of its home.
    """
    tell_supervisor = under_supervision()
    flags = {"host": host, "port": port, "open": open or None}
    from tenax.settings import load_settings

    settings = load_settings({**flags, "database_url": store.database, "home": store.home})
    from tenax.cli.logs import configure_logging
    from tenax.server.app import run

    configure_logging(settings.log_level)

    def ready(url: str) -> None:
        say(f"tenax server: listening on {url}", stream=sys.stderr)
        tell_supervisor()

    announce_new_database(settings)
    run(
        settings,
        ready=ready,
        tell=lambda access: say(f"tenax server: {access}", stream=sys.stderr),
        show_dashboard=lambda address: say(f"tenax server: dashboard: {address}", stream=sys.stderr),
    )
    return 0


def worker(
    *modules: Modules,
    slots: Slots = None,
    queues: Queues = (),
    runtimes: Runtimes = (),
    labels: Labels = (),
    name: Name = None,
    server: ServerUrl = None,
    token: Token = None,
    reload: Reload = False,
    database: TaskDatabaseUrl = None,
) -> int:
    """Start a worker. It asks the server for work, runs it and reports the outcomes. SIGTERM lets it finish its attempts or hand
    them back.
    """
    supervised = is_supervised()
    under_supervision()
    life = given_life()
    settings, agents = _worker_settings(
        slots=slots,
        queues=queues,
        runtimes=runtimes,
        labels=labels,
        name=name,
        server=server,
        token=token,
        database=database,
    )
    from tenax.cli.logs import configure_logging

    configure_logging(settings.log_level)
    from tenax.cli.process.reload import start_again, wait_until_mended, watch_own_files
    from tenax.worker.handlers.registry import NoHandler

    files = watch_own_files() if reload else None
    try:
        _load(modules)
    except UsageError as error:
        if files is None or isinstance(error.__cause__, NoHandler):
            raise
        wait_until_mended(files, error)
    else:
        import uvloop

        collect_rarely()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            if runner.run(_work(settings, agents, life, files)) is None:
                return 0
    return start_again(supervised=supervised)


def up(
    *modules: Modules,
    workers: Workers = None,
    host: Host = None,
    port: Port = None,
    open: Open = False,  # noqa: A002 -- the flag's name
    slots: Slots = None,
    runtimes: Runtimes = (),
    reload: Reload = False,
    store: DatabaseFlags = DEFAULT_DATABASE,
) -> int:
    """Start a server and workers as processes of their own, and restart those that die. Ctrl-C or SIGTERM stops them all, and a
    second one stops them at once.
    """
    under_supervision()
    flags = {
        "workers": workers,
        "host": host,
        "port": port,
        "open": open or None,
        "slots": slots,
        "runtimes": runtimes or None,
        "database_url": store.database,
        "home": store.home,
    }
    from tenax.settings import load_settings

    settings = load_settings(flags)
    from tenax.cli.logs import configure_logging
    from tenax.cli.process.up import run_up

    configure_logging(settings.log_level)
    announce_new_database(settings)
    return asyncio.run(run_up(settings, modules, reload=reload))


def _worker_settings(
    *,
    slots: int | None,
    queues: tuple[str, ...],
    runtimes: tuple[str, ...],
    labels: tuple[str, ...],
    name: str | None,
    server: str | None,
    token: str | None,
    database: str | None,
) -> tuple[Settings, AgentDefaults]:
    from tenax.settings.load_in_child import load_settings_in_child

    return load_settings_in_child(
        {
            "slots": slots,
            "queues": queues or None,
            "runtimes": runtimes or None,
            "labels": ",".join(labels) or None,
            "worker_name": name,
            "server": server,
            "token": token,
            "worker_database": database,
        }
    )


def _load(modules: tuple[str, ...]) -> None:
    """Imports the modules for their tasks. Adds the working folder to `sys.path`, as `python -m` does, also for later imports."""
    from tenax.worker.handlers.registry import NoHandler, load_modules

    sys.path.insert(0, str(Path.cwd()))
    for name in modules:
        try:
            load_modules((_module_of(name),))
        except NoHandler as error:
            raise UsageError(
                f"MODULE {name}: {error}", remedy="modules are searched in the working folder and on sys.path"
            ) from error
        except Exception as error:  # a user's module may raise anything
            raise UsageError(f"MODULE {name} cannot be imported: {type(error).__name__}: {error}") from error


def _module_of(given: str) -> str:
    """Returns the name of a module. A file of the working folder may stand for it: `app/tasks.py` for `app.tasks`."""
    path = Path(given)
    return ".".join(path.with_suffix("").parts) if path.suffix == ".py" and not path.is_absolute() else given


async def _work(
    settings: Settings, agents: AgentDefaults, life: str | None = None, files: OwnFiles | None = None
) -> str | None:
    """Runs a worker until it is stopped. Returns a file that has changed, if `files` are watched and the worker shall start again."""
    import structlog

    from tenax import __version__
    from tenax.cli.process.reload import run_until_changed
    from tenax.credentials.passwords import without_password
    from tenax.model.names import as_worker_name
    from tenax.settings.worker_options import worker_options
    from tenax.transactions.task_database import TaskDatabase
    from tenax.worker.transport import HttpTransport
    from tenax.worker.worker import Worker

    url = settings.server or default_server(settings)
    name = settings.worker_name or as_worker_name(f"{socket.gethostname()}-{os.getpid()}")
    transport = HttpTransport(url, token_for(settings, url))
    one = Worker(
        transport,
        name=name,
        runtimes=settings.runtimes,
        version=__version__,
        life=life,
        **worker_options(settings, agents),
        database=TaskDatabase(settings.worker_database) if settings.worker_database else None,
    )
    interrupts = Interrupts()
    with interrupts.caught():
        structlog.get_logger("tenax.worker").info(
            "the worker starts",
            name=name,
            server=",".join(map(without_password, url.split(","))),
            queues=list(settings.queues),
            runtimes=list(settings.runtimes),
            slots=settings.slots,
        )
        try:
            if files is not None:
                return await run_until_changed(
                    lambda stop: one.run(stop, interrupts.second), interrupts.first, files
                )
            await one.run(interrupts.first, interrupts.second)
        finally:
            await transport.close()
    return None
