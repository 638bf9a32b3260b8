"""Runs `tenax run`: an execution from its start to its end, in this process or on a server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from cyclopts import Parameter

from tenax.cli.backend.follow import FINISHED, EventSource, follow
from tenax.cli.backend.protocol import check_id, user_name
from tenax.cli.commands.executions.show import with_details
from tenax.cli.flags import DEFAULT_TARGET, Inputs, Json, TargetFlags
from tenax.cli.input.inputs import parse_inputs
from tenax.cli.input.key_conflict import key_conflict_text
from tenax.cli.input.submissions import both_searches_named, submission_for
from tenax.cli.output import console, print_json, say, show
from tenax.cli.process.home import announce_new_database
from tenax.cli.process.interrupts import INTERRUPTED, Interrupts, typed_line
from tenax.cli.render.live import FollowView, view_for
from tenax.errors import Conflict, UsageError
from tenax.model.wire import Submission, Submitted
from tenax.settings import Settings
from tenax.settings.server_token import token_for

File = Annotated[
    str, Parameter(name="WORKFLOW", help="A workflow file, or the name of a stored workflow; - is stdin.")
]
InputFile = Annotated[str | None, Parameter(help="A JSON file with an object of inputs.")]
Resume = Annotated[int | None, Parameter(name="--resume", help="The number of an execution to go on with.")]
Key = Annotated[str | None, Parameter(help="A unique key: a second run with it starts nothing new.")]

Answer = Literal["cancel", "leave", "go on"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)


@dataclass(frozen=True, slots=True)
class PackActionRun:
    """Names an action of a pack, with its parameters."""

    ref: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Says what to run: a new execution of a workflow or of an action, or an existing one."""

    submission: Submission | None
    execution_id: int | None = None
    action: PackActionRun | None = None


