"""Declares every metric once: its type, its labels, what it says, and which servers export it. The table of the docs is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["counter", "gauge", "histogram"]
By = Literal["leader", "server"]
"""`leader`: the metric is of the whole database, and only the leading server exports it, so that no sum counts it twice. `server`: each
server exports its own."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    type: Type
    labels: tuple[str, ...]
    help: str
    by: By = "leader"


def _all(*metrics: Metric) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


METRICS = _all(
    Metric(
        "tenax_attempts_total",
        "counter",
        ("step", "outcome", "class"),
        "attempts that ended; the class is that of the failure, or empty",
    ),
    Metric("tenax_attempt_seconds_total", "counter", ("step",), "seconds that ended attempts took"),
    Metric("tenax_first_attempts_total", "counter", (), "first attempts of work items that started"),
    Metric(
        "tenax_retries_total", "counter", ("reason",), "retries that started, by the reason of the failure"
    ),
    Metric(
        "tenax_retries_ended_total", "counter", ("result",), "retries that ended: `succeeded` or `failed`"
    ),
    Metric(
        "tenax_retry_lateness_seconds", "histogram", (), "seconds from the due time of retries to their start"
    ),
    Metric(
        "tenax_executions_total",
        "counter",
        ("event",),
        "executions that started or ended: `started`, `completed`, `failed` or `cancelled`",
    ),
    Metric("tenax_leases_lost_total", "counter", (), "leases that ran out, or whose worker died"),
    Metric(
        "tenax_late_results_total",
        "counter",
        (),
        "reports and callbacks that were recorded and not applied: late ones, or a second one of an attempt",
    ),
    Metric(
        "tenax_dead_letters", "gauge", (), "open dead letters: items that failed for good, or are quarantined"
    ),
    Metric(
        "tenax_queue_depth",
        "gauge",
        ("queue", "state"),
        "work items that are `ready`, `waiting` for a due retry, `running`, or `blocked` at a limit",
    ),
    Metric("tenax_queue_age_seconds", "gauge", ("queue",), "for how long the oldest ready item waits"),
    Metric("tenax_workers", "gauge", ("health",), "live workers"),
    Metric(
        "tenax_worker_queue_depth_average",
        "gauge",
        (),
        "attempts that a live worker has leased and not reported, on average",
    ),
    Metric(
        "tenax_worker_failure_rate_average",
        "gauge",
        (),
        "failure rate of a live worker by which its health is judged, on average",
    ),
    Metric("tenax_unhealthy_workers_rate", "gauge", (), "share of the live workers that are unhealthy"),
    Metric("tenax_retry_rate", "gauge", (), "retries in proportion to first attempts, in `metrics_window`"),
    Metric("tenax_retry_success_rate", "gauge", (), "share of retries that succeed, in `metrics_window`"),
    Metric(
        "tenax_retries_per_execution",
        "gauge",
        (),
        "retries in proportion to executions that started, in `metrics_window`",
    ),
    Metric("tenax_failure_rate", "gauge", (), "share of attempts that fail, in `metrics_window`"),
    Metric("tenax_alert_firing", "gauge", ("alert",), "1 if the alert fires by the settings of this server"),
    Metric("tenax_alert_threshold", "gauge", ("alert",), "threshold of the alert in these settings"),
    Metric(
        "tenax_roll_up_lag_seconds",
        "gauge",
        (),
        "seconds by which the counts are behind the log; they fall behind in a burst",
    ),
    Metric("tenax_leader", "gauge", (), "1 on the server that leads", by="server"),
    Metric("tenax_build_info", "gauge", ("version",), "always 1", by="server"),
    Metric(
        "tenax_batch_size",
        "histogram",
        ("batch",),
        "calls of a batch: `submissions`, `claims` (leased items) or `reports`",
        by="server",
    ),
    Metric(
        "tenax_commit_seconds",
        "histogram",
        ("batch",),
        "seconds from the beginning of a batch to its commit",
        by="server",
    ),
    Metric(
        "tenax_loop_holds_total",
        "counter",
        (),
        "how often the event loop was held for longer than `loop_hold`",
        by="server",
    ),
    Metric("tenax_loop_hold_longest_seconds", "gauge", (), "longest hold of the event loop", by="server"),
)
