"""Describes an execution line by line. Summarises large fan-outs and long series of polls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tenax.cli.flags import DEFAULT_TARGET, TargetFlags
from tenax.cli.render.fan_outs import SHOWN_ITEMS, compensation_words, counts_words, is_large
from tenax.cli.render.how_to_answer import how_to_answer
from tenax.drawing.event_lines import EventWording, is_of_compensation
from tenax.model.execution_views import Event
from tenax.model.state.execution import StepState, WorkState, apply, fold

Line = tuple[str, str]
"""The step or item (`fetch`, `fetch[3]`, or empty), and the text."""

_TOLD_POLLS = 3  # polls in a row that are printed one by one
_STEPS_OF_PROGRESS = 10  # lines about the progress of a large fan-out


class Narrator:
    """Chooses the lines for each event: its own text, the progress of its fan-out, or nothing."""

    def __init__(
        self, execution_id: int, steps: Sequence[str] = (), where: TargetFlags = DEFAULT_TARGET
    ) -> None:
        self._id = execution_id
        self._where = where
        self._wording = EventWording()
        self._state = fold([], steps)
        self._told: dict[tuple[str, bool], int] = {}
        self._failed: Counter[str] = Counter()
        self._held: Counter[str] = Counter()

    def lines(self, event: Event) -> list[Line]:
        """Returns the lines for an event. Call it in the order of the events, since earlier events tell how many attempts counted."""
        apply(self._state, event)
        words = self._wording.words(event)
        if event.step is None:
            return [("", words)]
        step = self._state.steps[event.step]
        if event.item is not None and step.fan_out is not None and is_large(step.fan_out.counts()):
            return [
                *self._named_failure(step, event, words),
                *self._first_held(step, event, words),
                *self._progress(step, event),
            ]
        if _is_one_poll_of_many(_work_of(step, event), event):
            return []
        return [(whose(event), words), *self._command(event)]

    def _command(self, event: Event) -> list[Line]:
        """Returns the command for a person, if an attempt waits for a person or a retry is held."""
        if _is_held(event):
            return [(whose(event), f"release it: {self._where.command('retry', self._id)}")]
        waiting = event.data.get("waiting") if event.type == "action_started" else None
        if not waiting:
            return []
        command = how_to_answer(waiting, self._id, event.step or "", event.item, self._where)
        return [(whose(event), command)] if command else []

    def _named_failure(self, step: StepState, event: Event, words: str) -> list[Line]:
        if event.type not in ("item_failed", "compensation_failed"):
            return []
        self._failed[step.step] += 1
        if self._failed[step.step] <= SHOWN_ITEMS:
            return [(whose(event), words)]
        if self._failed[step.step] == SHOWN_ITEMS + 1:
            rest = self._where.command("items", self._id, step.step, "--status", "failed")
            return [(step.step, f"more have failed: {rest}")]
        return []

    def _first_held(self, step: StepState, event: Event, words: str) -> list[Line]:
        """Returns the lines for the first held items of a large fan-out, and how to release them."""
        if not _is_held(event):
            return []
        self._held[step.step] += 1
        if self._held[step.step] <= SHOWN_ITEMS:
            return [(whose(event), words), *self._command(event)]
        if self._held[step.step] == SHOWN_ITEMS + 1:
            rest = self._where.command("items", self._id, step.step, "--status", "held")
            return [(step.step, f"more are held: {rest}")]
        return []

    def _progress(self, step: StepState, event: Event) -> list[Line]:
        """Returns a line each time that another tenth of the items has ended."""
        assert step.fan_out is not None
        counts = step.fan_out.counts()
        compensates = is_of_compensation(event)
        if not compensates:
            done, total = counts["succeeded"] + counts["failed"] + counts["cancelled"], counts["total"]
            words = counts_words(counts, step.status, step.fan_out.tolerated)
        else:
            assert step.compensation is not None
            undone = step.compensation.counts()
            done, total = undone["completed"] + undone["failed"] + undone["cancelled"], counts["succeeded"]
            words = f"compensation: {compensation_words({**undone, 'total': total})}"
        share = _STEPS_OF_PROGRESS * done // max(total, 1)
        if share <= self._told.get((step.step, compensates), 0):
            return []
        self._told[step.step, compensates] = share
        return [(step.step, words)]


def whose(event: Event) -> str:
    """Returns `fetch` for a step, or `fetch[3]` for an item of it."""
    item = "" if event.item is None else f"[{event.item}]"
    return f"{event.step or ''}{item}"


def _is_held(event: Event) -> bool:
    """Returns whether the event says that a retry is held."""
    return event.type == "retry_held" or (event.type == "compensation_retry" and bool(event.data.get("held")))


def _work_of(step: StepState, event: Event) -> WorkState:
    return step if event.item is None else step.items.get(event.item, step)


def _is_one_poll_of_many(work: WorkState, event: Event) -> bool:
    """Returns whether the event belongs to a poll that is not printed. After the first few polls, only round numbers are printed."""
    if work.polls <= _TOLD_POLLS:
        return False
    match event.type:
        case "action_polled" | "step_retry":
            return work.attempts[-1].outcome == "polled" and not _is_round(work.polls)
        case "action_started":
            return len(work.attempts) > 1 and work.attempts[-2].outcome == "polled"
        case _:
            return False


def _is_round(number: int) -> bool:
    """Returns whether a number is one of 10, 20 ... 100, 200 ... 1000."""
    return number % 10 ** (len(str(number)) - 1) == 0 and number >= 10