def run(
    file: File | None = None,
    /,
    *,
    inputs: Inputs = (),
    input_file: InputFile = None,
    resume: Resume = None,
    key: Key = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> int:
    """Run a workflow file or a stored workflow, and show its progress.

    Without a server, this process runs the engine and a worker itself, on the database. With a server (--server), it
    submits the workflow and follows the execution. The exit code is 0 if the execution completed, 1 if it failed or was
    cancelled, and 130 if it was left running.
    """
    return run_to_the_end(_wish(file, inputs, input_file, resume, key, where), where, json=json)


def run_to_the_end(wanted: RunRequest, where: TargetFlags, *, json: bool) -> int:
    """Runs an execution here or on a server, shows its progress, and returns the exit code."""
    from tenax.cli.logs import configure_logging

    settings = where.settings()
    configure_logging(settings.log_level)
    return carry_out(wanted, settings, where, json=json)


def carry_out(wanted: RunRequest, settings: Settings, where: TargetFlags, *, json: bool) -> int:
    """Runs what is asked for, shows its progress and its end, and returns the exit code."""
    if wanted.submission is not None:
        from tenax.cli.input.check_definition import check_submission

        check_submission(wanted.submission, settings)
    with _stdout_kept() if json else contextlib.nullcontext():
        view = view_for(console(stderr=json), where)
        ended = asyncio.run(
            _on_server(settings, wanted, view) if settings.server else _here(settings, wanted, view)
        )
    return _show_end(ended, where, settings, json=json)


def _wish(
    file: str | None,
    inputs: tuple[str, ...],
    input_file: str | None,
    resume: int | None,
    key: str | None,
    where: TargetFlags,
) -> RunRequest:
    if resume is not None:
        if file is not None or inputs or input_file or key:
            raise UsageError(
                "--resume goes on with an execution as it is: it takes no WORKFLOW, --input or --key",
                remedy=where.command("run", "--resume", resume),
            )
        return RunRequest(None, check_id(resume))
    if file is None:
        raise UsageError(
            "which workflow?", remedy="tenax run FILE, or tenax run NAME, or tenax run --resume ID"
        )
    return RunRequest(submission_for(file, parse_inputs(inputs, input_file), key))


async def _here(settings: Settings, wanted: RunRequest, view: FollowView) -> dict[str, Any]:
    """Runs the execution in this process. The worker takes no work of other executions."""
    from tenax.cli.backend.direct import DatabaseBackend
    from tenax.embed import open_engine

    announce_new_database(settings)
    async with open_engine(settings) as engine:
        backend = DatabaseBackend(engine)
        execution_id = await _begin(engine, backend, wanted)

        async def cancel() -> None:
            await engine.cancel(execution_id, actor=user_name(), reason="Ctrl-C in `tenax run`")

        interrupts = Interrupts()
        with interrupts.caught():
            async with (
                _called_back(engine, execution_id),
                _own_worker(engine, execution_id, settings, interrupts.first) as worker,
            ):
                await _until_the_end(backend, execution_id, view, interrupts, worker, cancel)
            return await with_details(backend, await backend.get(execution_id))


@contextlib.asynccontextmanager
async def _called_back(engine: Any, execution_id: int) -> AsyncIterator[None]:
    """Listens for the callbacks of async steps on loopback, unless the settings name an address."""
    if engine.context.callback_base is not None or not await engine.is_called_back(execution_id):
        yield
        return
    from tenax.server.app import listening_for_callbacks

    async with listening_for_callbacks(engine) as url:
        engine.context.callback_base = url
        yield


async def _begin(engine: Any, source: EventSource, wanted: RunRequest) -> int:
    if wanted.action is not None:
        return int((await engine.run_action(wanted.action.ref, wanted.action.params)).id)
    if wanted.submission is None:
        assert wanted.execution_id is not None
        await source.get(wanted.execution_id)
        return wanted.execution_id
    with both_searches_named(wanted.submission):
        [submitted] = await engine.submit([wanted.submission])
    await _tell_of_known_key(source, wanted.submission, submitted)
    return int(submitted.id)


async def _tell_of_known_key(source: EventSource, submission: Submission, submitted: Submitted) -> None:
    if not submitted.created:
        execution = await source.get(submitted.id)
        say(
            key_conflict_text(submission, execution, then="nothing new is started, this is how it goes"),
            stream=sys.stderr,
        )


@contextlib.asynccontextmanager
async def _own_worker(
    engine: Any, execution_id: int, settings: Settings, interrupted: asyncio.Event
) -> AsyncIterator[asyncio.Task[None]]:
    """Runs a worker for one execution. When the execution has ended, running attempts may finish.

    After Ctrl-C they are handed back at once, and are not counted.
    """
    from tenax.embed import LocalTransport
    from tenax.model.names import as_worker_name
    from tenax.settings.agents import agent_defaults
    from tenax.settings.worker_options import worker_options
    from tenax.transactions.task_database import TaskDatabase
    from tenax.worker.worker import Worker

    worker = Worker(
        LocalTransport(engine),
        name=f"{settings.worker_name or as_worker_name(f'run-{socket.gethostname()}')}-{os.getpid()}",
        execution_id=execution_id,
        **worker_options(settings, agent_defaults(settings)),
        database=TaskDatabase(settings.worker_database or engine.context.database.url),
    )
    stop = asyncio.Event()
    working = asyncio.create_task(worker.run(stop, at_once=interrupted))
    try:
        yield working
    finally:
        stop.set()
        await working


async def _on_server(settings: Settings, wanted: RunRequest, view: FollowView) -> dict[str, Any]:
    """Submits the workflow and follows the execution. Ctrl-C only detaches, and the execution goes on."""
    from tenax.cli.backend.http import ServerBackend
    from tenax.sdk.client import Client

    assert settings.server is not None
    async with Client(settings.server, token_for(settings, settings.server)) as client:
        backend = ServerBackend(client)
        if wanted.action is not None:
            execution_id = await backend.run_action(wanted.action.ref, wanted.action.params)
        elif wanted.submission is None:
            assert wanted.execution_id is not None
            execution_id = wanted.execution_id
        else:
            with both_searches_named(wanted.submission):
                submitted = await backend.submit(wanted.submission)
            await _tell_of_known_key(backend, wanted.submission, submitted)
            execution_id = submitted.id
        interrupts = Interrupts()
        with interrupts.caught():
            ended = await _until_the_end(backend, execution_id, view, interrupts)
        return await with_details(backend, ended or await backend.get(execution_id))


async def _until_the_end(
    source: EventSource,
    execution_id: int,
    view: FollowView,
    interrupts: Interrupts,
    worker: asyncio.Task[None] | None = None,
    cancel: Any = None,
) -> dict[str, Any] | None:
    """Follows the execution and returns it at its end. Returns None if the user left it."""
    following = asyncio.create_task(follow(source, execution_id, view))
    try:
        while True:
            first = asyncio.create_task(interrupts.first.wait())
            await _first_of(following, first, *([worker] if worker else []))
            first.cancel()
            if following.done():
                return following.result()
            if worker is not None and worker.done():
                worker.result()  # a worker ends by itself only with an error, which is raised here
                return None
            view.pause(paused=True)
            answer = await _ask(execution_id, following, interrupts) if cancel else "leave"
            view.pause(paused=False)
            if answer == "leave":
                return None
            if answer == "cancel":
                with contextlib.suppress(Conflict):  # the execution has ended meanwhile
                    await cancel()
                return await following
            interrupts.forget()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _ask(execution_id: int, following: asyncio.Task[Any], interrupts: Interrupts) -> Answer:
    """Asks the user what to do after Ctrl-C, if there is a terminal. Meanwhile the work goes on."""
    if not interrupts.by_hand or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return "leave"
    prompt = (
        f"\nexecution {execution_id}: [c]ancel it, [l]eave it for later, or [g]o on? (Ctrl-C again leaves) "
    )
    while (answer := await _answer(prompt, following, interrupts)) is None:
        prompt = "please type c, l or g: "
    return answer


async def _answer(prompt: str, following: asyncio.Task[Any], interrupts: Interrupts) -> Answer | None:
    """Reads one answer. Returns None if it is none of the three."""
    asked = asyncio.create_task(typed_line(prompt))
    second = asyncio.create_task(interrupts.second.wait())
    await _first_of(asked, second, following)
    for waiting in (asked, second):
        waiting.cancel()
    await asyncio.gather(asked, second, return_exceptions=True)
    if asked.done() and not asked.cancelled():
        typed = asked.result()
        if typed is None:  # the terminal is gone, or Ctrl-D
            return "leave"
        return next((one for one in ANSWERS if typed and one.startswith(typed.lower())), None)
    return "go on" if following.done() else "leave"


async def _first_of(*tasks: asyncio.Task[Any]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


def _show_end(execution: dict[str, Any], where: TargetFlags, settings: Settings, *, json: bool) -> int:
    if json:
        print_json(execution)
    else:
        from tenax.cli.render.timeline import render_execution

        show(*([] if console().is_terminal else [""]), render_execution(execution, where))
    if execution["status"] not in FINISHED:
        say(_how_to_go_on(execution["id"], where, settings), stream=sys.stderr)
        return INTERRUPTED
    return 0 if execution["status"] == "completed" else 1


def _how_to_go_on(execution_id: int, where: TargetFlags, settings: Settings) -> str:
    again = where.command("run", "--resume", execution_id)
    if settings.server:
        return f"detached: execution {execution_id} goes on. Follow it again: {again}"
    return (
        f"left: execution {execution_id} waits, and nothing of it is lost. "
        f"Go on with it: {again}, or {where.command('up')}"
    )


@contextlib.contextmanager
def _stdout_kept() -> Iterator[None]:
    """Redirects stdout to stderr at the level of file descriptors. Tasks run in this process and may print, even with `--json`."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
