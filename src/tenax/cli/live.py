"""An execution before one's eyes: a table that moves on a terminal, a line for each event elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tenax.cli.event_lines import Teller, attempt_of, duration, failure_words, kept_from, moment
from tenax.cli.output import printable
from tenax.model.state import StepState, apply, fold

REFRESH_SECONDS = 0.1
STYLES = {
    "pending": "dim",
    "queued": "cyan",
    "running": "bold cyan",
    "retrying": "yellow",
    "held": "magenta",
    "completed": "green",
    "failed": "bold red",
    "skipped": "dim",
    "unreachable": "red",
    "cancelled": "magenta",
    "paused": "magenta",
}
_EVENT_STYLES = {
    "action_error": "red",
    "lease_expired": "red",
    "queue_expired": "red",
    "action_not_completed": "red",
    "step_retry": "yellow",
    "step_failed_terminal": "bold red",
    "execution_failed": "bold red",
    "action_completed": "green",
    "execution_completed": "bold green",
}

Event = Mapping[str, Any]


class View(Protocol):
    """What `follow` tells of an execution."""

    def begin(self, execution: Mapping[str, Any]) -> None: ...

    def event(self, event: Event) -> None: ...

    def notice(self, text: str) -> None:
        """Something that is not an event: the server is away, a question is open."""
        ...

    async def tick(self) -> None:
        """Runs beside everything else, for as long as the view is needed."""
        ...

    def pause(self, *, paused: bool) -> None:
        """While a question stands, nothing may be drawn over it."""
        ...

    def close(self) -> None: ...


def view_for(console: Console) -> View:
    return LiveView(console) if console.is_terminal else PlainView(console)


class PlainView:
    """A line for each event, with the seconds since the execution began."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._teller = Teller()
        self._began: datetime | None = None
        self._width = 0

    def begin(self, execution: Mapping[str, Any]) -> None:
        self._began = moment(execution["created_at"])
        self._width = max((len(name) for name in execution["steps"]), default=0)
        self._line(f"execution {execution['id']} of workflow {execution['workflow']}")

    def event(self, event: Event) -> None:
        began = self._began or moment(event["at"])
        since = f"+{max((moment(event['at']) - began).total_seconds(), 0.0):.3f}s"
        words = self._teller.words(event)
        style = _EVENT_STYLES.get(event["type"])
        step = f"{event['step'] or '':<{self._width}}"
        self._line(f"{since:>10}  {step}  {words}" if self._width else f"{since:>10}  {words}", style)

    def notice(self, text: str) -> None:
        self._line(text, "yellow")

    async def tick(self) -> None:
        """Lines need no refreshing."""

    def pause(self, *, paused: bool) -> None:
        """Lines follow each other, whatever stands between them."""

    def close(self) -> None:
        """There is nothing to take away."""

    def _line(self, text: str, style: str | None = None) -> None:
        self._console.print(Text(printable(text), style=style or ""), soft_wrap=True)


class LiveView:
    """For each step: its state, the attempt, the last failure, and the countdown to the next attempt."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state = fold([])
        self._limits: dict[str, int | None] = {}
        self._head = ""
        self._began = ""
        self._skew = 0.0
        self._live: Live | None = None
        self._paused = False

    def begin(self, execution: Mapping[str, Any]) -> None:
        self._limits = {name: step.get("max_attempts") for name, step in execution["steps"].items()}
        self._state = fold([], list(execution["steps"]))
        self._head = f"execution {execution['id']} of {printable(execution['workflow'])}"
        self._began = execution["created_at"]
        # Countdowns are to times of the database's clock, which need not be this machine's.
        self._skew = moment(execution["now"]).timestamp() - time.time()
        self._draw()

    def event(self, event: Event) -> None:
        apply(self._state, event)
        self._refresh()

    def notice(self, text: str) -> None:
        self._console.print(Text(printable(text), style="yellow"))

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            self._refresh()

    def pause(self, *, paused: bool) -> None:
        if paused == self._paused:
            return
        self._paused = paused
        if paused:
            self._wipe()
        elif self._began:
            self._draw()

    def close(self) -> None:
        self._wipe()
        self._began = ""

    def _draw(self) -> None:
        self._live = Live(
            get_renderable=self._render, console=self._console, auto_refresh=False, transient=True
        )
        self._live.start(refresh=True)

    def _wipe(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def _now(self) -> float:
        return time.time() + self._skew

    def _render(self) -> RenderableType:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for title in ("step", "state", "attempt", "last failure"):
            table.add_column(title, header_style="dim", no_wrap=title != "last failure")
        for step in self._state.steps.values():
            table.add_row(
                Text(printable(step.step)), self._standing(step), self._attempt(step), _last_failure(step)
            )
        elapsed = self._now() - moment(self._began).timestamp() if self._began else 0.0
        return Group(Text.assemble((self._head, "bold"), (f"  {max(elapsed, 0.0):.1f}s", "dim")), table)

    def _standing(self, step: StepState) -> Text:
        words = f"{step.status}{kept_from(step.carried_from)}"
        if step.status == "running" and step.attempts and step.attempts[-1].started_at:
            words += f" {max(self._now() - moment(step.attempts[-1].started_at).timestamp(), 0.0):.1f}s"
        elif step.status == "retrying" and step.available_at:
            left = moment(step.available_at).timestamp() - self._now()
            words = f"retry in {left:.1f}s" if left > 0 else "retry due"
        return Text(words, style=STYLES.get(step.status, ""))

    def _attempt(self, step: StepState) -> str:
        limit = step.max_attempts or self._limits.get(step.step)
        counted = step.counted + (step.status == "running")
        return attempt_of(step.attempt, limit, counted) if step.attempt else "-"


def _last_failure(step: StepState) -> Text:
    failed = next((one for one in reversed(step.attempts) if one.failure), None)
    if failed is None or not failed.failure:
        return Text("")
    done = step.status in ("completed", "skipped")
    waited = f"  (waited {duration(failed.delay_seconds)})" if done and failed.delay_seconds else ""
    return Text(
        f"{failed.attempt}: {failure_words(failed.failure)}{waited}",
        style="dim" if done else "red",
        overflow="ellipsis",
        no_wrap=True,
    )
