"""Tests the forms of actions, the log and the decisions over HTTP: what they do, and what they say when they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from support.browse.worker_by_hand import WorkerByHand

WORK = """
name: work
workflow:
  - {step: a, type: python, task: "t:t", retry: {max_attempts: 3, initial_delay: 1h, max_delay: 1h, jitter: 0}}
  - {step: b, type: wait, signal: paid}
"""


@pytest.fixture
def http(tokens) -> Iterator[httpx2.Client]:
    """Is an operator's client of a closed server."""
    server, secrets = tokens
    with server.http(secrets["operator"]) as client:
        yield client


@pytest.fixture
def worker(tokens) -> Iterator[WorkerByHand]:
    server, secrets = tokens
    with server.http(secrets["worker"]) as client:
        yield WorkerByHand(client)


@pytest.fixture
def execution(http, worker) -> int:
    """Has a step that waits for a retry, and one that waits for a signal."""
    number = int(http.post("/v1/executions", json={"source": WORK}).json()["id"])
    worker.fail("connection reset by peer")
    return number


def send(http: httpx2.Client, execution: int, action: str, **fields: Any) -> httpx2.Response:
    place = {name: fields.pop(name) for name in ("step", "item") if name in fields}
    return http.post(
        f"/executions/{execution}/actions/{action}", params=place, data={"reason": "why", **fields}
    )


@pytest.mark.parametrize(
    ("action", "fields", "said"),
    [
        ("retry", {}, "1 item of step a runs now."),
        ("retry", {"step": "a"}, "1 item of step a runs now."),
        ("reset", {"step": "a"}, "1 item of step a starts anew."),
        ("resolve", {"step": "a"}, "1 item of step a is done by hand."),
        ("complete", {"step": "a", "result": '{"n": 1}'}, "1 item of step a is complete."),
        ("fail", {"step": "a"}, "1 item of step a has failed."),
        ("reschedule", {"policy": "initial_delay: 10s\njitter: 0"}, "1 item of step a waits by the new policy."),
        ("reschedule", {"policy": '{"initial_delay": "10s"}'}, "1 item of step a waits by the new policy."),
        ("pause", {}, "is paused."),
        ("cancel", {}, "is cancelled."),
        ("signal", {"name": "paid", "data": "3"}, "The signal paid was delivered to step b of execution"),
        ("signal", {"name": "sent"}, "No step of the workflow waits for a signal of this name. Its signals: paid."),
    ],
)  # fmt: skip
def test_an_action_says_what_it_has_done(http, execution, action, fields, said):
    answer = send(http, execution, action, **fields)
    assert (answer.status_code, said in answer.text) == (200, True), answer.text
    told = http.get(f"/v1/executions/{execution}/events").json()
    acted = [one["data"] for one in told if one["type"] in ("operator_action", "signal_received")]
    assert acted[0]["actor"] == "a-operator"
    assert acted[0]["reason"] == "why"


def test_a_failed_execution_is_reopened(http, worker, execution):
    send(http, execution, "fail", step="a")
    send(http, execution, "signal", name="paid")
    answer = send(http, execution, "retry")
    assert f"1 item of step a runs now, execution {execution} reopened." in answer.text


@pytest.mark.parametrize(
    ("action", "fields", "status", "said"),
    [
        ("retry", {"reason": " "}, 400, "a reason is missing"),
        ("complete", {"step": "a", "result": "{"}, 400, "the result: not valid JSON"),
        ("complete", {"step": "a"}, 400, "the result is missing"),
        ("reschedule", {"policy": "initial_dely: 10s"}, 422, "did you mean `initial_delay`?"),
        ("reschedule", {"policy": "- 1"}, 400, "is not a mapping of fields"),
        ("reschedule", {"policy": "x" * 20_000}, 400, "is longer than 16,000 characters"),
        ("resume", {"step": "a"}, 400, "is for whole executions"),
        ("approve", {}, 400, "name the step in the address"),
        ("approve", {"step": "b"}, 409, "waits for a signal, not for approval"),
        ("reschedule", {"step": "b", "policy": "jitter: 0"}, 409, "legal now: resolve, complete or fail"),
        ("signal", {"name": "paid", "data": "nope"}, 400, "the data: not valid JSON"),
        ("signal", {"name": "paid", "reason": ""}, 400, "a reason is missing"),
        ("signal", {"data": "1"}, 400, "the name of the signal is missing"),
        ("retyr", {}, 404, "did you mean `retry`?"),
        ("again", {}, 404, "there is no action"),
        ("retry", {"step": "c"}, 404, "there is no step"),
    ],
)  # fmt: skip
def test_a_refused_action_says_why(http, execution, action, fields, status, said):
    answer = send(http, execution, action, **fields)
    text = answer.text.replace("&#39;", "'").replace("&#34;", '"')
    assert (answer.status_code, said in text) == (status, True), text


