"""Diagnoses an execution, or one of its steps: one sentence with the true cause, then the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tenax.model.diagnosis import Diagnosis, Door, DoorName, Remedy
from tenax.model.durations import format_duration
from tenax.model.execution_views import Execution, Step
from tenax.policy.diagnosis.compensations import compensation_words, diagnose_compensations
from tenax.policy.diagnosis.failures import why_ended, why_failed
from tenax.policy.diagnosis.steps import OVER, closed_doors
from tenax.policy.diagnosis.words import for_time, in_time, seconds_until

_RANK: Sequence[DoorName] = (
    "hold", "worker", "limit", "approval", "signal", "child", "callback", "due", "sleep", "slot", "needs",
)  # fmt: skip
"""Doors in the order in which they explain an execution: first those that open only if a person does something."""

Decision = Mapping[str, Any]


class Pause(NamedTuple):
    """Says who paused an execution and why, and whether its workflow is paused."""

    words: str
    of_workflow: bool = False


def diagnose_execution(
    execution: Execution, decisions: Mapping[str, Decision], pause: Pause | None = None
) -> Diagnosis:
    """Diagnoses an execution. `decisions` has the last decision on each failed step. `pause` says who paused the execution, and
    why."""
    about = f"execution {execution.id}"
    evidence = list(_evidence(execution))
    match execution.status:
        case "completed":
            took = format_duration(seconds_until(str(execution.finished_at), execution.created_at))
            return Diagnosis(
                about=about, sentence=f"Execution {execution.id} completed in {took}.", evidence=evidence
            )
        case "failed" | "cancelled":
            return _ended(execution, decisions, evidence)
        case _:
            return _open(execution, pause, evidence)


def diagnose_step(
    execution: Execution, name: str, decisions: Mapping[str, Decision], pause: Pause | None = None
) -> Diagnosis:
    """Diagnoses one step of an execution."""
    step = execution.steps[name]
    about = f"step {name} of execution {execution.id}"
    if step.status in OVER:
        return replace(_step_over(execution, name, step, decisions.get(name)), about=about)
    doors = [*_pause(execution, pause), *closed_doors(execution, name)]
    if step.status == "pending" and doors and doors[-1].door == "needs":
        return replace(_behind(execution, name, doors, decisions, pause), about=about)
    evidence = list(_attempts(name, step))
    if doors:
        return _at_door(about, f"Step {name}", doors, execution, evidence)
    return Diagnosis(about=about, sentence=f"{_going_on(execution, name, step)}.", evidence=evidence)


def _behind(
    execution: Execution,
    name: str,
    doors: Sequence[Door],
    decisions: Mapping[str, Decision],
    pause: Pause | None,
) -> Diagnosis:
    """Diagnoses a step that has not begun. The cause is what the steps before it wait for."""
    needs = [need for need in execution.steps[name].needs if execution.steps[need].status not in OVER]
    if not needs:
        return Diagnosis(about="", sentence=f"Step {name} has not begun.", doors=list(doors))
    before = diagnose_step(execution, needs[0], decisions, pause)
    sentence = f"Step {name} has not begun, because it needs step {needs[0]}. {before.sentence}"
    return Diagnosis(
        about="",
        sentence=sentence,
        doors=[*doors, *before.doors],
        next=before.next,
        remedies=before.remedies,
        evidence=before.evidence,
    )


def _open(execution: Execution, pause: Pause | None, evidence: list[str]) -> Diagnosis:
    about = f"execution {execution.id}"
    doors = list(_pause(execution, pause))
    for name in execution.steps:
        doors += closed_doors(execution, name)
    undoing = diagnose_compensations(execution, evidence)
    if undoing is not None and execution.status != "paused":
        return undoing
    telling = sorted((door for door in doors if door.door not in ("needs", "slot", "pause")), key=_rank)
    first = [door for door in doors if door.door == "pause"] or telling
    if first:
        others = [door for door in doors if door is not first[0]]
        subject = first[0].subject
        title = f"{subject[:1].upper()}{subject[1:]}"
        return _at_door(about, title, [first[0], *others], execution, evidence)
    for name, step in execution.steps.items():
        if step.status in ("running", "queued"):
            sentence = f"Execution {execution.id} goes on: {_lower(_going_on(execution, name, step))}."
            return Diagnosis(about=about, sentence=sentence, doors=doors, evidence=evidence)
    sentence = f"Execution {execution.id} is open, and none of its steps waits for anything: the next sweep looks at it."
    return Diagnosis(about=about, sentence=sentence, doors=doors, evidence=evidence)


def _rank(door: Door) -> int:
    return _RANK.index(door.door) if door.door in _RANK else len(_RANK)


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _pause(execution: Execution, pause: Pause | None) -> Iterator[Door]:
    if execution.status != "paused":
        return
    by = f" ({pause.words})" if pause is not None else ""
    whole = [
        Remedy(words="let its whole workflow go on", command=["workflows", "resume", execution.workflow])
    ]
    yield Door(
        door="pause",
        subject=f"execution {execution.id}",
        reason=f"it is paused{by}, so nothing of it starts",
        remedies=[
            *(whole if pause is not None and pause.of_workflow else []),
            Remedy(words="let it go on", command=["resume", str(execution.id)]),
        ],
    )


def _at_door(
    about: str, title: str, doors: Sequence[Door], execution: Execution, evidence: list[str]
) -> Diagnosis:
    """Names the first door in the sentence."""
    first = doors[0]
    following = (
        f"It goes on {in_time(first.opens_at, execution.now)}." if first.opens_at is not None else None
    )
    return Diagnosis(
        about=about,
        sentence=f"{title} does not run now: {first.reason}.",
        doors=list(doors),
        next=following,
        remedies=first.remedies,
        evidence=evidence,
    )


def _going_on(execution: Execution, name: str, step: Step) -> str:
    """Describes what a step does if nothing keeps it from running."""
    last = step.attempts[-1] if step.attempts else None
    if step.items is not None:
        items = step.items
        done = items.get("succeeded", 0) + items.get("failed", 0)
        return (
            f"Step {name} has ended {done:,} of {items['total']:,} items, and {items.get('running', 0):,} run"
        )
    if (
        step.status == "running"
        and last is not None
        and last.worker is not None
        and last.started_at is not None
    ):
        return f"Step {name} runs: attempt {last.attempt} on worker {last.worker} {for_time(last.started_at, execution.now)}"
    if step.status == "queued":
        return f"Step {name} is ready, and waits for a free slot of a worker"
    return f"Step {name} is {step.status}"


# -- after the end


def _ended(execution: Execution, decisions: Mapping[str, Decision], evidence: list[str]) -> Diagnosis:
    about, failure = f"execution {execution.id}", execution.failure or {}
    if execution.status == "cancelled":
        message = str(failure.get("message") or "on request")
        anew = Remedy(words="run it again as a new execution", command=["retry", str(execution.id), "--new"])
        return Diagnosis(
            about=about,
            sentence=f"Execution {execution.id} was cancelled: {message}.",
            remedies=[anew],
            evidence=evidence,
        )
    name = failure.get("step")
    if name is None or name not in execution.steps:
        ended = why_ended(execution, failure)
        return Diagnosis(
            about=about,
            sentence=f"Execution {execution.id} failed{ended.cause}.",
            remedies=ended.remedies,
            evidence=evidence,
        )
    failed = why_failed(execution, name, failure, decisions.get(name), attempt=_begun(execution.steps[name]))
    return Diagnosis(
        about=about,
        sentence=f"Execution {execution.id} failed because step {name} failed{failed.cause}.",
        remedies=failed.remedies,
        evidence=evidence,
    )


def _begun(step: Step) -> int:
    """Returns the number of the last attempt, or another one than 0 if items of a fan-out have begun."""
    return step.attempt or sum((step.items or {}).values())


def _step_over(execution: Execution, name: str, step: Step, decision: Decision | None) -> Diagnosis:
    evidence = list(_attempts(name, step))
    match step.status:
        case "completed":
            tries = f"at attempt {step.attempt}" if step.attempt else "without an attempt"
            undone = (
                f" Its compensation {compensation_words(execution, step.compensation)}."
                if step.compensation is not None
                else ""
            )
            return Diagnosis(about="", sentence=f"Step {name} completed {tries}.{undone}", evidence=evidence)
        case "skipped":
            sentence = f"Step {name} was skipped: its `when` was false, or the step that it stands in for did not fail."
            return Diagnosis(about="", sentence=sentence)
        case "unreachable":
            cause = (step.failure or {}).get("cause")
            sentence = f"Step {name} cannot run, because step {cause}, which it needs, has failed."
            see = Remedy(words="see why", command=["explain", str(execution.id), "--step", str(cause)])
            return Diagnosis(about="", sentence=sentence, remedies=[see])
        case "cancelled":
            sentence = f"Step {name} was cancelled with its execution before it was done."
            return Diagnosis(about="", sentence=sentence, evidence=evidence)
        case _:
            failed = why_failed(execution, name, step.failure or {}, decision, attempt=_begun(step))
            stand_in = (
                f" Its `on_failure` is {step.on_failure}, so the execution goes on."
                if step.on_failure
                else ""
            )
            sentence = f"Step {name} failed{failed.cause}.{stand_in}"
            return Diagnosis(about="", sentence=sentence, remedies=failed.remedies, evidence=evidence)


# -- evidence


def _evidence(execution: Execution) -> Iterator[str]:
    counts: dict[str, int] = {}
    for step in execution.steps.values():
        counts[step.status] = counts.get(step.status, 0) + 1
    yield f"steps: {', '.join(f'{count} {status}' for status, count in counts.items())}"
    if execution.deadline_at is not None and execution.finished_at is None:
        yield f"deadline: it fails {in_time(execution.deadline_at, execution.now)}"
    for name, step in execution.steps.items():
        if step.attempt > 1 or step.status in ("running", "queued", "retrying", "held"):
            yield from _attempts(name, step)


def _attempts(name: str, step: Step) -> Iterator[str]:
    if not step.attempt:
        return
    limit = "no limit" if step.max_attempts is None else f"the limit is {step.max_attempts}"
    yield f"step {name} is {step.status}: {step.counted} counted of {step.attempt} attempts; {limit}"
