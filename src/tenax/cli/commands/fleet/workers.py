"""Lists and shows workers with their health, and pauses, drains, resumes and releases them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags, worker_command
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.errors import UsageError
from tenax.model.source.findings import shorten, suggest

if TYPE_CHECKING:
    from rich.console import RenderableType

workers = App(name="workers", help="List workers, or show, pause, drain, resume or release one.")

WorkerName = Annotated[str, Parameter(name="NAME", help="The name of a worker.")]
Reason = Annotated[str | None, Parameter(help="The reason, which is recorded.")]
_VERBS = ("show", "pause", "drain", "resume", "release")


@workers.default
def list_(
    *words: Annotated[str, Parameter(show=False)],
    all: Annotated[bool, Parameter(name="--all", help="List the workers that are gone too.")] = False,  # noqa: A002 -- the flag's name
    watch: Annotated[bool, Parameter(help="Keep the table up to date until Ctrl-C.")] = False,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List the live workers with their health as the server judges it."""
    if words:
        raise UsageError(
            f"unknown command `workers {shorten(words[0])}`{suggest(words[0], _VERBS)}",
            remedy=f"show one worker: {where.command('workers', 'show', words[0])}",
        )
    if watch and json:
        raise UsageError("--watch and --json exclude each other", remedy="call it repeatedly with --json")
    if watch:
        _watch(where, all_of_them=all)
        return
    found = run_async(_listed(where, all_of_them=all))
    if json:
        print_json(found)
    else:
        show_(_drawn(found, where))


async def _listed(where: TargetFlags, *, all_of_them: bool) -> list[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return list(await backend.workers(all=all_of_them))


def _watch(where: TargetFlags, *, all_of_them: bool) -> None:
    try:
        run_async(_watched(where, all_of_them=all_of_them))
    except KeyboardInterrupt:
        return


async def _watched(where: TargetFlags, *, all_of_them: bool) -> None:
    from tenax.cli.render.operators.fleet_table import change_key
    from tenax.cli.render.watch import watch

    async with open_backend(where.settings()) as backend:
        await watch(lambda: backend.workers(all=all_of_them), lambda found: _drawn(found, where), change_key)


def _drawn(found: Sequence[dict[str, Any]], where: TargetFlags) -> RenderableType:
    from rich.text import Text

    from tenax.cli.render.operators.fleet_table import fleet_table

    return fleet_table(found) if found else Text(_nobody(where))


def _nobody(where: TargetFlags) -> str:
    """Returns the text for an empty list. It suggests `tenax up` only if no server is named, since `up` starts a server too."""
    start = worker_command(where)
    if where.settings().server:
        return f"no worker is live: {start}"
    return f"no worker is live: {start}, or {where.command('up')}"


@workers.command
def show(name: WorkerName, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Show a worker: each column of its health, its own report, its leases and its last events."""
    found = run_async(_shown(where, name))
    if json:
        print_json(found)
    else:
        from tenax.cli.render.operators.worker_page import render_worker

        show_(render_worker(found, where))


async def _shown(where: TargetFlags, name: str) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.worker(name)


@workers.command
def pause(
    name: WorkerName, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Pause a worker: it gets no new work until it is resumed, and may finish its running attempts. A restart of the worker does
    not change that.
    """
    changed = run_async(_changed(where, "pause", name, reason))
    if json:
        print_json({"name": name, "state": "paused", "changed": changed})
    elif changed:
        go_on = where.command("workers", "resume", name)
        say(f"worker {name} is paused; its running attempts may finish\n  resume it: {go_on}")
    else:
        say(f"worker {name} was paused already")


@workers.command
def drain(
    name: WorkerName, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Drain a worker: it gets no new work, finishes its running attempts, and its process ends.

    If something starts the worker again, as `tenax up` does, it gets work again. Use `pause` to prevent that.
    """
    changed = run_async(_changed(where, "drain", name, reason))
    if json:
        print_json({"name": name, "state": "draining", "changed": changed})
    elif changed:
        watch, pause_it = where.command("workers", "show", name), where.command("workers", "pause", name)
        say(
            f"worker {name} is draining: it finishes its running attempts, then it ends\n  see its progress: {watch}\n"
            f"  if something starts it again (tenax up, systemd), it gets work again; to prevent that, once it has ended: {pause_it}"
        )
    else:
        say(f"worker {name} was draining already")


@workers.command
def resume(
    name: WorkerName, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Give work again to a worker that was paused, drained or unhealthy. Its recorded failures are cleared."""
    changed = run_async(_changed(where, "resume", name, reason))
    if json:
        print_json({"name": name, "state": "active", "changed": changed})
    else:
        say(f"worker {name} {'gets work again' if changed else 'was active already'}")


@workers.command
def release(
    name: WorkerName, /, *, reason: Reason = None, json: Json = False, where: TargetFlags = DEFAULT_TARGET
) -> None:
    """Free the name of a worker, so that the next worker that starts under it gets it with any token.

    Otherwise the name belongs to the token with which the worker registered, until that token is revoked.
    """
    changed = run_async(_changed(where, "release", name, reason))
    if json:
        print_json({"name": name, "changed": changed})
    elif changed:
        say(f"the name {name} is free: the next worker that starts under it gets it")
    else:
        say(f"the name {name} belonged to no token: any worker may use it")


async def _changed(where: TargetFlags, verb: str, name: str, reason: str | None) -> bool:
    async with open_backend(where.settings()) as backend:
        verbs = {
            "pause": backend.pause_worker,
            "drain": backend.drain_worker,
            "resume": backend.resume_worker,
            "release": backend.release_worker,
        }
        return await verbs[verb](name, reason=reason)
