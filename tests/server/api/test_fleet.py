"""Workers and queues over HTTP, as people see and change them."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest
import structlog
from support.worker_requests import one_by_one

from tenax.model.fleet.views import LimitAnswer, Queue, Worker, WorkerInFull
from tenax.model.wire import EndedLifeAnswer
from tenax.server.schema.responses import WorkerAnswer

PROCESS = "name: p\nworkflow: [{step: only, type: process, command: 'true', queue: QUEUE}]\n"


def register(http: Any, name: str = "w1", **more: Any) -> str:
    """Returns the life it registered with."""
    life = str(uuid.uuid4())
    body = {
        "worker": name,
        "runtimes": ["process"],
        "slots": 4,
        "version": "1",
        "life": life,
        "protocol": 2,
        **more,
    }
    assert http.post("/v1/worker/register", json=body).status_code == 200
    return life


def submit(http: Any, queue: str = "default") -> int:
    source = PROCESS.replace("QUEUE", queue)
    return http.post("/v1/executions", json={"source": source}).json()["id"]


def lease(http: Any, name: str, life: str, **more: Any) -> list[dict[str, Any]]:
    body = {"worker": name, "grant": str(uuid.uuid4()), "slots": 1, "runtimes": ["process"], "life": life}
    return one_by_one(http.post("/v1/worker/lease", json={**body, "wait": 10, **more}).json())


def fits(kind: Any, answer: Any) -> Any:
    """The answer, held against the type that the description of the API is made of."""
    msgspec.json.decode(answer.content, type=kind)
    return answer.json()


def problem(answer: Any) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["title"]


def test_the_list_of_workers(server):
    with server.http() as http:
        assert fits(list[Worker], http.get("/v1/workers")) == []
        register(http, queues=["default", "gpu"], labels={"zone": "a"})
        [one] = fits(list[Worker], http.get("/v1/workers"))
        assert (one["name"], one["state"], one["health"]) == ("w1", "active", "healthy")
        assert (one["queues"], one["labels"], one["slots"]) == (["default", "gpu"], {"zone": "a"}, 4)
        assert (one["queue_depth"], one["failure_rate"]) == (0, None)
        assert 0 <= one["heartbeat_age"] < 30


def test_gone_workers_are_listed_where_all_are_asked_for(server):
    with server.http() as http:
        life = register(http)
        assert http.post(
            "/v1/worker/heartbeat", json={"worker": "w1", "life": life, "leaving": True}
        ).is_success
        assert http.get("/v1/workers").json() == []
        [gone] = fits(list[Worker], http.get("/v1/workers", params={"all": "true"}))
        assert gone["state"] == "gone"
        status, title = problem(http.post("/v1/workers/w1/drain"))
        assert status == 409
        assert "w1" in title
        assert http.post("/v1/workers/w1/pause").json()["changed"] is True, "for its next life"
        register(http)
        assert http.get("/v1/workers/w1").json()["state"] == "paused"


def test_one_worker_in_full(server):
    with server.http() as http:
        life = register(http)
        number = submit(http)
        [assignment] = lease(http, "w1", life)
        held = [{"item_id": assignment["item_id"], "token": assignment["token"]}]
        health = {
            "status": "healthy",
            "total_executions": 7,
            "queue_depth": 1,
            "overdue": 3,
            "last_check": "2026-01-01T00:00:00Z",
        }
        beat = {"worker": "w1", "life": life, "holding": held, "health": health}
        assert http.post("/v1/worker/heartbeat", json=beat).is_success
        one = fits(WorkerInFull, http.get("/v1/workers/w1"))
        assert [c["column"] for c in one["columns"]] == [
            "heartbeat_age", "consecutive_failures", "queue_depth", "failure_rate", "reported_status", "recovering",
        ]  # fmt: skip
        [holds] = one["leases"]
        assert (holds["execution_id"], holds["step"], holds["item"], holds["attempt"]) == (
            number,
            "only",
            None,
            1,
        )
        assert (one["leases_total"], one["reported"]["total_executions"]) == (1, 7)
        assert one["reported"]["overdue"] == 3
        assert one["events"][-1]["type"] == "worker_registered"


def test_pause_and_resume_are_recorded_with_their_actor(server):
    token = server.token("operator", "ops")
    with server.http(server.token("admin")) as http:
        register(http)
    with server.http(token) as http:
        paused = fits(WorkerAnswer, http.post("/v1/workers/w1/pause", json={"reason": "bad disk"}))
        assert paused == {"name": "w1", "state": "paused", "changed": True}
        assert http.post("/v1/workers/w1/pause").json()["changed"] is False
        one = http.get("/v1/workers/w1").json()
        assert (one["state"], one["state_actor"], one["state_reason"]) == ("paused", "ops", "bad disk")
        [done] = [e["data"] for e in one["events"] if e["type"] == "operator_action"]
        assert (done["action"], done["actor"], done["reason"]) == ("worker_pause", "ops", "bad disk")
        resumed = http.post("/v1/workers/w1/resume", json={})
        assert resumed.json() == {"name": "w1", "state": "active", "changed": True}
        drained = fits(WorkerAnswer, http.post("/v1/workers/w1/drain"))
        assert drained == {"name": "w1", "state": "draining", "changed": True}


def test_a_paused_worker_gets_nothing_new(server):
    with server.http() as http:
        life = register(http)
        http.post("/v1/workers/w1/pause")
        submit(http)
        body = {"worker": "w1", "grant": str(uuid.uuid4()), "slots": 1, "runtimes": ["process"], "life": life}
        assert http.post("/v1/worker/lease", json={**body, "wait": 0.5}).json() == []
        http.post("/v1/workers/w1/resume")
        assert len(lease(http, "w1", life)) == 1


@pytest.mark.parametrize("name", ["a/b", "a b", "ü", "x/pause", "%2F", "?"])
def test_any_name_can_be_asked_for(server, name):
    from tenax.sdk.sync_client import SyncClient

    with server.http() as http, SyncClient(server.url) as client:
        register(http, name)
        assert client.worker(name)["name"] == name
        assert client.pause_worker(name)["changed"] is True
        assert client.drain_worker(name)["changed"] is True
        assert client.resume_worker(name)["changed"] is True
        assert [one["name"] for one in client.workers()] == [name]


def test_a_worker_that_is_not_there(server):
    with server.http() as http:
        register(http, "worker-1")
        for answer in (http.get("/v1/workers/worker-l"), http.post("/v1/workers/worker-l/pause")):
            status, title = problem(answer)
            assert status == 404
            assert "worker-1" in title, "the nearest name"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "part"),
    [
        ("GET", "/v1/workers?al=true", None, 400, "there is no parameter 'al' here"),
        ("GET", "/v1/workers?all=perhaps", None, 422, "all"),
        ("POST", "/v1/workers/w1/pause", {"why": "x"}, 422, "why"),
        ("POST", "/v1/workers/w1/pause", {"reason": "x" * 1001}, 422, "reason"),
        ("PUT", "/v1/queues/default/limits", {"burst": 3}, 400, "give a `rate` as well"),
        ("PUT", "/v1/queues/default/limits", {"concurrency": 0}, 422, "concurrency"),
        ("PUT", "/v1/queues/default/limits", {"concurrency": True}, 422, "concurrency"),
        ("PUT", "/v1/queues/default/limits", {"rate": 0}, 422, "rate"),
        ("PUT", "/v1/queues/default/limits", {"rate": 1e-9}, 400, "not 1e-09"),
        ("PUT", "/v1/queues/default/limits", {"speed": 1}, 422, "speed"),
        ("PUT", "/v1/queues/tenax:server/limits", {"rate": 1}, 400, "is not a name"),
        ("POST", "/v1/queues/default/limits", {}, 405, "does not support POST"),
        ("POST", "/v1/worker/heartbeat", {"worker": "w", "life": "x"}, 422, "life"),
        ("POST", "/v1/worker/ended", {"worker": "w", "life": "x"}, 422, "life"),
        ("POST", "/v1/worker/ended", {"worker": "w"}, 422, "life"),
    ],
)  # fmt: skip
def test_what_is_refused(standing, method, path, body, status, part):
    with standing.http() as http:
        answer = http.request(method, path, **({} if body is None else {"json": body}))
        found, title = problem(answer)
        assert found == status, title
        assert part in title


def test_a_report_beyond_all_bounds_is_bent_and_not_refused(server):
    huge = {
        "status": "degraded",
        "total_executions": 10**30,
        "consecutive_failures": -5,
        "average_execution_time_ms": 1e300,
    }
    with server.http() as http:
        life = register(http)
        beat = {"worker": "w1", "life": life, "health": huge}
        assert http.post("/v1/worker/heartbeat", json=beat).is_success
        said = http.get("/v1/workers/w1").json()["reported"]
        assert (said["total_executions"], said["consecutive_failures"]) == (2**31 - 1, 0)


@pytest.mark.parametrize(
    "bad",
    [
        {"status": "ill"},
        {"queue_depth": 3.0},
        {"queue_depth": None},
        {"consecutive_failures": "many"},
        "fine",
        7,
    ],
    ids=str,
)
def test_a_report_that_is_none_costs_a_worker_no_lease(standing, bad):
    name = f"w-{uuid.uuid4()}"
    with standing.http() as http, structlog.testing.capture_logs() as logs:
        life = register(http, name, queues=[name])
        submit(http, name)
        [assignment] = lease(http, name, life, queues=[name])
        held = [{"item_id": assignment["item_id"], "token": assignment["token"]}]
        standing.execute("update tenax.item set expires_at = started_at where worker = $1", name)
        beat = {"worker": name, "life": life, "holding": held, "health": bad}
        for _ in range(3):
            answer = http.post("/v1/worker/heartbeat", json=beat)
            assert (answer.status_code, answer.json()["revoked"]) == (200, [])
        told = http.get(f"/v1/workers/{name}").json()
        assert told["leases"][0]["lease_until"] > told["leases"][0]["started_at"]
        assert told["reported"] is None
    complaints = [line for line in logs if line.get("worker") == name and "its health" in line["event"]]
    assert len(complaints) == 1
    assert complaints[0]["error"].startswith("its report cannot be accepted")


def test_a_worker_of_one_execution_is_told_as_such(server):
    with server.http() as http:
        number = submit(http)
        register(http, "run-1", execution_id=number)
        [one] = fits(list[Worker], http.get("/v1/workers"))
        assert one["serves"] == number
        assert http.get("/v1/queues").json()[0]["workers"] == 0, "it serves no queue"


def test_queues_and_their_limits(server):
    with server.http() as http:
        submit(http, "gpu")
        [queue] = fits(list[Queue], http.get("/v1/queues"))
        assert (queue["queue"], queue["ready"], queue["running"], queue["workers"]) == ("gpu", 1, 0, 0)
        assert queue["oldest_at"] is not None
        limited = fits(LimitAnswer, http.put("/v1/queues/gpu/limits", json={"concurrency": 2, "rate": 2.5}))
        assert limited == {"queue": "gpu", "concurrency": 2, "rate": 2.5, "burst": 3}
        register(http, queues=["gpu", "other"])
        found = {one["queue"]: one for one in fits(list[Queue], http.get("/v1/queues"))}
        assert (found["gpu"]["workers"], found["gpu"]["concurrency"], found["gpu"]["burst"]) == (1, 2, 3)
        cleared = http.put("/v1/queues/gpu/limits", json={})
        assert cleared.json() == {"queue": "gpu", "concurrency": None, "rate": None, "burst": None}


def test_a_step_that_no_worker_can_run_says_so(server):
    with server.http() as http:
        number = submit(http, "gpu")
        register(http, "w0")
        step = http.get(f"/v1/executions/{number}").json()["steps"]["only"]
        assert "gpu" in step["unserved"]["reason"]
        assert step["held"] is None
        register(http, queues=["gpu"])
        assert http.get(f"/v1/executions/{number}").json()["steps"]["only"]["unserved"] is None


def test_a_supervisor_says_that_a_worker_has_died(server):
    with server.http() as http:
        life = register(http)
        id_ = submit(http)
        assert len(lease(http, "w1", life)) == 1
        body = {"worker": "w1", "life": life}
        assert fits(EndedLifeAnswer, http.post("/v1/worker/ended", json=body)) == {"lost": 1}
        assert fits(EndedLifeAnswer, http.post("/v1/worker/ended", json=body)) == {"lost": 0}
        events = http.get(f"/v1/executions/{id_}/events").json()
        assert [e["data"]["failure"]["reason"] for e in events if e["type"] == "lease_expired"] == [
            "worker_died"
        ]
