"""The audit over HTTP: its filters and pages, and that it has every action of people that the events have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from support.browse.worker_by_hand import WorkerByHand
from support.serve.served import Served, in_database
from support.waiting import eventually

from tenax.model.events.audit import AuditEntry, AuditNames

ONE = "name: one\nworkflow: [{step: only, type: python, task: 't:t'}]\n"
STEPS = """
name: steps
workflow:
  - {step: a, type: python, task: 't:t'}
  - {step: b, type: python, task: 't:t'}
"""
CHILD = "name: child\nworkflow: [{step: ask, type: wait}]\n"
PARENT = "name: parent\nworkflow: [{step: start, type: workflow, workflow: child}]\n"


@pytest.fixture
def http(server):
    with server.http() as http:
        yield http


def do(http: Any, path: str, method: str = "post", **body: Any) -> Any:
    answer = http.request(method, f"/v1/{path}", json=body)
    assert answer.status_code < 300, answer.text
    return answer.json()


def audit(http: Any, **wanted: Any) -> list[dict[str, Any]]:
    """Returns the entries of a page, held against the type that the description of the API is made of."""
    answer = http.get("/v1/audit", params=wanted)
    assert answer.status_code == 200, answer.text
    msgspec.json.decode(answer.content, type=list[AuditEntry])
    return answer.json()


def events_of_people(server: Served) -> list[tuple[Any, ...]]:
    """Returns who did what to what and why, by the events `operator_action` of executions, workers, queues and workflows."""
    query = """
        select data ->> 'actor', data ->> 'action', coalesce(execution_id::text, data ->> 'worker', data ->> 'queue', data ->> 'workflow'),
               step, item, data ->> 'reason'
          from tenax.event where type = 'operator_action'"""
    return [tuple(row) for row in in_database(server.database_url, lambda tx: tx.fetch(query))]


def order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=str)


def test_every_action_of_the_events_is_in_the_audit(server, http):
    """A paused workflow pauses its executions: they have events for it, and no entries of their own."""
    hand = WorkerByHand(http)
    ended, open_ = hand.submit(ONE), hand.submit(STEPS)
    do(http, f"executions/{open_}/pause", reason="look")
    do(http, f"executions/{open_}/resume")
    do(http, f"executions/{open_}/cancel", reason="enough")
    do(http, f"executions/{ended}/complete", step="only", result=1, reason="done by hand")
    do(http, f"executions/{ended}/retry", new=True, reason="once more")
    done = hand.submit(STEPS)
    do(http, f"executions/{done}/resolve", step="a", reason="by hand")
    do(http, f"executions/{done}/fail", step="b", reason="hopeless")
    do(http, "workers/hand/pause", reason="new kernel")
    do(http, "workers/hand/resume")
    do(http, "queues/mails/pause", reason="callee is away")
    do(http, "queues/mails/limits", "put", concurrency=3)
    do(http, "workflows/one/pause", reason="wait")
    do(http, "workflows/one/resume", reason="go")
    with_events = ("execution", "worker", "queue", "workflow")
    told = [
        (
            one["actor"],
            one["action"],
            # A run anew is audited at the execution that was named, and its event is the new execution's.
            str(one["data"].get("execution", one["target"])),
            one["step"],
            one["item"],
            one["reason"],
        )
        for one in audit(http, limit=500)
        if one["kind"] in with_events
    ]
    assert len(told) == 13
    events = events_of_people(server)
    by_pause = [one for one in events if one not in told]
    assert order([one for one in events if one in told]) == order(told)
    assert {(action, reason) for _, action, *_, reason in by_pause} <= {("pause", "wait"), ("resume", "go")}


def test_what_an_action_does_to_children_has_no_entries(http):
    do(http, "workflows", source=CHILD)
    parent = do(http, "executions", source=PARENT)["id"]
    child = eventually(lambda: next((one["id"] for one in listed(http) if one["parent"] == parent), None))
    do(http, f"executions/{parent}/pause", reason="look")
    assert {one["id"]: one["status"] for one in listed(http)} == {parent: "paused", child: "paused"}
    entries = audit(http, target="execution")
    assert [(one["action"], one["target"]) for one in entries] == [("pause", str(parent))]


def listed(http: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = http.get("/v1/executions").json()
    return found


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["queue_resume", "queue_pause", "cancel"]),
        ({"target": "queue"}, ["queue_resume", "queue_pause"]),
        ({"target": "queue:mails"}, ["queue_resume", "queue_pause"]),
        ({"target": "queue:other"}, []),
        ({"action": "cancel"}, ["cancel"]),
        ({"actor": "anonymous@loopback", "action": "queue_pause"}, ["queue_pause"]),
        ({"actor": "ada"}, []),
        ({"since": "1h"}, ["queue_resume", "queue_pause", "cancel"]),
        ({"until": "1h"}, []),
        ({"since": "2020-01-01T00:00:00Z", "until": "2020-01-02"}, []),
        ({"limit": 1}, ["queue_resume"]),
    ],
)
def test_the_filters(http, wanted, found):
    execution = do(http, "executions", source=ONE)["id"]
    do(http, f"executions/{execution}/cancel", reason="enough")
    do(http, "queues/mails/pause", reason="away")
    do(http, "queues/mails/resume")
    assert [one["action"] for one in audit(http, **wanted)] == found


def test_pages_lead_both_ways(http):
    for number in range(5):
        do(http, f"queues/mails/{'resume' if number % 2 else 'pause'}", reason=str(number))
    first = audit(http, limit=2)
    second = audit(http, limit=2, before=first[-1]["id"])
    assert [one["reason"] for one in (*first, *second)] == ["4", "3", "2", "1"]
    assert audit(http, limit=2, after=second[0]["id"]) == first


def test_the_names_that_occur(http):
    assert http.get("/v1/audit/names").json() == {"actors": [], "actions": []}
    do(http, "queues/mails/pause")
    answer = http.get("/v1/audit/names")
    assert msgspec.json.decode(answer.content, type=AuditNames).actions == ["queue_pause"]
    assert answer.json()["actors"] == ["anonymous@loopback"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"target": "que"}, "no kind of target 'que'"),
        ({"since": "yesterday"}, "since: "),
        ({"until": "yesterday"}, "until: "),
        ({"who": "ada"}, "no parameter 'who'"),
        ({"limit": 501}, "limit"),
        ({"before": 0}, "before"),
    ],
)
def test_a_wrong_filter_is_refused(http, wanted, said):
    answer = http.get("/v1/audit", params=wanted)
    assert answer.status_code in (400, 422)
    assert said in answer.text


def test_an_execution_that_is_run_anew_has_no_key_and_one_entry(http):
    """A key names the execution that was submitted with it. A run anew takes none, so it can never be taken for that one."""
    execution = do(http, "executions", source=ONE, key="order 7")["id"]
    refused = http.post(f"/v1/executions/{execution}/retry", json={"new": True})
    assert refused.status_code == 409  # it is running
    do(http, f"executions/{execution}/cancel", reason="enough")
    with_key = http.post(f"/v1/executions/{execution}/retry", json={"new": True, "key": "order 7"})
    assert with_key.status_code == 422
    anew = do(http, f"executions/{execution}/retry", new=True, reason="once more")
    assert (anew["created"], anew["retry_of"]) == (True, execution)
    assert do(http, "executions", source=ONE, key="order 7") == {"id": execution, "created": False}
    [entry] = audit(http, action="retry")
    assert (entry["target"], entry["data"], entry["reason"]) == (
        str(execution),
        {"execution": anew["id"]},
        "once more",
    )


def test_tokens_have_entries_with_their_names_and_never_their_secrets(http):
    made = do(http, "tokens", name="ci", role="operator")
    http.headers["authorization"] = f"Bearer {made['token']}"
    assert http.get("/v1/audit").status_code == 200
    assert made["token"] not in http.get("/v1/audit").text
    [entry] = audit(http, target=f"token:{made['id']}")
    assert (entry["action"], entry["data"]) == ("token_create", {"name": "ci", "role": "operator"})
