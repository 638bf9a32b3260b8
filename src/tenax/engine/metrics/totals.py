"""Turns the counts of a part of the log into additions to the totals, which are the counters of `/metrics`."""

from __future__ import annotations

from collections import defaultdict

from tenax.engine.metrics.labels import Named
from tenax.model.metrics.counts import Counts

ATTEMPTS = "attempts"
"""By step, outcome and class."""
ATTEMPT_SECONDS = "attempt_seconds"
"""By step."""
RETRIES = "retries"
"""By reason."""
RECOVERED = "recovered"
"""Retries that succeeded, or failed (`FAILED_AGAIN`)."""
FAILED_AGAIN = "failed_again"
EVENTS = "events"
"""By kind."""
LATENESS = "lateness"
"""By the index of the bucket."""
LATENESS_SECONDS = "lateness_seconds"

Total = tuple[str, tuple[str, ...]]


def totals_of(counts: Counts, named: Named) -> dict[Total, float]:
    found: defaultdict[Total, float] = defaultdict(float)
    for key, count in counts.attempts.items():
        step = named["step", key.step]
        found[ATTEMPTS, (step, key.outcome, key.class_)] += count.n
        found[ATTEMPT_SECONDS, (step,)] += count.seconds
        if key.after_class and key.outcome == "succeeded":
            found[RECOVERED, ()] += count.n
        elif key.after_class and key.outcome in ("failed", "not_completed", "lost", "expired"):
            found[FAILED_AGAIN, ()] += count.n
    for reason, n in counts.retries.items():
        found[RETRIES, (named["reason", reason] or "unknown",)] += n
    for (_, _, kind), n in counts.events.items():
        found[EVENTS, (kind,)] += n
    for (_, bucket), late in counts.lateness.items():
        found[LATENESS, (str(bucket),)] += late.n
        found[LATENESS_SECONDS, ()] += late.seconds
    return found
