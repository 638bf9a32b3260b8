"""`GET /metrics`, `/v1/alerts`, `/v1/stats` and `/v1/overview`, by real servers."""

from __future__ import annotations

import asyncio
import math
import uuid
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.serve.served import Served
from support.waiting import eventually

from tenax.server.metrics.declared import METRICS

WORKFLOW = """
name: shop
workflow:
  - {step: pay, type: python, task: "a:b", retry: {max_attempts: 3, initial_delay: 0, jitter: 0, backoff: fixed}}
"""


def run(server: Served, *outcomes: dict[str, Any]) -> None:
    """Runs one execution by hand: each attempt ends with the next outcome."""
    with server.http() as http:
        http.post("/v1/executions", json={"source": WORKFLOW}).raise_for_status()
        for outcome in outcomes:
            work(http, outcome)


def work(http: Any, outcome: dict[str, Any]) -> None:
    """Leases an item and reports its outcome."""
    asked = {"worker": "w1", "grant": str(uuid.uuid4()), "slots": 1, "runtimes": ["python"], "wait": 20}
    [leased] = http.post("/v1/worker/lease", json=asked).json()
    [id_], [item], [token] = leased["execution_id"], leased["item_id"], leased["token"]
    report = {"execution_id": [id_], "item_id": [item], "attempt": [leased["attempt"][0]], "token": [token],
              "outcome": [outcome]}  # fmt: skip
    http.post("/v1/worker/report", json=[report]).raise_for_status()


