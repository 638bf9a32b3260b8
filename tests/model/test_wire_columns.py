"""Tests that similar assignments and reports are sent together, and come out one by one unchanged."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.wire import Assignment, Report, ReportAnswer, ReportAnswers, Reports
from tenax.model.wire_columns import (
    check_lengths,
    gather_answers,
    gather_assignments,
    gather_reports,
    spread_assignments,
    spread_reports,
)

SPEC: dict[str, Any] = {"task": "t"}
FIRST = Assignment(1, 11, 1, "t1", "a", "python", SPEC, 5.0, "r1", "w", 3)
NEXT = replace(FIRST, execution_id=2, item_id=12, attempt=2, token="t2", receipt="r2")
DONE = Report(1, 11, 1, "t1", Outcome("succeeded"), "a")
DONE_TOO = Report(2, 12, 2, "t2", Outcome("succeeded"), "a")


def test_assignments_of_one_step_are_one_group() -> None:
    [group] = gather_assignments([FIRST, NEXT])
    assert (group.step, group.spec, group.item_id, group.token) == ("a", [SPEC], [11, 12], ["t1", "t2"])
    assert (group.item, group.callback) == (None, None), "nothing is said of what none of them has"
    assert spread_assignments([group]) == [FIRST, NEXT]


@pytest.mark.parametrize(
    "change",
    [
        {"step": "b"},
        {"runtime": "http"},
        {"timeout": 6.0},
        {"workflow": "v"},
        {"max_attempts": None},
        {"base_dir": "/x"},
        {"dependency": "d"},
        {"secrets": ((("args",), ({"secret": "K"},)),)},
        {"compensates": True},
        {"is_retry": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_differs_is_not_alike(change: dict[str, Any]) -> None:
    other = replace(NEXT, **change)
    groups = gather_assignments([FIRST, other, FIRST])
    assert len(groups) == 2
    assert spread_assignments(groups) == [FIRST, FIRST, other]


def test_specs_that_are_not_one_stay_with_their_own() -> None:
    """An equal one is not the same: only what is one object here may be one in the worker, whose code might change it."""
    given = [FIRST, replace(NEXT, spec=dict(SPEC)), replace(FIRST, spec={"task": "u"})]
    [group] = gather_assignments(given)
    assert group.spec == [{"task": "t"}, {"task": "t"}, {"task": "u"}]
    assert spread_assignments([group]) == given


def test_items_and_callbacks_stay_with_their_own() -> None:
    given = [replace(FIRST, item=0, callback="u"), NEXT, replace(NEXT, item=7)]
    groups = gather_assignments(given)
    assert [(group.item, group.callback) for group in groups] == [([0, None, 7], ["u", None, None])]
    assert spread_assignments(groups) == given


def test_an_assignment_keeps_every_field() -> None:
    """Fields go by place, so each has a value of its own."""
    secrets = ((("args",), ({"secret": "K"},)),)
    odd = Assignment(
        1, 2, 3, "token", "step", "http", {"url": "x"}, 4.0, "receipt", "workflow", 5, "dir", "dep", secrets, 6, "back", True, True
    )  # fmt: skip
    assert spread_assignments(gather_assignments([odd])) == [odd]


def test_plain_successes_of_one_step_are_one_group() -> None:
    [group] = gather_reports([DONE, DONE_TOO])
    assert (group.outcome, group.step, group.token) == ([Outcome("succeeded")], "a", ["t1", "t2"])
    assert (group.result, group.item) == (None, None)
    assert spread_reports([group]) == [DONE, DONE_TOO]


@pytest.mark.parametrize("results", [(1, None), (None, {"x": [0]}), (False, 0)])
def test_results_stay_with_their_own(results: tuple[Any, Any]) -> None:
    one, two = [Outcome("succeeded", result) for result in results]
    given = [replace(DONE, outcome=one, item=4), replace(DONE_TOO, outcome=two)]
    [group] = gather_reports(given)
    assert (group.result, group.item) == (list(results), [4, None])
    assert spread_reports([group]) == given


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("failed", "r", Facts(message="no"), 3.0, Usage(1.0, 2)),
        Outcome("succeeded", usage=Usage(tokens=5)),
        Outcome("snoozed", after=1.0),
        Outcome("accepted", {"status_code": 202}),
    ],
)
def test_any_other_outcome_stays_with_its_own(outcome: Outcome) -> None:
    failed = replace(DONE_TOO, token="t3", outcome=Outcome("failed", facts=Facts(message="other")))
    given = [replace(DONE_TOO, outcome=outcome), failed]
    groups = gather_reports([DONE, *given, DONE])
    assert [group.token for group in groups] == [["t1", "t1"], ["t2", "t3"]]
    assert spread_reports(groups) == [DONE, DONE, *given]
    assert spread_reports(gather_reports(given[:1])) == given[:1]


def test_reports_of_different_steps_are_not_alike() -> None:
    other = replace(DONE_TOO, step="b")
    assert spread_reports(gather_reports([DONE, other, DONE])) == [DONE, DONE, other]


def test_a_result_that_all_share_may_be_said_once() -> None:
    group = Reports([Outcome("succeeded", 5)], [1, 2], [3, 4], [1, 1], ["x", "y"])
    assert [report.outcome.result for report in spread_reports([group])] == [5, 5]


def test_the_same_answer_is_given_once() -> None:
    answers = [ReportAnswer(1, "applied", "complete"), ReportAnswer(2, "late"), ReportAnswer(3, "applied", "complete")]  # fmt: skip
    assert gather_answers(answers) == [ReportAnswers([1, 3], "applied", "complete"), ReportAnswers([2], "late")]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [{"item": [1]}, {"result": []}, {"attempt": [1, 2, 3]}, {"outcome": []}, {"outcome": [DONE.outcome] * 3}],
)
def test_lists_of_different_lengths_are_refused(change: dict[str, Any]) -> None:
    [group] = gather_reports([DONE, DONE_TOO])
    assert check_lengths(group) is group
    with pytest.raises(ValueError, match=f"{next(iter(change))} has . entries, and token has 2"):
        check_lengths(replace(group, **change))
