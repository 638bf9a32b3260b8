"""Gathers similar assignments and reports for HTTP, and spreads them again at the other end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, Literal, TypeVar

from tenax.model.attempt.outcome import Outcome
from tenax.model.wire import Assignment, Assignments, Report, ReportAnswer, ReportAnswers, Reports

Alike = TypeVar("Alike", Assignments, Reports)
T = TypeVar("T")

_SHARED = attrgetter(
    "step", "runtime", "timeout", "workflow", "max_attempts",
    "base_dir", "dependency", "compensates", "is_retry",
)  # fmt: skip
_ONE_MAY_DO = {"spec", "outcome"}
_PLAIN = Outcome("succeeded")
_Answered = tuple[Literal["applied", "late"], str | None]


def gather_assignments(assignments: Iterable[Assignment]) -> list[Assignments]:
    alike: dict[tuple[object, ...], list[Assignment]] = defaultdict(list)
    for one in assignments:
        alike[_SHARED(one), repr(one.secrets) if one.secrets else ""].append(one)
    return [_assignments(group) for group in alike.values()]


def _assignments(group: Sequence[Assignment]) -> Assignments:
    first = group[0]
    return Assignments(
        first.step,
        first.runtime,
        _specs(group),
        first.timeout,
        first.workflow,
        first.max_attempts,
        [one.execution_id for one in group],
        [one.item_id for one in group],
        [one.attempt for one in group],
        [one.token for one in group],
        [one.receipt for one in group],
        first.base_dir,
        first.dependency,
        first.secrets,
        _column([one.item for one in group]),
        _column([one.callback for one in group]),
        first.compensates,
        first.is_retry,
        _column([one.checkpoint for one in group]),
    )


def _specs(group: Sequence[Assignment]) -> list[dict[str, Any]]:
    """Returns one spec if all assignments share the same object, since the other end will share it too. Else returns all specs."""
    spec = group[0].spec
    return [spec] if all(one.spec is spec for one in group) else [one.spec for one in group]


def spread_assignments(groups: Iterable[Assignments]) -> list[Assignment]:
    assignments: list[Assignment] = []
    for group in groups:
        assignments += map(
            Assignment,
            group.execution_id,
            group.item_id,
            group.attempt,
            group.token,
            repeat(group.step),
            repeat(group.runtime),
            _each(group.spec),
            repeat(group.timeout),
            group.receipt,
            repeat(group.workflow),
            repeat(group.max_attempts),
            repeat(group.base_dir),
            repeat(group.dependency),
            repeat(group.secrets),
            group.item or repeat(None),
            group.callback or repeat(None),
            repeat(group.compensates),
            repeat(group.is_retry),
            group.checkpoint or repeat(None),
        )
    return assignments


def gather_reports(reports: Iterable[Report]) -> list[Reports]:
    """Gathers the reports of each step. Plain successes are gathered apart, since they share one outcome."""
    alike: dict[tuple[str | None, bool], list[Report]] = defaultdict(list)
    for report in reports:
        alike[report.step, _is_plain_but_for_its_result(report.outcome)].append(report)
    return [_reports(group, plain=plain) for (_, plain), group in alike.items()]


def _is_plain_but_for_its_result(outcome: Outcome) -> bool:
    return (
        outcome.status == "succeeded"
        and outcome.facts is None
        and outcome.after is None
        and outcome.usage is None
    )


def is_plain(outcome: Outcome) -> bool:
    """Returns whether an outcome says only that the attempt succeeded, without a result."""
    return outcome.result is None and _is_plain_but_for_its_result(outcome)


def _reports(group: Sequence[Report], *, plain: bool) -> Reports:
    return Reports(
        [_PLAIN] if plain else [report.outcome for report in group],
        [report.execution_id for report in group],
        [report.item_id for report in group],
        [report.attempt for report in group],
        [report.token for report in group],
        group[0].step,
        _column([report.item for report in group]),
        _column([report.outcome.result for report in group]) if plain else None,
    )


def spread_reports(groups: Iterable[Reports]) -> list[Report]:
    reports: list[Report] = []
    for group in groups:
        reports += map(
            Report,
            group.execution_id,
            group.item_id,
            group.attempt,
            group.token,
            _outcomes(group),
            repeat(group.step),
            group.item or repeat(None),
        )
    return reports


def _outcomes(group: Reports) -> Iterable[Outcome]:
    """Returns the outcome of each report. Reports may share one outcome, which is immutable."""
    outcomes = _each(group.outcome)
    if group.result is None:
        return outcomes
    pairs = zip(outcomes, group.result, strict=False)
    return [
        Outcome(one.status, result, one.facts, one.after, one.usage, one.recorded) for one, result in pairs
    ]


def gather_answers(answers: Iterable[ReportAnswer]) -> list[ReportAnswers]:
    alike: dict[_Answered, list[int]] = defaultdict(list)
    for answer in answers:
        alike[answer.status, answer.verdict].append(answer.item_id)
    return [ReportAnswers(items, *said) for said, items in alike.items()]


def check_lengths(group: Alike) -> Alike:
    """Raises ValueError if a list has not one entry for each message."""
    count = len(group.token)
    for name in type(group).__match_args__:
        column = getattr(group, name)
        if (
            isinstance(column, list)
            and len(column) != count
            and not (len(column) == 1 and name in _ONE_MAY_DO)
        ):
            raise ValueError(f"{name} has {len(column)} entries, and token has {count}")
    return group


def _each(values: Sequence[T]) -> Iterable[T]:
    """Yields each value, or a single value again and again."""
    return repeat(values[0]) if len(values) == 1 else values


def _column(values: list[T]) -> list[T] | None:
    """Returns the values, or None if all of them are None. None is not sent."""
    return values if any(value is not None for value in values) else None