def scraped(server: Served, token: str | None = None) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    with server.http(token) as http:
        answer = http.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(found: Any, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


BUSY = {"status": "failed", "facts": {"status_code": 503, "message": "busy"}}
DONE = {"status": "succeeded"}


def test_the_counters_are_those_of_the_log(server):
    run(server, BUSY, DONE)
    run(server, DONE)
    found = eventually(
        lambda: (s := scraped(server)) and value(s, "tenax_executions_total", event="completed") == 2 and s
    )
    assert value(found, "tenax_attempts_total", step="pay", outcome="failed", **{"class": "transient"}) == 1
    assert value(found, "tenax_attempts_total", step="pay", outcome="succeeded", **{"class": ""}) == 2
    assert value(found, "tenax_retries_total", reason="http_503") == 1
    assert value(found, "tenax_first_attempts_total") == 2
    assert value(found, "tenax_retries_ended_total", result="succeeded") == 1
    assert value(found, "tenax_retry_lateness_seconds_count") == 1
    assert value(found, "tenax_retry_rate") == 0.5
    assert value(found, "tenax_retry_success_rate") == 1
    assert value(found, "tenax_retries_per_execution") == 0.5
    assert value(found, "tenax_failure_rate") == pytest.approx(1 / 3)
    assert value(found, "tenax_leader") == 1
    assert (value(found, "tenax_batch_size_count", batch="reports") or 0) >= 1
    assert (value(found, "tenax_commit_seconds_sum", batch="claims") or 0) > 0


def test_dead_letters_are_counted_while_they_are_open(server):
    run(server, *[BUSY] * 3)
    eventually(lambda: value(scraped(server), "tenax_dead_letters") == 1)
    with server.http() as http:
        [newest] = http.get("/v1/overview").json()["newest"]
        assert (newest["step"], newest["reason"], newest["attempt"], newest["dead"]) == (
            "pay",
            "http_503",
            3,
            True,
        )
        [letter] = http.get("/v1/dead-letters").json()
        http.post(
            "/v1/dead-letters/discard", json={"ids": [letter["id"]], "note": "a test"}
        ).raise_for_status()
        eventually(lambda: value(scraped(server), "tenax_dead_letters") == 0)
        assert http.get("/v1/overview").json()["newest"] == []


def test_what_an_operator_starts_again_is_a_retry_by_hand(server):
    run(server, *[BUSY] * 3)
    with server.http() as http:
        [failed] = http.get("/v1/executions").json()
        http.post(f"/v1/executions/{failed['id']}/retry", json={}).raise_for_status()
        work(http, DONE)
    found = eventually(
        lambda: (s := scraped(server)) and value(s, "tenax_executions_total", event="completed") == 1 and s
    )
    assert value(found, "tenax_retries_total", reason="manual_retry") == 1
    assert value(found, "tenax_retries_total", reason="http_503") == 2
    assert value(found, "tenax_retries_ended_total", result="succeeded") == 1


def test_every_declared_metric_is_exported_and_no_other_one(server):
    run(server, BUSY, DONE)
    with server.http() as http:
        http.post("/v1/executions", json={"source": WORKFLOW}).raise_for_status()
    found = eventually(lambda: (s := scraped(server)) and value(s, "tenax_retry_rate") == 1.0 and s)
    names = {name for name, _ in found if name.startswith("tenax_")}
    endings = {"histogram": ("_bucket", "_count", "_sum")}
    expected = {
        name + ending for name, metric in METRICS.items() for ending in endings.get(metric.type, ("",))
    }
    assert names == expected
    for name, labels in found:
        if name in METRICS:
            assert {label for label, _ in labels} == set(METRICS[name].labels)


def test_of_several_servers_one_exports_what_is_of_the_database(start):
    first, second = start(), start()
    run(first, DONE)

    def together() -> Any:
        both = [scraped(first), scraped(second)]
        leads = [value(one, "tenax_leader") for one in both]
        counts = [value(one, "tenax_executions_total", event="completed") for one in both]
        return sorted(leads) == [0, 1] and counts[leads.index(1)] == 1 and (both, leads)

    both, leads = eventually(together)
    other = both[leads.index(0)]
    assert not [name for name, _ in other if name in METRICS and METRICS[name].by == "leader"]
    [first, second][leads.index(1)].stop()
    rest = [first, second][leads.index(0)]
    eventually(lambda: value(scraped(rest), "tenax_executions_total", event="completed") == 1, timeout=30)


def test_who_may_see_it(start):
    closed = start(open=False)
    with closed.http() as http:
        assert http.get("/metrics").status_code == 401
    assert closed.http(closed.token("worker")).get("/metrics").status_code == 403
    assert value(scraped(closed, closed.token("viewer")), "tenax_build_info") is None  # it has a label
    assert closed.http(closed.token("viewer", "v2")).get("/v1/alerts").status_code == 200


def test_no_retries_are_not_a_rate_of_nothing(server):
    found = eventually(lambda: (s := scraped(server)) and value(s, "tenax_retry_rate") is not None and s)
    assert math.isnan(value(found, "tenax_retry_rate") or 0)


async def test_alerts_fire_by_the_settings(start):
    server = await asyncio.to_thread(start, alert_min_attempts=1)
    await asyncio.to_thread(run, server, BUSY, DONE)

    def fired() -> Any:
        found = server.http().get("/v1/alerts").json()
        return found["firing"] and found

    found = await asyncio.to_thread(eventually, fired)
    alerts = {one["name"]: one for one in found["alerts"]}
    assert alerts["retry_rate"] == {
        "name": "retry_rate", "firing": True, "value": 1.0, "threshold": 0.2,
        "text": "retries in first attempts: 100 % (fires at more than 20 %)",
    }  # fmt: skip
    assert not alerts["retry_success"]["firing"]


def test_too_few_attempts_fire_nothing(server):
    run(server, BUSY, DONE)
    eventually(lambda: value(scraped(server), "tenax_retry_rate") == 1.0)
    found = server.http().get("/v1/alerts").json()
    assert not found["firing"]
    assert found["alerts"][0]["value"] is None


def test_stats_say_what_retries_came_to(server):
    run(server, BUSY, BUSY, DONE)
    run(server, BUSY, DONE)
    eventually(lambda: value(scraped(server), "tenax_executions_total", event="completed") == 2)
    with server.http() as http:
        found = http.get("/v1/stats", params={"since": "1h"}).json()
        [group] = found["groups"]
        assert (group["name"], group["failures"], group["retries"], group["succeeded"]) == (
            "http_503",
            3,
            3,
            2,
        )
        assert [(one["attempt"], one["retries"], one["succeeded"]) for one in group["attempts"]] == [
            (2, 2, 1),
            (3, 1, 1),
        ]
        assert [one["name"] for one in http.get("/v1/stats?by=step&since=1h").json()["groups"]] == ["pay"]
        assert [one["name"] for one in http.get("/v1/stats?by=class&since=1h").json()["groups"]] == [
            "transient"
        ]
        [worker] = http.get("/v1/stats?by=worker&since=1h").json()["groups"]
        assert (worker["name"], worker["retries"], worker["succeeded"], worker["failures"]) == ("w1", 3, 2, 3)
        # Each figure is rounded to a millisecond by itself.
        assert worker["seconds"] == pytest.approx(group["seconds"], abs=0.0015)
        assert worker["waited"] == pytest.approx(group["waited"], abs=0.0015)
        assert http.get("/v1/stats?by=color").status_code == 422
        assert http.get("/v1/stats?since=1h&until=2h").status_code == 400
        assert http.get("/v1/stats?sicne=1h").status_code == 400
        assert http.get("/v1/stats?until=soon").json()["title"].startswith("until: ")


def test_an_overview_has_what_top_shows(server):
    with server.http() as http:
        http.post(
            "/v1/executions", json={"source": WORKFLOW.replace("initial_delay: 0", "initial_delay: 60")}
        )
        asked = {"worker": "w1", "grant": str(uuid.uuid4()), "slots": 1, "runtimes": ["python"], "wait": 20}
        [leased] = http.post("/v1/worker/lease", json=asked).json()
        report = {name: leased[name][:1] for name in ("execution_id", "item_id", "attempt", "token")}
        http.post("/v1/worker/report", json=[{**report, "outcome": [BUSY]}]).raise_for_status()
        found = eventually(lambda: (o := http.get("/v1/overview").json()) and o["newest"] and o)
    [newest] = found["newest"]
    assert (newest["step"], newest["reason"], newest["attempt"]) == ("pay", "http_503", 1)
    assert newest["due"] is not None
    assert found["groups"][0]["failures"] == 1
    assert found["minutes"][-1]["failures"] == 1
    assert found["queues"][0]["waiting"] == 1


def test_hostile_names_break_nothing(server):
    names = ['a"b', "line\nbreak", "back\\slash", "{x='y'}", "naïve \u2028", "x" * 10_000]
    for number, name in enumerate(names):
        server.execute(
            "insert into tenax.metric_total values ('attempts', $1, $2)",
            [name, "failed", name],
            float(number + 1),
        )
        server.execute("insert into tenax.metric_total values ('retries', $1, 1)", [name])
    found = eventually(
        lambda: (s := scraped(server)) and value(s, "tenax_retries_total", reason=names[-1]) and s
    )
    for number, name in enumerate(names):
        labels = {"step": name, "outcome": "failed", "class": name}
        assert value(found, "tenax_attempts_total", **labels) == number + 1


def test_queues_beyond_the_bound_are_other(start):
    server = start(metrics_labels=2)
    with server.http() as http:
        for queue in ("a", "b", "c", "d"):
            source = WORKFLOW.replace("step: pay,", f"step: pay, queue: {queue},")
            http.post("/v1/executions", json={"source": source}).raise_for_status()
    found = eventually(
        lambda: (s := scraped(server)) and value(s, "tenax_queue_depth", queue="other", state="ready") and s
    )
    depths = {
        name: value(found, "tenax_queue_depth", queue=name, state="ready")
        for name in ("a", "b", "c", "other")
    }
    assert depths == {"a": 1, "b": 1, "c": None, "other": 2}
