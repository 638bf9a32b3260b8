"""Runs the demo, which shows in half a minute what Tenax does: `python -m tenax.demo`. With `--keep` it goes on until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from tenax.cli.backend.follow import follow
from tenax.cli.backend.http import ServerBackend
from tenax.cli.output import console
from tenax.cli.process.interrupts import INTERRUPTED, Interrupts
from tenax.cli.render.live import FollowView, view_for
from tenax.cli.render.timeline import render_execution
from tenax.credentials.token_file import read_token
from tenax.demo.endpoint import ANSWERS, flaky_service
from tenax.demo.household import DemoError, Household, household
from tenax.drawing.text_lines import printable
from tenax.errors import TenaxError, Unreachable
from tenax.model.wire import Submission
from tenax.sdk.client import Client

WORKFLOW = Path(__file__).with_name("workflow.yaml")
START_SECONDS = 90.0
END_SECONDS = 60.0
_ATTEMPTS = {"fetch_prices": len(ANSWERS) + 1, "count_prices": 1, "send_report": 2}
_EXPLAINED = (("fetch_prices", 3), ("send_report", 1))
_OPENING = """\
A workflow of three steps, and three kinds of trouble:
  fetch_prices   calls a service that answers 503 twice, then 429 with Retry-After: 2, then 200
  count_prices   runs a process
  send_report    is a Python task; in its first attempt its worker process is killed with signal 9 (kill -9);
                 that attempt is lost, and not counted
Server and workers run under `tenax up`, with their own PostgreSQL. `tenax up` sees the worker die and tells the server."""


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tenax.demo", description=__doc__)
    options.add_argument(
        "--keep", action="store_true", help="go on until Ctrl-C, with a link to the page of what was shown"
    )
    keep: bool = options.parse_args().keep
    screen = console()
    started = time.monotonic()
    try:
        asyncio.run(_demo(screen, keep=keep))
    except KeyboardInterrupt:
        return INTERRUPTED
    except TenaxError as error:
        print(f"demo: {printable(error.message)}", file=sys.stderr)
        if error.remedy:
            print(f"  {error.remedy}", file=sys.stderr)
        return error.exit_code or 1
    except OSError as error:  # for example no space for its folder, or no free port
        print(f"demo: {error}", file=sys.stderr)
        return 3
    took = time.monotonic() - started
    screen.print(
        Text(f"The demo is over after {took:.0f} s; no process is left, PostgreSQL is stopped.", "green")
    )
    if not keep:
        screen.print("`make demo KEEP=1` keeps it running, with a link to its page in the dashboard.")
    return 0


async def _demo(screen: Console, *, keep: bool) -> None:
    interrupts = Interrupts()
    view = view_for(screen)
    screen.print(_OPENING)
    _title(screen, "live")
    with interrupts.caught(), flaky_service() as service:
        async with household(_free_port(), view.notice) as house:
            showing = asyncio.create_task(_show(screen, view, house, service))
            ended = asyncio.create_task(house.ended())
            asked = asyncio.create_task(interrupts.first.wait())
            await asyncio.wait({showing, ended, asked}, return_when=asyncio.FIRST_COMPLETED)
            for task in (showing, asked):
                task.cancel() if not task.done() else None
            await asyncio.gather(showing, asked, return_exceptions=True)
            if interrupts.first.is_set():
                raise KeyboardInterrupt
            if ended.done():
                raise DemoError("`tenax up` ended too early:\n" + "\n".join(house.log))
            _check(showing, house)
            if keep:
                _invite(screen, house, showing.result())
                asked = asyncio.create_task(interrupts.first.wait())
                await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
                asked.cancel()
            ended.cancel()


def _invite(screen: Console, house: Household, execution_id: int) -> None:
    """Prints the link that signs in and leads to the page of the execution. Prints the plain address if the link is not known."""
    page = f"/executions/{execution_id}"
    link = f"{house.sign_in}&next={page}" if "code=" in house.sign_in else f"{house.url}{page}"
    screen.print(Text("\nIt keeps running. The page of this execution (the link works once):", "green"))
    screen.print(Text(f"  {link}"), soft_wrap=True)
    screen.print("Ctrl-C stops everything and removes it.")


def _check(showing: asyncio.Task[int], house: Household) -> None:
    try:
        showing.result()
    except TimeoutError:
        raise DemoError(
            "it took far too long; the last output of `tenax up`:\n" + "\n".join(house.log)
        ) from None


async def _show(screen: Console, view: FollowView, house: Household, service: str) -> int:
    """Shows one execution from its submission to its explanation. Returns its id."""
    async with Client(house.url) as client, asyncio.timeout(START_SECONDS):
        await _until_ready(client)
    async with Client(house.url, read_token(house.home)) as client:
        async with asyncio.timeout(END_SECONDS):
            submitted = await client.submit(
                Submission(source=WORKFLOW.read_text("utf-8"), filename=WORKFLOW.name, input={"url": service})
            )
            execution = await follow(ServerBackend(client), submitted.id, view)
        _title(screen, "timeline")
        screen.print(render_execution(execution))
        _title(screen, "explain")
        for step, attempt in _EXPLAINED:
            for explained in await client.explain(submitted.id, step=step, attempt=attempt):
                screen.print(Text(printable(explained["text"]) + "\n"), soft_wrap=True)
    _compare(execution)
    return submitted.id


async def _until_ready(client: Client) -> None:
    while True:
        try:
            if await client.ready():
                return
        except Unreachable:
            pass
        await asyncio.sleep(0.1)


def _compare(execution: Mapping[str, Any]) -> None:
    """Raises DemoError if the demo did not show what it announced."""
    attempts = {name: step["attempt"] for name, step in execution["steps"].items()}
    if execution["status"] != "completed" or attempts != _ATTEMPTS:
        raise DemoError(
            f"expected a completed execution with the attempts {_ATTEMPTS}, got {execution['status']} with {attempts}"
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _title(screen: Console, text: str) -> None:
    screen.print()
    screen.print(Rule(text, align="left", style="dim") if screen.is_terminal else f"-- {text} --")


if __name__ == "__main__":
    sys.exit(main())
