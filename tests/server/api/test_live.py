"""Notes of workers over HTTP, and what people read of them."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tenax.model.wire import PROTOCOL

SOURCE = """
name: pages
workflow:
  - {step: crawl, type: python, task: some:task, retry: {max_attempts: 2, initial_delay: 0}}
"""


def leased(http) -> dict:
    """Submits an execution and leases its one step."""
    runtimes = ["python"]
    http.post("/v1/worker/register", json={"worker": "w", "runtimes": runtimes, "protocol": PROTOCOL})
    http.post("/v1/executions", json={"source": SOURCE})
    wanted = {"worker": "w", "grant": str(uuid4()), "slots": 1, "runtimes": runtimes, "wait": 5}
    [group] = http.post("/v1/worker/lease", json=wanted).json()
    return {name: value[0] if isinstance(value, list) else value for name, value in group.items()}


def held(lease: dict) -> dict:
    return {"item_id": lease["item_id"], "token": lease["token"]}


def part(lease: dict, start: int, text: str) -> dict:
    place = {name: lease[name] for name in ("execution_id", "item_id", "receipt", "step", "attempt")}
    return {**place, "start": start, "text": text}


def test_the_worker_registers_and_learns_what_is_kept(server):
    with server.http() as http:
        body = {"worker": "w", "runtimes": ["python"], "protocol": PROTOCOL}
        terms = http.post("/v1/worker/register", json=body).json()
    assert (terms["max_checkpoint"], terms["max_output"]) == (64_000, 1_000_000)


def test_notes_are_read_again(server):
    with server.http() as http:
        lease = leased(http)
        assert "checkpoint" not in lease
        notes = {
            "worker": "w",
            "checkpoints": [{**held(lease), "number": 1, "value": '{"page":60}'}],
            "progress": [{**held(lease), "fraction": 0.6, "message": "page 60"}],
            "output": [part(lease, 0, "one\n"), part(lease, 4, "two\n")],
        }
        assert http.post("/v1/worker/notes", json=notes).json() == {"revoked": []}
        id_ = lease["execution_id"]
        [progress] = http.get(f"/v1/executions/{id_}/progress").json()
        assert (progress["fraction"], progress["message"]) == (0.6, "page 60")
        page = http.get(f"/v1/executions/{id_}/logs").json()
        assert [chunk["text"] for chunk in page["chunks"]] == ["one\n", "two\n"]
        assert (page["more"], page["finished"]) == (False, False)
        assert not http.get(f"/v1/executions/{id_}/logs", params={"after": page["cursor"]}).json()["chunks"]
        failed = {"status": "failed", "facts": {"status_code": 503, "request": {"url": "http://shop.test"}}}
        report = {name: [lease[name]] for name in ("execution_id", "item_id", "attempt", "token")}
        http.post("/v1/worker/report", json=[{"outcome": [failed], **report}])
        wanted = {"worker": "w", "grant": str(uuid4()), "slots": 1, "runtimes": ["python"], "wait": 5}
        [again] = http.post("/v1/worker/lease", json=wanted).json()
        assert again["checkpoint"] == ['{"page":60}']
        [first, _] = http.get(f"/v1/executions/{id_}").json()["steps"]["crawl"]["attempts"]
        assert first["failure"]["request"] == {"url": "http://shop.test"}
        stale = http.post("/v1/worker/notes", json={"worker": "w", "checkpoints": notes["checkpoints"]})
        assert stale.json() == {"revoked": [held(lease)]}


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"progress": [{"item_id": 1, "token": str(uuid4()), "fraction": 1.5}]}, "fraction"),
        ({"progress": [{"item_id": 1, "token": "x"}]}, "progress[0].token"),
        ({"checkpoints": [{"item_id": 1, "token": str(uuid4()), "number": -1, "value": "1"}]}, "number"),
        ({"progress": [{"item_id": 1, "token": str(uuid4())}] * 1001}, "progress"),
        ({"output": [{"execution_id": 1, "item_id": 1, "receipt": "r", "step": "s", "attempt": 1, "start": 0,
                      "text": "x" * 131_073}]}, "text"),
        ({"output": [{"execution_id": 1, "item_id": 1, "receipt": "r", "step": "s", "attempt": 1, "start": 0,
                      "text": "\0"}]}, "text"),
    ],
)  # fmt: skip
def test_notes_out_of_bounds_are_refused(server, wrong, place):
    with server.http() as http:
        answer = http.post("/v1/worker/notes", json={"worker": "w", **wrong})
    assert answer.status_code == 422
    assert place in answer.text


def test_logs_of_nothing_are_not_found(server):
    with server.http() as http:
        for path in ("logs", "progress"):
            assert http.get(f"/v1/executions/7/{path}").status_code == 404
        assert http.get("/v1/executions/7/logs?attempt=0").status_code == 422
