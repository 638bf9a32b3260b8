"""The declarations of the event types, and the check of stored events against them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenax.model.attempt.outcome import Facts
from tenax.model.events import ATTEMPT_ENDS, EVENT_TYPES, check_event, event
from tenax.model.events.data import CompletedData, StartedData
from tenax.model.events.parts import FailureRecord, RetryCount
from tenax.model.events.types import TYPES, ActionCompleted, ActionStarted, StepEnqueued
from tenax.model.json_text import decode, encode

RETRY = RetryCount(attempt=1, max_attempts=None, is_retry=False)
STARTED = decode(encode(event(ActionStarted, "a", attempt=1, data=StartedData(worker="w1", retry=RETRY))))
DECISION = {"verdict": "retry", "rule": "default", "version": 4}
FAILURE = {"class": "transient", "reason": "http_503", "message": "503", "status_code": 503}


def changed(body: dict[str, Any], *path: str, **changes: Any) -> dict[str, Any]:
    """Returns the event with other values at a place; a value `...` removes its key."""
    if path:
        return {**body, path[0]: changed(body[path[0]], *path[1:], **changes)}
    return {name: value for name, value in {**body, **changes}.items() if value is not ...}


def test_a_good_event_conforms():
    assert check_event(STARTED) is None
    assert check_event(event(StepEnqueued, "a")) is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (changed(STARTED, "data", worker=...), "missing required field `worker` - at `$.data`"),
        (changed(STARTED, "data", "retry", is_retry=...), "missing required field `is_retry` - at `$.data.retry`"),
        (changed(STARTED, attempt=...), "missing required field `attempt`"),
        (changed(STARTED, step=...), "missing required field `step`"),
        (changed(STARTED, data=...), "missing required field `data`"),
        (changed(STARTED, "data", wroker="w1"), "unknown field `wroker` - at `$.data`"),
        (changed(STARTED, "data", "retry", more=1), "unknown field `more` - at `$.data.retry`"),
        (changed(STARTED, where="here"), "unknown field `where`"),
        (changed(event(StepEnqueued, "a"), attempt=1), "unknown field `attempt`"),
        (changed(STARTED, "data", worker=7), "Expected `str | null`, got `int` - at `$.data.worker`"),
        (changed(STARTED, "data", "retry", is_retry=1), "got `int` - at `$.data.retry.is_retry`"),
        (changed(STARTED, attempt="1"), "Expected `int`, got `str` - at `$.attempt`"),
        (changed(STARTED, "data", waiting={"for": "nobody"}), "Invalid enum value 'nobody'"),
        (changed(STARTED, "data", waiting={"for": "sleep", "until": "soon"}), "Invalid RFC3339"),
        (changed(STARTED, type="action_begun"), "no event type 'action_begun'"),
        ({"step": "a"}, "no event type None"),
        ({"type": "budget_exceeded"}, "required field `data`"),
    ],
)  # fmt: skip
def test_a_damaged_event_is_found(body, words):
    assert words in (check_event(body) or "")


def test_what_earlier_versions_wrote_conforms():
    old = [
        changed(STARTED, item=None),
        {"type": "step_failed_terminal", "step": "a", "data": {"failure": FAILURE, "attempts": 0}},
        {
            "type": "step_retry_exhausted",
            "step": "a",
            "attempt": 3,
            "data": {"attempts": 3, "max_attempts": 3, "final_error": "no"},
        },
        {
            "type": "action_snoozed",
            "step": "a",
            "attempt": 9,
            "token": "17:00000000-0000-0000-0000-000000000000",
            "data": {"error": "no", "failure": FAILURE, "seconds": 1, "worker": "w1"},
        },
        {"type": "late_result", "attempt": 1, "token": "t", "data": {"status": "succeeded", "result": None}},
        {
            "type": "retry_held",
            "step": "a",
            "attempt": 1,
            "data": {
                "attempt": 1,
                "max_attempts": 3,
                "delay_seconds": 0.0,
                "available_at": "2026-01-01T00:00:00+00:00",
                "last_error": None,
                "decision": {**DECISION, "version": 1, "exhausted": False, "delay": None, "matched_rule": None},
            },
        },
    ]  # fmt: skip
    assert [check_event(body) for body in old] == [None] * len(old)


def test_a_failure_has_every_fact_that_a_worker_can_report():
    facts = set(Facts.__struct_fields__) - {"message", "failure_class", "reason"}
    stored = {field.encode_name for field in msgspec.structs.fields(FailureRecord)}
    assert stored - {"class", "reason", "message", "attempts", "step"} == facts


def test_the_sets_of_types_are_made_from_the_declarations():
    assert set(EVENT_TYPES) == set(TYPES)
    assert {"action_error", "lease_expired", "queue_expired"} < ATTEMPT_ENDS
    assert all(kind.when for kind in TYPES.values())


def test_an_event_that_jsonb_cannot_hold_is_stored_all_the_same():
    """A lone surrogate in a result must not change the rest of the event: the short decision stays what it is."""
    data = CompletedData(result={"x": "\ud800"}, seconds=1.0, decision=msgspec.Raw(b'{"verdict":"complete"}'))
    stored = decode(encode(event(ActionCompleted, "a", attempt=1, data=data)))
    assert stored["data"] == {"result": {"x": "?"}, "seconds": 1.0, "decision": {"verdict": "complete"}}
