"""Makes the rows of a timeline: steps, their attempts, their items, and their compensations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from tenax.cli.flags import TargetFlags
from tenax.cli.render.fan_outs import compensation_words, counts_words
from tenax.cli.render.how_to_answer import how_to_answer
from tenax.cli.render.styles import STYLES
from tenax.cli.render.why_blocked import in_short, poison_words
from tenax.drawing.event_lines import (
    attempt_of,
    attempt_of_item,
    called_back,
    duration,
    failure_words,
    instead,
    kept_from,
    seconds_between,
    vary_words,
    waiting_words,
    why_held,
    why_not,
)
from tenax.drawing.progress_words import progress_words
from tenax.drawing.text_lines import one_line, printable

Body = Mapping[str, Any]

_MAX_FAILURE = 160
_MAX_RESULT = 80
_MAX_POLLS_SHOWN = 3
"""Polls in a row that are shown one by one. More of them are one row."""
_OUTCOME_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "not_completed": "red",
    "lost": "red",
    "expired": "red",
    "running": "bold cyan",
    "accepted": "bold cyan",
    "cancelled": "magenta",
}
_OUTCOMES = {
    "released": "handed back (not counted)",
    "snoozed": "snoozed (not counted)",
    "polled": "not yet done (not counted)",
    "superseded": "superseded by an earlier attempt's success",
}
_VERDICTS = {"complete": "", "fail": "no retry", "stop": "stopped"}


@dataclass(frozen=True, slots=True)
class Row:
    level: int
    """The indentation: 0 for a step, 1 for its attempts, items and compensation, 2 for the attempts of a compensation."""
    name: Text = field(default_factory=Text)
    status: Text = field(default_factory=Text)
    number: str = ""
    at: str = ""
    took: str = ""
    outcome: Text = field(default_factory=Text)
    failure: str = ""
    then: Text = field(default_factory=Text)
    is_attempt: bool = False


def rows_of(execution: Body, where: TargetFlags) -> Iterator[Row]:
    for name, step in execution["steps"].items():
        yield Row(
            0,
            Text(printable(name), style="bold"),
            _status(step),
            "" if step.get("items") else _number(step),
            outcome=Text(_facts(step), style="dim"),
            then=_next(step, execution, name, where),
        )
        yield from _attempts(step, execution, level=1)
        for item in step.get("listed_items", ()):
            yield _item(item, step, execution, name, where)
        yield from _compensation(step, execution)


def _attempts(work: Body, execution: Body, *, level: int) -> Iterator[Row]:
    for attempts in _grouped(work["attempts"]):
        first, last = attempts[0], attempts[-1]
        outcome = _outcome(last)
        if len(attempts) > 1:
            outcome = Text(f"polled {len(attempts):,} times, not yet done (not counted)")
        outcome.append(_particulars(last), style="dim")
        begin = first["started_at"] or first["ended_at"]
        took = seconds_between(first["started_at"], last["ended_at"] or execution["now"]) if first["started_at"] else None  # fmt: skip
        yield Row(
            level,
            number=str(first["attempt"]) if first is last else f"{first['attempt']}-{last['attempt']}",
            at=f"+{seconds_between(execution['created_at'], begin):.3f}s" if begin else "",
            took="" if took is None else duration(took),
            outcome=outcome,
            failure=one_line(failure_words(last["failure"]), _MAX_FAILURE) if last["failure"] else "",
            then=_then(last, work),
            is_attempt=True,
        )


def _grouped(attempts: Sequence[Body]) -> Iterator[list[Body]]:
    """Yields each attempt by itself, and long series of polls as one group."""
    polls: list[Body] = []
    for attempt in attempts:
        if attempt["outcome"] == "polled":
            polls.append(attempt)
            continue
        yield from _together(polls)
        polls = []
        yield [attempt]
    yield from _together(polls)


def _together(polls: list[Body]) -> Iterator[list[Body]]:
    if len(polls) > _MAX_POLLS_SHOWN:
        yield polls
    else:
        yield from ([poll] for poll in polls)


def _item(item: Body, step: Body, execution: Body, name: str, where: TargetFlags) -> Row:
    outcome, failure = Text(), ""
    if item.get("failure"):
        failure = one_line(failure_words(item["failure"]), _MAX_FAILURE)
    elif item["status"] == "held" and item.get("lost_by"):
        failure = poison_words(item["lost_by"])
    elif item.get("last_error"):
        failure = one_line(item["last_error"], _MAX_FAILURE)
    elif item["status"] == "succeeded":
        outcome = Text(one_line(item["result"], _MAX_RESULT), style="dim")
    if waiting := item.get("waiting"):
        outcome = Text(printable(waiting_words(waiting, child=waiting.get("child"))), style="bold cyan")
    standing: str = item["status"]
    status = Text(standing, style=STYLES.get(_AS_STEP.get(standing, standing), ""))
    limit = item.get("max_attempts") or step.get("max_attempts")
    number = "-" if not item["attempt"] else attempt_of_item(item["attempt"], limit)
    then = _next(item, execution, name, where)
    if not then and item["status"] == "failed":
        more = where.command("show", execution["id"], "--step", name, "--item", item["item"])
        then = Text(printable(more), style="dim")
    elif not then and item.get("worker"):
        then = Text(f"on {printable(item['worker'])}", style="dim")
    return Row(1, Text(f"[{item['item']}]"), status, number, outcome=outcome, failure=failure, then=then)


_AS_STEP = {"succeeded": "completed", "accepted": "running", "leased": "running", "waiting": "pending"}


def _compensation(step: Body, execution: Body) -> Iterator[Row]:
    """Yields the rows of the step's compensation."""
    found = step.get("compensation")
    if not found:
        return
    words = compensation_words(found["items"]) if found["items"] else ""
    yield Row(
        1,
        Text("compensation", style="italic"),
        Text(found["status"], style=STYLES.get(found["status"], "")),
        _number(found) if found["attempts"] else "",
        outcome=Text(words, style="dim"),
        then=_until_next(found, execution),
    )
    yield from _attempts(found, execution, level=2)
    for failed in found.get("failures") or ():
        yield Row(
            2,
            Text(f"[{failed['item']}]"),
            Text("failed", style=STYLES["failed"]),
            str(failed["attempts"]),
            outcome=Text("not undone"),
            failure=one_line(failure_words(failed["failure"]), _MAX_FAILURE),
        )


