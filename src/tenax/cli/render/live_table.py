"""Shows an execution as a live table on a terminal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.output import new_table
from tenax.cli.render.fan_outs import SHOWN_ITEMS, compensation_words, counts_words, is_large
from tenax.cli.render.styles import STYLES
from tenax.cli.render.why_blocked import poison_words
from tenax.drawing.event_lines import (
    attempt_of,
    duration,
    failure_words,
    instead,
    kept_from,
    moment,
    waiting_words,
    why_held,
)
from tenax.drawing.progress_words import progress_words
from tenax.drawing.text_lines import printable
from tenax.model.execution_views import Event
from tenax.model.state.execution import StepState, WorkState, apply, fold

REFRESH_SECONDS = 0.1
_OVER = ("succeeded", "completed", "skipped", "cancelled")


class LiveView:
    """Shows each step with its state, its attempt, its last failure, its progress, and a countdown to its next attempt."""

    shows_progress = True

    def __init__(self, console: Console, where: TargetFlags = DEFAULT_TARGET) -> None:
        self._console = console
        self._where = where
        self._id = 0
        self._state = fold([])
        self._limits: dict[str, int | None] = {}
        self._progress: dict[str, str] = {}
        """How far each running step is, in words."""
        self._head = ""
        self._began = ""
        self._skew = 0.0
        self._live: Live | None = None
        self._paused = False

    def begin(self, execution: Mapping[str, Any]) -> None:
        self._limits = {name: step.get("max_attempts") for name, step in execution["steps"].items()}
        self._state = fold([], list(execution["steps"]))
        self._id = execution["id"]
        self._head = f"execution {execution['id']} of {printable(execution['workflow'])}"
        self._began = execution["created_at"]
        # Due times are of the database's clock, which may differ from that of this machine.
        self._skew = moment(execution["now"]).timestamp() - time.time()
        self._draw()

    def event(self, event: Event) -> None:
        """Takes an event, which is drawn at the next tick, since thousands may arrive at once."""
        apply(self._state, event)

    def progress(self, found: Sequence[Mapping[str, Any]]) -> None:
        self._progress = {one["step"]: progress_words(one) for one in found if not one["compensation"]}

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
        self._refresh()
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
        table = new_table("step", "state", "attempt", "last failure", wrapped=("last failure",))
        for step in self._state.steps.values():
            for name, work in _rows(step):
                last = _last_failure(work)
                if isinstance(work, StepState) and work.fan_out is not None:
                    last = Text(counts_words(work.fan_out.counts(), work.status, work.fan_out.tolerated))
                elif work is step.compensation and step.compensation.items:
                    last = Text(compensation_words(step.compensation.counts()))
                if work is step and work.status == "running" and (words := self._progress.get(step.step)):
                    last = Text(f"{words}\n" if last.plain else words, style="cyan").append_text(last)
                limit = work.max_attempts or self._limits.get(name)
                table.add_row(Text(printable(name)), self._standing(work), _attempt(work, limit), last)
        elapsed = self._now() - moment(self._began).timestamp() if self._began else 0.0
        compensates = "  compensating" if self._state.compensation == "running" else ""
        head = Text.assemble(
            (self._head, "bold"), (f"  {max(elapsed, 0.0):.1f}s", "dim"), (compensates, "red")
        )
        return Group(head, table, *self._held())

    def _held(self) -> Iterator[Text]:
        """Yields a line for each held item, and a line that says how to release them."""
        held = [(name, work) for step in self._state.steps.values() for name, work in _held_work(step)]
        for name, work in held[:SHOWN_ITEMS]:
            yield Text(printable(f"{name} is held: {_why_held(work)}"), style=STYLES["held"])
        if held:
            more = f"{len(held) - SHOWN_ITEMS:,} more are held; " if len(held) > SHOWN_ITEMS else ""
            yield Text(
                printable(f"{more}release it: {self._where.command('retry', self._id)}"), style="yellow"
            )

    def _standing(self, work: WorkState) -> Text:
        words = work.status
        if isinstance(work, StepState):
            words += f"{kept_from(work.carried_from)}{instead(work.on_failure)}"
        if work.waiting:
            words = waiting_words(work.waiting, child=work.attempts[-1].child)
        elif work.status == "running" and work.attempts and work.attempts[-1].started_at:
            words += f" {max(self._now() - moment(work.attempts[-1].started_at).timestamp(), 0.0):.1f}s"
        elif work.status == "retrying" and work.available_at:
            left = moment(work.available_at).timestamp() - self._now()
            words = f"retry in {left:.1f}s" if left > 0 else "retry due"
        return Text(printable(words), style=STYLES.get(work.status, ""))


def _rows(step: StepState) -> Iterator[tuple[str, WorkState]]:
    """Yields the rows of a step: the step, the unfinished and failed items of a small fan-out, and its compensation."""
    yield step.step, step
    if step.fan_out is not None and not is_large(step.fan_out.counts()):
        for number, item in sorted(step.items.items()):
            if item.status not in _OVER:
                yield f"  [{number}]", item
    if step.compensation is not None:
        yield "  compensation", step.compensation


def _held_work(step: StepState) -> Iterator[tuple[str, WorkState]]:
    """Yields the held work of a step with its name: the step itself, items of its fan-out, or its compensation."""
    if step.fan_out is None and step.status == "held":
        yield step.step, step
    for number, item in sorted(step.items.items()):
        if item.status == "held":
            yield f"{step.step}[{number}]", item
    if step.compensation is not None and step.compensation.status == "held":
        yield f"the compensation of {step.step}", step.compensation


def _why_held(work: WorkState) -> str:
    lost_by = (work.ledger or {}).get("lost_by") or ()
    rule = work.attempts[-1].rule if work.attempts else None
    return poison_words(lost_by) if lost_by and rule in (None, "poison") else why_held(rule)


def _attempt(work: WorkState, limit: int | None) -> str:
    counted = work.counted + (work.status in ("running", "accepted"))
    return attempt_of(work.attempt, limit, counted) if work.attempt else "-"


def _last_failure(work: WorkState) -> Text:
    failed = next((one for one in reversed(work.attempts) if one.failure), None)
    if failed is None or not failed.failure:
        polled = (
            f"polled {work.polls:,} times, not yet done" if work.polls and work.status != "completed" else ""
        )
        return Text(polled, style="dim")
    done = work.status in _OVER
    waited = f"  (waited {duration(failed.delay_seconds)})" if done and failed.delay_seconds else ""
    return Text(
        printable(f"{failed.attempt}: {failure_words(failed.failure)}{waited}"),
        style="dim" if done else "red",
        overflow="ellipsis",
        no_wrap=True,
    )
