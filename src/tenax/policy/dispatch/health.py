"""Judges the health of each worker by the contract's table. A floor keeps enough of the able workers at work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tenax.model.fleet.health import HEALTHS, Health, HealthTerms, WorkerState

Value = float | str | None
"""The value of a column: a number, a health, a truth value, or None if unknown."""

FAILURE_COLUMNS = frozenset({"consecutive_failures", "failure_rate"})
"""The columns that concern failed work. The floor applies to them, and a probe may clear them."""

_Group = tuple[str | int, str, tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """Holds the data that the server has of a worker, from its own observations and from the worker's reports."""

    name: str
    runtimes: tuple[str, ...]
    queues: tuple[str, ...]
    labels: Mapping[str, str]
    slots: int
    state: WorkerState
    health: Health
    """The current verdict."""
    heartbeat_age: float
    consecutive_failures: int
    last_failure_age: float | None
    queue_depth: int
    runs: int
    failures: int
    """The failures in the window."""
    reported_status: Health | None
    recovering: bool
    serves: int | None = None
    """The only execution that it works for, if there is one."""


@dataclass(frozen=True, slots=True)
class HealthTest:
    """Is one column of the table: a value, and the thresholds from which it is bad. A threshold of None is never reached."""

    name: str
    value: Value
    degraded_at: Value
    unhealthy_at: Value
    health: Health


@dataclass(frozen=True, slots=True)
class Verdict:
    """Holds the health of a worker, with the column that decided: the first of the worst columns."""

    health: Health
    column: str | None = None
    value: Value = None
    threshold: Value = None
    floored: bool = False
    """True if its failures would make the worker unhealthy, but too few other workers could do its work."""


def health_tests(seen: WorkerFacts, terms: HealthTerms) -> tuple[HealthTest, ...]:
    """Returns the table for one worker. Of equally bad columns the first one is named."""
    return (
        _graded("heartbeat_age", seen.heartbeat_age, None, terms.unhealthy_silence),
        _streak(seen, terms),
        _graded(
            "queue_depth",
            seen.queue_depth,
            max(terms.degraded_depth, seen.slots + 1),
            max(terms.unhealthy_depth, 2 * seen.slots),
        ),
        _graded("failure_rate", _rate(seen, terms), terms.degraded_rate, terms.unhealthy_rate),
        HealthTest(
            "reported_status",
            seen.reported_status,
            "degraded",
            "unhealthy",
            seen.reported_status or "healthy",
        ),
        HealthTest("recovering", seen.recovering, True, None, "degraded" if seen.recovering else "healthy"),
    )


def streak_is_over(seen: WorkerFacts, terms: HealthTerms) -> bool:
    """Returns whether a streak of failures that made the worker degraded ends now, because its last failure is older than the window.

    The count of failures ends with the streak, so that the next failure is the first of a new one. A streak that made the worker unhealthy
    does not end by itself. A probe or a person ends it.
    """
    degraded = terms.degraded_failures <= seen.consecutive_failures < terms.unhealthy_failures
    return degraded and seen.last_failure_age is not None and seen.last_failure_age > terms.window


def judge(seen: WorkerFacts, terms: HealthTerms) -> Verdict:
    """Judges one worker by its worst column, without the floor."""
    return _verdict(health_tests(seen, terms))


def judge_fleet(fleet: Sequence[WorkerFacts], terms: HealthTerms) -> dict[str, Verdict]:
    """Judges all workers, by name.

    Failures make at most half of the workers that can do the same work unhealthy. Workers that are unhealthy already come first, then the
    worse ones. The rest are spared.
    """
    verdicts: dict[str, Verdict] = {}
    able: Counter[_Group] = Counter()
    failing: list[WorkerFacts] = []
    for seen in fleet:
        table = health_tests(seen, terms)
        verdicts[seen.name] = verdict = _verdict(table)
        if seen.state == "active" and not _is_out_of_reach(table):
            able.update(_groups(seen))
            if verdict.health == "unhealthy":
                failing.append(seen)
    taken: Counter[_Group] = Counter()
    for seen in sorted(failing, key=lambda one: _worst_first(one, terms)):
        groups = list(_groups(seen))
        if all(taken[group] < able[group] // 2 for group in groups):
            taken.update(groups)
        else:
            verdicts[seen.name] = replace(verdicts[seen.name], health="degraded", floored=True)
    return verdicts


def may_be_spared(seen: WorkerFacts, fleet: Iterable[WorkerFacts], verdicts: Mapping[str, Verdict]) -> bool:
    """Returns whether other workers can do everything that this one can do."""
    there = {
        group
        for one in fleet
        if one.name != seen.name and one.state == "active" and verdicts[one.name].health != "unhealthy"
        for group in _groups(one)
    }
    return there.issuperset(_groups(seen))


def may_probe(health: Health, column: str | None, state: WorkerState, terms: HealthTerms) -> bool:
    """Returns whether the worker may get one item as a probe, to show whether it has recovered."""
    return terms.probing and state == "active" and health == "unhealthy" and column in FAILURE_COLUMNS


def _graded(name: str, value: float | None, degraded_at: float | None, unhealthy_at: float) -> HealthTest:
    health: Health = "healthy"
    if value is not None and value >= unhealthy_at:
        health = "unhealthy"
    elif value is not None and degraded_at is not None and value >= degraded_at:
        health = "degraded"
    return HealthTest(name, value, degraded_at, unhealthy_at, health)


def _streak(seen: WorkerFacts, terms: HealthTerms) -> HealthTest:
    failures = 0 if streak_is_over(seen, terms) else seen.consecutive_failures
    return _graded("consecutive_failures", failures, terms.degraded_failures, terms.unhealthy_failures)


def _rate(seen: WorkerFacts, terms: HealthTerms) -> float | None:
    return seen.failures / seen.runs if seen.runs >= max(terms.min_runs, 1) else None


def _verdict(table: Sequence[HealthTest]) -> Verdict:
    worst = max(table, key=lambda column: HEALTHS.index(column.health))
    match worst.health:
        case "healthy":
            return Verdict("healthy")
        case "degraded":
            return Verdict("degraded", worst.name, worst.value, worst.degraded_at)
        case "unhealthy":
            return Verdict("unhealthy", worst.name, worst.value, worst.unhealthy_at)


def _is_out_of_reach(table: Sequence[HealthTest]) -> bool:
    """Returns whether the worker could do no work now, apart from its failures."""
    return any(column.health == "unhealthy" and column.name not in FAILURE_COLUMNS for column in table)


def _groups(seen: WorkerFacts) -> Iterator[_Group]:
    """Returns the kinds of work that the worker can do. Enough workers must stay for each of them."""
    for runtime in set(seen.runtimes):
        if seen.serves is not None:
            yield seen.serves, runtime, None
            continue
        for queue in set(seen.queues):
            yield queue, runtime, None
            for label in seen.labels.items():
                yield queue, runtime, label


def _worst_first(seen: WorkerFacts, terms: HealthTerms) -> tuple[bool, int, float, str]:
    return seen.health != "unhealthy", -seen.consecutive_failures, -(_rate(seen, terms) or 0.0), seen.name
