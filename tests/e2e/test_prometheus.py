"""The files for Prometheus and Grafana, with the real Prometheus of Debian's package: `apt-get install prometheus`."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.processes import Household, free_port
from support.waiting import eventually

from tenax.credentials.token_file import read_token
from tenax.model.wire import Submission
from tenax.monitoring import DASHBOARD, RULES, read_file

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        shutil.which("prometheus") is None or shutil.which("promtool") is None,
        reason="needs Debian's package prometheus, which `make test-full` installs where it may",
    ),
]
WORKFLOW = """
name: shop
workflow:
  - step: pay
    type: process
    command: ["sh", "-c", "test $TENAX_ATTEMPT -gt 1"]
    retry: {max_attempts: 3, initial_delay: 50ms, jitter: 0}
  - {step: rest, type: process, command: ["sleep", "0.2"], needs: [pay]}
"""
RULE_TESTS = """
rule_files: [tenax.rules.yml]
evaluation_interval: 30s
tests:
  - interval: 30s
    input_series:
      - {series: 'tenax_retry_rate{instance="a"}', values: '0.5x10'}
      - {series: 'tenax_alert_threshold{instance="a", alert="retry_rate"}', values: '0.2x10'}
      - {series: 'tenax_alert_firing{instance="a", alert="retry_rate"}', values: '1x10'}
      - {series: 'tenax_retry_success_rate{instance="a"}', values: '0.1x10'}
      - {series: 'tenax_alert_threshold{instance="a", alert="retry_success"}', values: '0.7x10'}
      - {series: 'tenax_alert_firing{instance="a", alert="retry_success"}', values: '0x10'}
      - {series: 'tenax_unhealthy_workers_rate{instance="a"}', values: '0.6x10'}
      - {series: 'tenax_alert_threshold{instance="a", alert="unhealthy_workers"}', values: '0.5x10'}
      - {series: 'tenax_worker_queue_depth_average{instance="a"}', values: '20x10'}
      - {series: 'tenax_alert_threshold{instance="a", alert="queue_depth"}', values: '20x10'}
    alert_rule_test:
      - eval_time: 2m
        alertname: TenaxRetryRateHigh
        exp_alerts: [{exp_labels: {severity: warning, instance: a},
                      exp_annotations: {summary: "Retries are 50% of first attempts",
                        description: "`tenax stats --by reason` says which failures are retried, and `tenax top` shows the newest ones."}}]
      - {eval_time: 2m, alertname: TenaxRetrySuccessLow, exp_alerts: []}  # too few attempts
      - eval_time: 2m
        alertname: TenaxUnhealthyWorkers
        exp_alerts: [{exp_labels: {severity: critical, instance: a},
                      exp_annotations: {summary: "60% of the workers are unhealthy",
                        description: "`tenax workers` lists them with the reason."}}]
      - {eval_time: 2m, alertname: TenaxQueueDepthHigh, exp_alerts: []}
"""


def test_promtool_finds_nothing_wrong_with_the_rules(tmp_path: Path) -> None:
    (tmp_path / RULES).write_text(read_file(RULES))
    (tmp_path / "tests.yml").write_text(RULE_TESTS)
    for words in (["check", "rules", RULES], ["test", "rules", "tests.yml"]):
        ran = subprocess.run(["promtool", *words], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture
def household(tmp_path: Path, database_url: str) -> Iterator[Household]:
    with Household(tmp_path, tmp_path / "home", database_url=database_url) as home:
        home.up()
        yield home


@pytest.fixture
def prometheus(household: Household, tmp_path: Path) -> Iterator[httpx2.Client]:
    """A Prometheus that scrapes the server of the household each half second, with the shipped rules."""
    (tmp_path / RULES).write_text(read_file(RULES))
    config = {
        "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
        "rule_files": [RULES],
        "scrape_configs": [
            {
                "job_name": "tenax",
                "authorization": {"credentials": read_token(household.home)},
                "static_configs": [{"targets": [f"127.0.0.1:{household.port}"]}],
            }
        ],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    process = subprocess.Popen(
        ["prometheus", "--config.file=prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
         f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
        cwd=tmp_path,
    )  # fmt: skip
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            eventually(lambda: _is_up(client))
            yield client
    finally:
        process.terminate()
        process.wait()


def _is_up(client: httpx2.Client) -> bool:
    try:
        return client.get("/-/ready").status_code == 200
    except httpx2.TransportError:
        return False


def queries() -> list[tuple[str, str]]:
    panels = [panel for panel in json.loads(read_file(DASHBOARD))["panels"] if panel["type"] != "row"]
    assert len(panels) >= 20
    return [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]


def answered(client: httpx2.Client, query: str) -> list[Any]:
    answer = client.get("/api/v1/query", params={"query": query.replace("$__rate_interval", "30s")}).json()
    assert answer["status"] == "success", (query, answer)
    return list(answer["data"]["result"])


def test_every_query_of_the_dashboard_gives_series(household: Household, prometheus: httpx2.Client) -> None:
    with household.client() as client:
        for _ in range(3):
            client.submit(Submission(source=WORKFLOW))
        eventually(lambda: client.overview()["figures"]["executions_completed"] == 3, timeout=60)
        ahead = dict.fromkeys(queries())
        while ahead:
            client.wait(client.submit(Submission(source=WORKFLOW)).id)  # rates need two scrapes that differ
            for one in list(ahead):
                if answered(prometheus, one[1]):
                    del ahead[one]
                    break
            else:
                eventually(lambda: any(answered(prometheus, query) for _, query in ahead), timeout=30)
        eventually(lambda: answered(prometheus, "tenax_retry_rate > 0"))


def test_the_rules_fire_on_what_a_server_exports(household: Household, prometheus: httpx2.Client) -> None:
    """Every execution of the workflow needs a retry, so the rate is 100 %."""
    with household.client() as client:
        for _ in range(20):  # `alert_min_attempts`
            client.submit(Submission(source=WORKFLOW))
        eventually(lambda: client.overview()["figures"]["executions_completed"] == 20, timeout=120)
        eventually(lambda: client.alerts()["firing"])

    def states() -> dict[str, tuple[str, str]]:
        [group] = prometheus.get("/api/v1/rules").json()["data"]["groups"]
        return {one["name"]: (one["health"], one["state"]) for one in group["rules"]}

    # `for: 1m` has not passed. The expression is true, and the others are evaluated and false.
    eventually(lambda: states()["TenaxRetryRateHigh"] == ("ok", "pending"))
    assert {name: state for name, state in states().items() if name != "TenaxRetryRateHigh"} == dict.fromkeys(
        ("TenaxUnhealthyWorkers", "TenaxRetrySuccessLow", "TenaxQueueDepthHigh"), ("ok", "inactive")
    )
    assert answered(prometheus, 'tenax_alert_firing{alert="retry_rate"} == 1')
