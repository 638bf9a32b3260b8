"""Dead letters over HTTP: listed, grouped, looked into, redriven and discarded."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest
from support.waiting import eventually
from support.worker_requests import one_by_one

from tenax.model.letters.views import DeadLetter, DeadLetterInFull, LetterGroup, LettersChanged

ORDERS = "name: orders\nworkflow: [{step: load, type: process, command: 'true'}]\n"
OTHERS = "name: others\nworkflow: [{step: save, type: process, command: 'true'}]\n"


def fail(http: Any, source: str = ORDERS, message: str = "no such order 17") -> int:
    """Starts an execution and fails its only item. Returns the number of the letter."""
    life = str(uuid.uuid4())
    worker = {
        "worker": "w1",
        "runtimes": ["process"],
        "slots": 1,
        "life": life,
        "protocol": 2,
        "version": "1",
    }
    assert http.post("/v1/worker/register", json=worker).is_success
    http.post("/v1/executions", json={"source": source})
    asked = {
        "worker": "w1",
        "grant": str(uuid.uuid4()),
        "slots": 1,
        "runtimes": ["process"],
        "life": life,
        "wait": 10,
    }
    [a] = one_by_one(http.post("/v1/worker/lease", json=asked).json())
    facts = {"fatal": True, "message": message}
    report = {name: [a[name]] for name in ("execution_id", "item_id", "attempt", "token")}
    body = [{**report, "step": a["step"], "outcome": [{"status": "failed", "facts": facts}]}]
    assert http.post("/v1/worker/report", json=body).is_success
    return int(a["item_id"])


def fits(kind: Any, answer: Any) -> Any:
    """The answer, held against the type that the description of the API is made of."""
    assert answer.status_code == 200, answer.text
    msgspec.json.decode(answer.content, type=kind)
    return answer.json()


def problem(answer: Any) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["title"]


def test_a_failure_is_listed_grouped_and_looked_into(server):
    with server.http() as http:
        assert fits(list[DeadLetter], http.get("/v1/dead-letters")) == []
        first, second = fail(http), fail(http, message="no such order 18")
        assert [one["id"] for one in fits(list[DeadLetter], http.get("/v1/dead-letters"))] == [second, first]
        [group] = fits(list[LetterGroup], http.get("/v1/dead-letters/groups"))
        assert (group["count"], group["newest"], group["example"]) == (2, second, "no such order 18")
        found = fits(DeadLetterInFull, http.get(f"/v1/dead-letters/{first}"))
        assert (found["class"], found["message"], found["status"]) == ("logical", "no such order 17", "open")
        assert [one["attempt"] for one in found["history"]] == [1]


def test_filters_and_pages(server):
    with server.http() as http:
        numbers = [fail(http), fail(http, OTHERS), fail(http)]

        def listed(**params: Any) -> list[int]:
            return [one["id"] for one in http.get("/v1/dead-letters", params=params).json()]

        assert listed(limit=2) == numbers[:0:-1]
        assert listed(before=numbers[1]) == numbers[:1]
        assert listed(workflow="others") == listed(step="save") == [numbers[1]]
        assert listed(**{"class": "logical"}) == numbers[::-1]
        assert listed(**{"class": "timeout"}) == []
        assert listed(reason="http_503") == []
        assert listed(until="1h") == []
        assert listed(since="1h") == numbers[::-1]
        execution = http.get(f"/v1/dead-letters/{numbers[1]}").json()["execution_id"]
        assert listed(execution=execution) == [numbers[1]]
        fingerprint = http.get(f"/v1/dead-letters/{numbers[1]}").json()["fingerprint"]
        assert listed(fingerprint=fingerprint) == [numbers[1]]


def test_discarded_letters_are_listed_where_they_are_asked_for(server):
    with server.http() as http:
        first, second = fail(http), fail(http, OTHERS)
        body = {"ids": [first], "note": "known bug"}
        done = fits(LettersChanged, http.post("/v1/dead-letters/discard", json=body))
        assert done == {"changed": 1, "ids": [first]}
        body = {"filter": {"workflow": "others", "class": "logical"}, "note": "test data"}
        done = fits(LettersChanged, http.post("/v1/dead-letters/discard", json=body))
        assert done == {"changed": 1, "ids": [second]}
        assert http.get("/v1/dead-letters").json() == []
        assert [one["id"] for one in http.get("/v1/dead-letters?all=true").json()] == [second, first]
        [one] = http.get("/v1/dead-letters", params={"status": "discarded", "workflow": "orders"}).json()
        assert (one["note"], one["actor"]) == ("known bug", "anonymous@loopback")


def test_what_a_letter_does_not_allow_is_a_conflict(server):
    with server.http() as http:
        number = fail(http)
        done = fits(LettersChanged, http.post("/v1/dead-letters/redrive", json={"ids": [number]}))
        assert done == {"changed": 1, "ids": [number]}
        body = {"ids": [number], "note": "too late"}
        status, title = problem(http.post("/v1/dead-letters/discard", json=body))
        assert (status, title) == (409, f"dead letter {number} cannot be discarded: it is redriven")
        assert problem(http.post("/v1/dead-letters/redrive", json={"ids": [999]})) == (
            404,
            "there is no dead letter 999",
        )
        assert problem(http.get("/v1/dead-letters/999"))[0] == 404


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"ids": [1]}, 400, "note"),
        ({"ids": [1], "note": ""}, 400, "note"),
        ({"ids": [1], "note": "  "}, 400, "a discarded letter needs a note"),
        ({"note": "x"}, 400, "either `ids` or `filter` is needed, and not both"),
        ({"note": "x", "ids": [1], "filter": {"step": "a"}}, 400, "not both"),
        ({"note": "x", "filter": {}}, 400, "an empty filter would discard all dead letters"),
        ({"note": "x", "filter": {"steps": "a"}}, 400, "steps"),
        ({"note": "x", "filter": {"since": "yesterday"}}, 400, "since"),
        ({"note": "x", "ids": []}, 400, "ids"),
    ],
)
def test_a_discard_that_is_wrong_is_refused(standing, body, status, words):
    with standing.http() as http:
        answer = http.post("/v1/dead-letters/discard", json=body)
        assert answer.status_code in (status, 422), answer.text
        assert words in answer.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("status=opened", "there is no status 'opened'; did you mean 'open'?"),
        ("until=never", "until: 'never' is neither a time nor a duration"),
        ("klass=timeout", "there is no parameter 'klass' here"),
    ],
)
def test_a_filter_that_is_wrong_is_refused(standing, query, words):
    with standing.http() as http:
        for path in ("/v1/dead-letters", "/v1/dead-letters/groups"):
            answer = http.get(f"{path}?{query}")
            assert answer.status_code == 400
            assert words in answer.text


def test_letters_are_redriven_by_a_filter_with_a_rate_and_a_canary(server):
    with server.http() as http:
        for _ in range(3):
            fail(http)
        text = {"filter": "workflow=orders", "reason": "mended", "rate": 50, "canary": 1, "max_failed": 10}
        made = fits(LettersChanged, http.post("/v1/dead-letters/redrive", json={**text, "preview": True}))
        assert (made["changed"], made["ids"]) == (0, [])
        job = http.get(f"/v1/bulk/{made['bulk']}").json()
        assert (job["action"], job["state"], job["total"], job["canary"], job["max_failed"]) == (
            "redrive", "preview", 3, 1, 10.0,
        )  # fmt: skip
        chosen = {"filter": {"workflow": "orders", "class": "logical"}, "reason": "mended"}
        begun = fits(LettersChanged, http.post("/v1/dead-letters/redrive", json=chosen))
        job = eventually(
            lambda: (found := http.get(f"/v1/bulk/{begun['bulk']}").json())["state"] == "completed" and found
        )
        assert job["counts"] == {"pending": 0, "done": 3, "skipped": 0, "failed": 0}
        assert {one["status"] for one in http.get("/v1/dead-letters?filter=status=redriven").json()} == {
            "redriven"
        }
        assert http.get("/v1/dead-letters").json() == []


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "either `ids` or `filter` is needed"),
        ({"ids": [1], "filter": "step=a"}, 422, "either `ids` or `filter` is needed"),
        ({"ids": [1], "rate": 3}, 422, "go with a `filter`"),
        ({"filter": "step=a"}, 400, "a bulk action needs a reason"),
        ({"filter": {}, "reason": "x"}, 400, "the filter is empty"),
        ({"filter": "", "reason": "x"}, 400, "the filter is empty"),
        ({"filter": "stepp=a", "reason": "x"}, 400, "did you mean `step`"),
        ({"filter": "step=a", "reason": "x", "max_failed": 3}, 400, "give a `canary` as well"),
    ],
)
def test_a_redrive_that_is_wrong_is_refused(server, body, status, words):
    with server.http() as http:
        told = problem(http.post("/v1/dead-letters/redrive", json=body))
        assert told[0] == status
        assert words in told[1]
        assert http.get("/v1/bulk").json() == []