@pytest.mark.parametrize("action", ["retry", "complete", "reschedule", "signal", "approve"])
def test_a_form_is_a_page_and_a_dialog(http, execution, action):
    address = f"/executions/{execution}/actions/{action}?step=a&item=0"
    page, dialog = http.get(address), http.get(address, headers={"hx-request": "true"})
    assert page.status_code == dialog.status_code == 200
    assert page.text.startswith("<!doctype html>")
    assert dialog.text.lstrip().startswith("<form")
    assert "item 0 of step a of execution" in dialog.text


def test_the_log_leads_through_all_events_from_both_ends(http, execution):
    all_ = http.get(f"/v1/executions/{execution}/events").json()
    here = f"/executions/{execution}/events"
    newest, oldest = http.get(here).text, http.get(f"{here}?order=oldest").text
    ids = [f'id="e{one["id"]}"' for one in all_]
    assert sorted(ids, key=oldest.index) == ids
    assert sorted(ids, key=newest.index) == ids[::-1]
    middle = all_[2]["id"]
    before = http.get(f"{here}?before={middle}").text
    assert [one in before for one in ids[:3]] == [True, True, False]
    assert f"after={all_[1]['id']}" in before  # the way back to the newer ones
    after = http.get(f"{here}?order=oldest&after={middle}").text
    assert [one in after for one in ids[2:4]] == [False, True]


def test_the_log_is_filtered_by_step_and_type(http, execution):
    here = f"/executions/{execution}/events"
    errors = http.get(f"{here}?type=action_error&step=a").text
    assert "attempt 1 failed: transient (connection_failed): connection reset by peer" in errors
    assert "attempt 1 of 3 started" not in errors
    assert "No such event" in http.get(f"{here}?type=action_error&step=b").text
    wrong = http.get(f"{here}?type=action_eror")
    assert (wrong.status_code, "did you mean `action_error`?" in wrong.text) == (400, True)


def test_an_event_has_a_page_of_its_own(http, execution):
    [error] = [
        one for one in http.get(f"/v1/executions/{execution}/events").json() if one["type"] == "action_error"
    ]
    page = http.get(f"/executions/{execution}/events/{error['id']}")
    assert "connection reset by peer" in page.text
    assert f"after={error['id'] - 1}#e{error['id']}" in page.text
    assert http.get(f"/executions/{execution}/events/{error['id'] + 900}").status_code == 404


def test_a_decision_is_explained_in_full(http, execution):
    page = http.get(f"/executions/{execution}/decisions?step=a&attempt=1").text
    for said in (
        "is retried in 1h", "class_default", "nothing stands against it", "max_retry_after", "by_class",
        "transient: 1", "<svg", "1h by the exponential curve",
    ):  # fmt: skip
        assert said in page, said
    assert "No decision yet" in http.get(f"/executions/{execution}/decisions?step=b").text
    assert http.get("/executions/999/decisions").status_code == 404


def test_only_a_finished_execution_is_run_again(http, execution):
    assert "has not ended" in http.get(f"/executions/{execution}/again").text
    answer = http.post(f"/executions/{execution}/again", data={"reason": "why"})
    assert (answer.status_code, "only a finished one can be run anew" in answer.text) == (409, True)
