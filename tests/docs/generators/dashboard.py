"""Makes the dashboard for Grafana, by Grafana's own builders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.builders import prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE = DataSourceRef(type_val="prometheus", uid="${source}")
HEIGHT, WIDTH = 8, 8  # of 24 columns
Queries = Mapping[str, str]
"""Queries by the legend of their series."""
ROWS: Mapping[str, Sequence[tuple[str, str, Queries]]] = {
    "Retries": (
        ("Retry rate", "percentunit", {"rate": "max(tenax_retry_rate)", "alert above": 'max(tenax_alert_threshold{alert="retry_rate"})'}),
        ("Retries that succeed", "percentunit",
         {"rate": "max(tenax_retry_success_rate)", "alert below": 'max(tenax_alert_threshold{alert="retry_success"})'}),
        ("Retries by reason", "ops", {"{{reason}}": "sum by (reason) (rate(tenax_retries_total[$__rate_interval]))"}),
        ("Lateness of retries", "s",
         {"p50": "histogram_quantile(0.5, sum by (le) (rate(tenax_retry_lateness_seconds_bucket[$__rate_interval])))",
          "p99": "histogram_quantile(0.99, sum by (le) (rate(tenax_retry_lateness_seconds_bucket[$__rate_interval])))"}),
        ("Retries for each execution", "none", {"retries": "max(tenax_retries_per_execution)"}),
        ("Ends of retries", "ops", {"{{result}}": "sum by (result) (rate(tenax_retries_ended_total[$__rate_interval]))"}),
    ),
    "Attempts": (
        ("Attempts by outcome", "ops", {"{{outcome}}": "sum by (outcome) (rate(tenax_attempts_total[$__rate_interval]))"}),
        ("Failures by step and class", "ops",
         {"{{step}} {{class}}": 'sum by (step, class) (rate(tenax_attempts_total{class!=""}[$__rate_interval]))'}),
        ("Failure rate", "percentunit", {"failures": "max(tenax_failure_rate)"}),
        ("Dead letters", "none", {"open": "max(tenax_dead_letters)"}),
        ("Executions", "ops", {"{{event}}": "sum by (event) (rate(tenax_executions_total[$__rate_interval]))"}),
        ("Seconds of an attempt", "s",
         {"{{step}}": "sum by (step) (rate(tenax_attempt_seconds_total[$__rate_interval])) / "
                      "sum by (step) (rate(tenax_attempts_total[$__rate_interval]))"}),
        ("Lost leases and late results", "ops",
         {"lost": "sum(rate(tenax_leases_lost_total[$__rate_interval]))", "late": "sum(rate(tenax_late_results_total[$__rate_interval]))"}),
    ),
    "Queues and workers": (
        ("Items in queues", "none", {"{{queue}} {{state}}": "sum by (queue, state) (tenax_queue_depth)"}),
        ("Oldest ready item", "s", {"{{queue}}": "max by (queue) (tenax_queue_age_seconds)"}),
        ("Workers by health", "none", {"{{health}}": "sum by (health) (tenax_workers)"}),
        ("Leased items of a worker", "none",
         {"average": "max(tenax_worker_queue_depth_average)", "alert above": 'max(tenax_alert_threshold{alert="queue_depth"})'}),
        ("Failure rate of a worker", "percentunit", {"average": "max(tenax_worker_failure_rate_average)"}),
        ("Alerts", "none", {"{{alert}}": "max by (alert) (tenax_alert_firing)"}),
        ("Lag of the counts", "s", {"lag": "max(tenax_roll_up_lag_seconds)"}),
    ),
    "Servers": (
        ("Batches", "ops", {"{{instance}} {{batch}}": "sum by (instance, batch) (rate(tenax_commit_seconds_count[$__rate_interval]))"}),
        ("Commit time, p99", "s",
         {"{{batch}}": "histogram_quantile(0.99, sum by (batch, le) (rate(tenax_commit_seconds_bucket[$__rate_interval])))"}),
        ("Size of a batch, average", "none",
         {"{{batch}}": "sum by (batch) (rate(tenax_batch_size_sum[$__rate_interval])) / sum by (batch) (rate(tenax_batch_size_count[$__rate_interval]))"}),
        ("Holds of the event loop", "ops", {"{{instance}}": "sum by (instance) (rate(tenax_loop_holds_total[$__rate_interval]))"}),
        ("Servers that lead", "none", {"servers": "sum(tenax_leader)"}),
        ("Memory", "bytes", {"{{instance}}": "sum by (instance) (process_resident_memory_bytes)"}),
    ),
}  # fmt: skip


def dashboard() -> str:
    """Returns the dashboard as JSON."""
    made = (
        dashboards.Dashboard("Tenax")
        .uid("tenax")
        .tags(["tenax"])
        .refresh("30s")
        .time("now-1h", "now")
        .with_variable(dashboards.DatasourceVariable("source").label("Prometheus").type("prometheus"))
    )
    for title, panels in ROWS.items():
        made = made.with_row(dashboards.Row(title))
        for name, unit, queries in panels:
            made = made.with_panel(_panel(name, unit, queries))
    return JSONEncoder(sort_keys=True, indent=2).encode(made.build()) + "\n"


def _panel(title: str, unit: str, queries: Queries) -> timeseries.Panel:
    panel = timeseries.Panel().title(title).unit(unit).datasource(SOURCE).height(HEIGHT).span(WIDTH).min(0)
    for place, (legend, query) in enumerate(queries.items()):
        target = prometheus.Dataquery().expr(query).legend_format(legend).ref_id("ABC"[place])
        panel = panel.with_target(target)
    return panel
