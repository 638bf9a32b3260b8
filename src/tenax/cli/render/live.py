"""Shows the progress of an execution: as a live table on a terminal, else as a line for each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.render.narration import Narrator
from tenax.drawing.event_lines import moment
from tenax.drawing.text_lines import printable
from tenax.model.execution_views import Event

_EVENT_STYLES = {
    "action_error": "red",
    "lease_expired": "red",
    "queue_expired": "red",
    "action_not_completed": "red",
    "compensation_error": "red",
    "step_retry": "yellow",
    "retry_held": "magenta",
    "compensation_retry": "yellow",
    "item_failed": "red",
    "step_failed_terminal": "bold red",
    "compensation_failed": "bold red",
    "execution_compensating": "bold red",
    "execution_failed": "bold red",
    "action_completed": "green",
    "execution_completed": "bold green",
}


class FollowView(Protocol):
    """Shows what `follow` receives of an execution."""

    def begin(self, execution: Mapping[str, Any]) -> None: ...

    def event(self, event: Event) -> None: ...

    @property
    def shows_progress(self) -> bool:
        """True if `progress` should be called once a second."""
        ...

    def progress(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Takes how far the running steps are."""
        ...

    def notice(self, text: str) -> None:
        """Shows a text that is no event, for example that the server is not reachable."""
        ...

    async def tick(self) -> None:
        """Refreshes the view until it is cancelled."""
        ...

    def pause(self, *, paused: bool) -> None:
        """Stops drawing while the user answers a question."""
        ...

    def close(self) -> None: ...


def view_for(console: Console, where: TargetFlags = DEFAULT_TARGET) -> FollowView:
    from tenax.cli.render.live_table import LiveView

    return LiveView(console, where) if console.is_terminal else PlainView(console, where)


class PlainView:
    """Prints a line for each event, with the seconds since the execution began. Summarises large fan-outs."""

    shows_progress = False

    def __init__(self, console: Console, where: TargetFlags = DEFAULT_TARGET) -> None:
        self._console = console
        self._where = where
        self._narrator = Narrator(0)
        self._began: datetime | None = None
        self._width = 0

    def begin(self, execution: Mapping[str, Any]) -> None:
        self._narrator = Narrator(execution["id"], list(execution["steps"]), self._where)
        self._began = moment(execution["created_at"])
        self._width = max((len(name) for name in execution["steps"]), default=0)
        self._line(f"execution {execution['id']} of workflow {execution['workflow']}")

    def event(self, event: Event) -> None:
        began = self._began or moment(event.at)
        since = f"+{max((moment(event.at) - began).total_seconds(), 0.0):.3f}s"
        for step, words in self._narrator.lines(event):
            whose = f"{step:<{self._width}}  " if self._width else ""
            self._line(f"{since:>10}  {whose}{words}", _EVENT_STYLES.get(event.type))

    def notice(self, text: str) -> None:
        self._line(text, "yellow")

    def progress(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Does nothing: a line that was printed cannot grow."""

    async def tick(self) -> None:
        """Does nothing: lines need no refreshing."""

    def pause(self, *, paused: bool) -> None:
        """Does nothing: lines cannot overwrite a question."""

    def close(self) -> None:
        """Does nothing: printed lines stay."""

    def _line(self, text: str, style: str | None = None) -> None:
        self._console.print(Text(printable(text), style=style or ""), soft_wrap=True)