def _status(step: Body) -> Text:
    status = Text(step["status"], style=STYLES.get(step["status"], ""))
    return status.append(kept_from(step.get("carried_from")))


def _number(step: Body) -> str:
    if not step["attempt"]:
        return "-"
    counted = step["counted"] + (step["status"] == "running")
    return attempt_of(step["attempt"], step["max_attempts"], counted)


def _facts(step: Body) -> str:
    """Describes a step: the items of its fan-out, what it waits for, the cause of its state if it had no attempt, and what
    replaces its failure.
    """
    facts = []
    if step.get("items"):
        # `on_failure` applies only if more items failed than are tolerated.
        tolerated = 0 if step.get("on_failure") else None
        facts.append(counts_words(step["items"], step["status"], tolerated))
    facts += [words for words in [progress_words(step.get("progress"))] if words]
    facts += in_short(step)
    cause = step["failure"] if not step["attempts"] else None
    if cause:
        words = f"because of {cause['cause']}" if "cause" in cause else failure_words(cause)
        facts.append(one_line(words, _MAX_FAILURE))
    if step.get("on_failure"):
        facts.append(instead(step["on_failure"]).strip(" ()"))
    return ", ".join(facts)


def _outcome(attempt: Body) -> Text:
    outcome: str = attempt["outcome"]
    if outcome in ("running", "accepted") and attempt.get("waiting"):
        return Text(waiting_words(attempt["waiting"], child=attempt.get("child")), style="bold cyan")
    return Text(_OUTCOMES.get(outcome, outcome), style=_OUTCOME_STYLES.get(outcome, ""))


def _particulars(attempt: Body) -> str:
    """Returns notes on an attempt: its end by callback, its child, its changed inputs."""
    ended = attempt["outcome"] not in ("running", "accepted")
    child = f" (child execution {attempt['child']})" if attempt.get("child") and ended else ""
    return f"{called_back(attempt)}{child}{vary_words(attempt.get('vary'))}"


def _then(attempt: Body, work: Body) -> Text:
    """Describes the decision on an attempt."""
    if attempt["verdict"] == "hold":
        return Text(f"held: {why_held(attempt['rule'])}", style="magenta")
    if attempt["delay_seconds"] is not None:
        words = "again in" if attempt["outcome"] == "polled" else "retry in"
        return Text(f"{words} {duration(attempt['delay_seconds'])}", style="yellow")
    verdict = attempt["verdict"] or ""
    why = why_not(attempt["rule"], work["max_attempts"]) if verdict == "fail" else ""
    words = f"{_VERDICTS.get(verdict, verdict)}{f': {why}' if why else ''}"
    return Text(words, style="red" if verdict == "fail" else "dim")


def _next(work: Body, execution: Body, step: str, where: TargetFlags) -> Text:
    """Describes what comes next, and what a person can do."""
    waiting = work.get("waiting")
    if execution["finished_at"]:
        return Text()
    if not waiting:
        return _until_next(work, execution)
    how = how_to_answer(waiting, execution["id"], step, work.get("item", waiting.get("item")), where)
    if waiting["for"] == "sleep" and waiting.get("until"):
        left = seconds_between(execution["now"], waiting["until"])
        how = f"awake in {duration(left)}" if left > 0 else "about to wake"
    elif waiting["for"] == "child":
        how = _child(work)
    return Text(printable(how), style="yellow")


def _child(work: Body) -> str:
    running = next((one for one in reversed(work.get("children") or ()) if one["status"] in ("running", "paused")), None)  # fmt: skip
    return f"child execution {running['id']} is {running['status']}" if running else ""


def _until_next(work: Body, execution: Body) -> Text:
    if work["status"] != "retrying" or not work.get("available_at"):
        return Text()
    left = seconds_between(execution["now"], work["available_at"])
    return Text(f"next attempt in {duration(left)}" if left > 0 else "next attempt is due", style="yellow")
