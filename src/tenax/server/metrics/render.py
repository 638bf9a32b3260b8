"""Makes the text of `/metrics`. Each answer has a registry of its own, so nothing is registered in the process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from tenax import __version__
from tenax.engine.measures import Histogram, Measures
from tenax.engine.metrics.snapshot import Snapshot
from tenax.model.fleet.views import Queue
from tenax.model.metrics.counts import LATENESS_BOUNDS
from tenax.server.metrics.declared import METRICS
from tenax.server.watchdog import Watchdog

OTHER = "other"
_STATES = ("ready", "waiting", "running", "blocked")
Samples = Iterable[tuple[Sequence[str], float]]


class _Families(Collector):
    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Sequence[Family]:
        return self._families


def render(families: Iterable[Family]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(list(families)))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def families_of_server(measures: Measures, watchdog: Watchdog, *, leads: bool) -> Iterator[Family]:
    """Yields the metrics that each server exports of itself."""
    yield _gauge("tenax_leader", [((), float(leads))])
    yield _gauge("tenax_build_info", [((__version__,), 1.0)])
    yield _histograms("tenax_batch_size", {name: one.sizes for name, one in measures.batches.items()})
    yield _histograms("tenax_commit_seconds", {name: one.seconds for name, one in measures.batches.items()})
    yield _counter("tenax_loop_holds_total", [((), watchdog.holds)])
    yield _gauge("tenax_loop_hold_longest_seconds", [((), watchdog.longest)])


def families_of_database(snapshot: Snapshot, most: int) -> Iterator[Family]:
    """Yields the metrics of the whole database. `most` bounds the values of the label `queue`."""
    totals, figures = snapshot.totals, snapshot.figures
    events = {labels[0]: n for labels, n in totals.get("events", {}).items()}
    attempts = totals.get("attempts", {})
    yield _counter("tenax_attempts_total", attempts.items())
    yield _counter("tenax_attempt_seconds_total", totals.get("attempt_seconds", {}).items())
    yield _counter("tenax_first_attempts_total", [((), events.get("first_attempt", 0))])
    yield _counter("tenax_retries_total", totals.get("retries", {}).items())
    ended = [(("succeeded",), "recovered"), (("failed",), "failed_again")]
    yield _counter(
        "tenax_retries_ended_total", [(label, totals.get(name, {}).get((), 0)) for label, name in ended]
    )
    yield _lateness(totals)
    states = ("started", "completed", "failed", "cancelled")
    yield _counter("tenax_executions_total", [((one,), events.get(f"execution_{one}", 0)) for one in states])
    lost = sum(n for (_, outcome, _), n in attempts.items() if outcome == "lost")
    yield _counter("tenax_leases_lost_total", [((), lost)])
    yield _counter("tenax_late_results_total", [((), events.get("late_result", 0))])
    yield from _queues(snapshot.queues, snapshot.ages, most)
    yield _gauge("tenax_workers", [((health,), n) for health, n in figures.workers.items()])
    for name, value in (
        ("tenax_dead_letters", figures.dead_letters),
        ("tenax_worker_queue_depth_average", figures.average_queue_depth),
        ("tenax_worker_failure_rate_average", figures.average_failure_rate),
        ("tenax_unhealthy_workers_rate", figures.unhealthy_rate),
        ("tenax_retry_rate", figures.retry_rate),
        ("tenax_retry_success_rate", figures.retry_success_rate),
        ("tenax_retries_per_execution", figures.retries_per_execution),
        ("tenax_failure_rate", figures.failure_rate),
    ):
        yield _gauge(name, [((), float("nan") if value is None else value)])
    yield _gauge("tenax_alert_firing", [((one.name,), float(one.firing)) for one in snapshot.alerts])
    yield _gauge("tenax_alert_threshold", [((one.name,), one.threshold) for one in snapshot.alerts])
    yield _gauge("tenax_roll_up_lag_seconds", [((), snapshot.lag)])


def _queues(queues: Sequence[Queue], ages: Mapping[str, float], most: int) -> Iterator[Family]:
    """Yields the metrics of queues. Queues beyond the first ones are counted together, under the name `other`."""
    depths: dict[tuple[str, str], float] = {}
    oldest: dict[str, float] = {}
    for place, queue in enumerate(queues):
        name = queue.queue if place < most else OTHER
        for state in _STATES:
            depths[name, state] = depths.get((name, state), 0) + getattr(queue, state)
        oldest[name] = max(oldest.get(name, 0.0), ages.get(queue.queue, 0.0))
    yield _gauge("tenax_queue_depth", depths.items())
    yield _gauge("tenax_queue_age_seconds", [((name,), age) for name, age in oldest.items()])


def _lateness(totals: Mapping[str, Mapping[tuple[str, ...], float]]) -> Family:
    counts = totals.get("lateness", {})
    histogram = Histogram(LATENESS_BOUNDS)
    histogram.counts = [int(counts.get((str(index),), 0)) for index in range(len(LATENESS_BOUNDS) + 1)]
    histogram.sum = totals.get("lateness_seconds", {}).get((), 0.0)
    family = HistogramMetricFamily(
        "tenax_retry_lateness_seconds", METRICS["tenax_retry_lateness_seconds"].help
    )
    family.add_metric([], _buckets(histogram), histogram.sum)
    return family


def _histograms(name: str, histograms: Mapping[str, Histogram]) -> Family:
    metric = METRICS[name]
    family = HistogramMetricFamily(name, metric.help, labels=metric.labels)
    for label, histogram in histograms.items():
        family.add_metric([label], _buckets(histogram), histogram.sum)
    return family


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    sums, buckets = 0, []
    for bound, n in zip((*map(str, histogram.bounds), "+Inf"), histogram.counts, strict=True):
        sums += n
        buckets.append((bound, float(sums)))
    return buckets


def _counter(name: str, samples: Samples) -> Family:
    metric = METRICS[name]
    return _filled(CounterMetricFamily(name, metric.help, labels=metric.labels), samples)


def _gauge(name: str, samples: Samples) -> Family:
    metric = METRICS[name]
    return _filled(GaugeMetricFamily(name, metric.help, labels=metric.labels), samples)


def _filled(family: CounterMetricFamily | GaugeMetricFamily, samples: Samples) -> Family:
    for labels, value in samples:
        family.add_metric(labels, value)
    return family
