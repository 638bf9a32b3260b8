"""`POST /api/v1/executions`: the body that Attune's document prints starts a stored workflow, and links it to what it repeats."""

from __future__ import annotations

from typing import Any

import pytest
from support.serve.served import Served, in_database

WAITS = (
    "name: core.echo\ninput: {message: {type: string}}\nworkflow: [{step: wait, type: wait, signal: go}]\n"
)


def body(retry_of: int) -> dict[str, Any]:
    """The body that the document prints, for this execution."""
    return {
        "action_ref": "core.echo",
        "parameters": {"message": "retry test"},
        "config": {
            "retry_of": retry_of,
            "retry_count": 1,
            "max_retries": 3,
            "retry_reason": "manual_retry",
            "original_execution": retry_of,
        },
    }


def stored(http: Any) -> None:
    assert http.post("/v1/workflows", json={"source": WAITS}).is_success


def started(http: Any, **more: Any) -> dict[str, Any]:
    answer = http.post("/api/v1/executions", json={"action_ref": "core.echo", **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


def first_attempt(server: Served, http: Any, execution_id: int) -> int:
    """Waits for the first attempt, ends the execution, and returns the attempt's id in `ops.execution`."""
    cursor = None
    while True:
        news = http.get(
            f"/v1/executions/{execution_id}/news",
            params={"wait": 20, **({"cursor": cursor} if cursor else {})},
        ).json()
        cursor = news["cursor"]
        if any(event["type"] == "action_started" for event in news["events"]):
            break
    assert http.post(f"/v1/executions/{execution_id}/cancel").is_success
    query = "select id from ops.execution where execution_id = $1"
    return int(in_database(server.database_url, lambda tx: tx.fetchval(query, execution_id)))


def test_the_printed_body_repeats_the_execution_of_an_attempt(server):
    with server.http() as http:
        stored(http)
        first = started(http, parameters={"message": "hello"})
        assert first == {
            "id": first["id"], "action_ref": "core.echo", "status": "requested", "config": {"message": "hello"}, "retry_of": None,
            "original_execution": None, "retry_reason": None,
        }  # fmt: skip
        attempt = first_attempt(server, http, first["id"])
        answer = http.post("/api/v1/executions", json=body(attempt))
        assert answer.status_code == 201, answer.text
        second = answer.json()["data"]
        assert (second["retry_of"], second["original_execution"], second["retry_reason"]) == (
            first["id"],
            first["id"],
            "manual_retry",
        )
        shown = http.get(f"/v1/executions/{second['id']}").json()
        assert (shown["retry_of"], shown["input"]) == (first["id"], {"message": "retry test"})
        events = http.get(f"/v1/executions/{second['id']}/events").json()
        told = next(event["data"] for event in events if event["type"] == "operator_action")
        assert (told["action"], told["reason"]) == ("retry", "manual_retry")


def test_a_repeated_execution_has_the_inputs_of_the_first_unless_others_are_given(server):
    with server.http() as http:
        stored(http)
        first = started(http, parameters={"message": "hello"})
        assert http.post(f"/v1/executions/{first['id']}/cancel").is_success
        second = started(http, config={"retry_of": first["id"], "retry_reason": "bad luck"})
        assert http.post(f"/v1/executions/{second['id']}/cancel").is_success
        third = started(http, config={"retry_of": second["id"]})
        assert (third["retry_of"], third["original_execution"]) == (second["id"], first["id"])
        assert http.get(f"/v1/executions/{third['id']}").json()["input"] == {"message": "hello"}
        assert second["retry_reason"] == "bad luck"


@pytest.mark.parametrize(
    ("given", "status", "part"),
    [
        ({}, 422, "action_ref"),
        ({"action_ref": "core.ech"}, 404, "core.ech"),
        ({"action_ref": "core.echo", "parameters": {"message": 1}}, 422, "message"),
        ({"action_ref": "core.echo", "parameters": []}, 422, "parameters"),
        ({"action_ref": "core.echo", "config": {"retry_off": 1}}, 422, "retry_off"),
        ({"action_ref": "core.echo", "config": {"retry_of": 0}}, 422, "retry_of"),
        (
            {"action_ref": "core.echo", "config": {"retry_of": 2**62}},
            404,
            "there is no attempt and no execution",
        ),
    ],
)
def test_what_is_refused(standing, given, status, part):
    with standing.http() as http:
        stored(http)
        answer = http.post("/api/v1/executions", json=given)
        assert answer.status_code == status, answer.text
        assert part in answer.text


def test_only_an_ended_execution_of_the_same_workflow_is_repeated(server):
    with server.http() as http:
        stored(http)
        first = started(http)
        answer = http.post("/api/v1/executions", json=body(first["id"]))
        assert (answer.status_code, "only a finished one" in answer.json()["title"]) == (409, True)
        assert http.post(f"/v1/executions/{first['id']}/cancel").is_success
        assert http.post("/v1/workflows", json={"source": WAITS.replace("core.echo", "other")}).is_success
        answer = http.post("/api/v1/executions", json={**body(first["id"]), "action_ref": "other"})
        assert (answer.status_code, answer.json()["remedy"]) == (409, "set `action_ref` to core.echo")


def test_a_number_that_means_two_executions_is_refused(server):
    with server.http() as http:
        stored(http)
        first = started(http)
        attempt = first_attempt(server, http, first["id"])
        server.execute("select setval('tenax.execution_id', $1, false)", attempt)
        second = started(http)
        assert second["id"] == attempt
        answer = http.post("/api/v1/executions", json=body(attempt))
        assert (answer.status_code, "is an attempt of execution" in answer.json()["title"]) == (409, True)


def test_a_viewer_and_a_worker_may_not_start_anything(start):
    server = start(open=False)
    for role in ("viewer", "worker"):
        with server.http(server.token(role)) as http:
            assert http.post("/api/v1/executions", json={"action_ref": "core.echo"}).status_code == 403


def test_a_name_that_is_neither_an_action_nor_a_workflow(server):
    with server.http() as http:
        answer = http.post("/api/v1/executions", json={"action_ref": "core.ehco"})
    assert answer.status_code == 404
    assert (
        answer.json()["title"] == "there is no workflow named 'core.ehco', and no action of an installed pack"
    )
    assert "`tenax action list`" in answer.json()["remedy"]
