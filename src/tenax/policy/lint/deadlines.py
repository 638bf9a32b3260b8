"""Looks at times that contradict each other: timeouts, deadlines and waits."""

from __future__ import annotations

from collections.abc import Iterator

from tenax.model.durations import format_duration
from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintSubject


@rule(
    "TX301",
    "warning",
    "`give_up_after` beyond the deadline",
    why="The execution fails at its `deadline`, so a step never tries for longer.",
    remedy="lower `give_up_after`, or raise `deadline`",
    wrong="name: example\ndeadline: 1h\nworkflow:\n  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 9, give_up_after: 2h}}",
    right="name: example\ndeadline: 3h\nworkflow:\n  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 9, give_up_after: 2h}}",
)
def given_up_too_late(subject: LintSubject) -> Iterator[Fault]:
    deadline = subject.workflow.deadline
    for one in subject.steps:
        limit = one.policy.give_up_after
        if deadline is not None and limit is not None and "give_up_after" in one.given and limit > deadline:
            yield (
                one.policy_path("give_up_after"),
                f"{one.name} gives up after {format_duration(limit)}, but the execution fails after {format_duration(deadline)}",
            )


@rule(
    "TX302",
    "warning",
    "a timeout beyond the deadline",
    why="The execution fails at its `deadline`, so an attempt never runs for as long as its `timeout` allows.",
    remedy="lower `timeout`, or raise `deadline`",
    wrong="name: example\ndeadline: 5m\nworkflow:\n  - {step: load, type: http, url: 'http://a.test', timeout: 10m}",
    right="name: example\ndeadline: 30m\nworkflow:\n  - {step: load, type: http, url: 'http://a.test', timeout: 10m}",
)
def timeout_beyond_deadline(subject: LintSubject) -> Iterator[Fault]:
    deadline = subject.workflow.deadline
    for one in subject.steps:
        timeout = one.step.timeout
        if (
            deadline is not None
            and timeout is not None
            and timeout > deadline
            and _gives_timeout(subject, one.path)
        ):
            yield (
                _timeout_path(subject, one.path),
                f"an attempt of {one.name} may take {format_duration(timeout)}, but the execution fails after {format_duration(deadline)}",
            )


@rule(
    "TX303",
    "warning",
    "a timeout beyond `give_up_after`",
    why="An attempt that uses its `timeout` leaves no time for a retry.",
    remedy="lower `timeout`, or raise `give_up_after`",
    wrong="  - {step: load, type: http, url: 'http://a.test', timeout: 10m, retry: {max_attempts: 3, give_up_after: 5m}}",
    right="  - {step: load, type: http, url: 'http://a.test', timeout: 1m, retry: {max_attempts: 3, give_up_after: 5m}}",
)
def timeout_beyond_giving_up(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        timeout, limit = one.step.timeout, one.policy.give_up_after
        if one.is_retried and timeout is not None and limit is not None and timeout >= limit:
            yield (
                _timeout_path(subject, one.path)
                if _gives_timeout(subject, one.path)
                else one.policy_path("give_up_after"),
                f"an attempt of {one.name} may take {format_duration(timeout)}, and no retry follows after {format_duration(limit)}",
            )


@rule(
    "TX304",
    "warning",
    "`queue_ttl` beyond the deadline",
    why="The execution fails at its `deadline`, before an item that waits for a worker can be too old.",
    remedy="lower `queue_ttl`, or raise `deadline`",
    wrong="name: example\ndeadline: 5m\nworkflow:\n  - {step: load, type: http, url: 'http://a.test', timeout: 1m, queue_ttl: 1h}",
    right="name: example\ndeadline: 5m\nworkflow:\n  - {step: load, type: http, url: 'http://a.test', timeout: 1m, queue_ttl: 2m}",
)
def queue_beyond_deadline(subject: LintSubject) -> Iterator[Fault]:
    deadline = subject.workflow.deadline
    for one in subject.steps:
        limit = one.step.queue_ttl
        if deadline is not None and limit is not None and limit > deadline:
            yield (
                one.at("queue_ttl"),
                f"{one.name} may wait {format_duration(limit)} for a worker, but the execution fails after {format_duration(deadline)}",
            )


@rule(
    "TX305",
    "warning",
    "polls beyond their deadline",
    why="`until` gives up at its `deadline`, so further polls never happen.",
    remedy="raise the `deadline` of `until`, or lower `max_polls`",
    wrong="  - {step: wait, type: http, url: 'http://a.test', until: {condition: 'result.done', delay: 1m, max_polls: 100, deadline: 10m}}",
    right="  - {step: wait, type: http, url: 'http://a.test', until: {condition: 'result.done', delay: 1m, deadline: 10m}}",
)
def polls_beyond_deadline(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        until = one.step.until
        if until is None or until.deadline is None or until.max_polls is None:
            continue
        given = subject.raw_step(one).get("until")
        if (
            isinstance(given, dict)
            and "max_polls" in given
            and until.delay * until.max_polls > until.deadline
        ):
            yield (
                one.at("until", "max_polls"),
                f"{one.name} polls at most {until.max_polls} times, but gives up after {int(until.deadline // until.delay) if until.delay else 0}",
            )


@rule(
    "TX306",
    "warning",
    "a wait without an end",
    why="If the signal never comes, the execution stays open for ever, and nobody is told.",
    remedy="set `deadline` for the step or for the workflow",
    wrong="  - {step: paid, type: wait, signal: payment}",
    right="  - {step: paid, type: wait, signal: payment, deadline: 7d}",
)
def endless_wait(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if (
            one.step.type == "wait"
            and subject.workflow.deadline is None
            and one.step.spec.get("deadline") is None
        ):
            yield one.path, f"{one.name} waits for ever if its signal does not come"


def _gives_timeout(subject: LintSubject, path: tuple[str | int, ...]) -> bool:
    return _timeout_path(subject, path) is not path


def _timeout_path(subject: LintSubject, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Returns the path of the timeout that the file gives the step, or the step's own path if it gives none."""
    if "timeout" in (subject.source.value(path) or {}):
        return (*path, "timeout")
    defaults = subject.raw.get("defaults")
    return ("defaults", "timeout") if isinstance(defaults, dict) and "timeout" in defaults else path
