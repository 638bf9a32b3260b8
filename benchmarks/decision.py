"""Measures the decision on a failed attempt. It is a pure function, so it takes only processor time."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.arena import Arena
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import median
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import Controls, Ledger
from tenax.model.policy import Policy
from tenax.policy.retry.decide import decide
from tenax.policy.retry.resolve import compile_policy

MEASURE = "decision"
MARKS = {"without a condition": Mark("at most", 15), "with a condition": Mark("at most", 40)}
_BATCHES, _BATCH = 200, 100

_UNAVAILABLE = Outcome(
    "failed",
    facts=Facts(
        message="the service is unavailable",
        status_code=503,
        retry_after=2.0,
        dependency="api.example.com",
        data={"error": {"code": "unavailable", "detail": "try again"}},
    ),
)
_LEDGER = Ledger(counted=1, by_class={"transient": 1})
_POLICIES = {
    "without a condition": Policy(max_attempts=5),
    "with a condition": Policy(
        max_attempts=5, retry_when="{{ status_code >= 500 and data.error.code == 'unavailable' }}"
    ),
}


async def measure(_: Arena, plan: Plan) -> list[Figure]:
    found: dict[str, list[float]] = {name: [] for name in _POLICIES}
    for n in plan.each_round(MEASURE, warm_up=True, figures=lambda: _figures(found)):
        for name, policy in _POLICIES.items():
            took = _microseconds(_case(policy))
            plan.say(f"{MEASURE} round {n}: {name}: {took:.1f} µs")
            if n > 0:
                found[name].append(took)
    return _figures(found)


def _figures(found: dict[str, list[float]]) -> list[Figure]:
    return [
        Figure(MEASURE, f"a failed attempt, {name}", "µs", tuple(values), MARKS[name])
        for name, values in found.items()
    ]


def _case(policy: Policy) -> Callable[[], object]:
    """Returns a call that decides to retry a second failure, as the engine makes it."""
    compiled, controls = compile_policy(policy), Controls()

    def ask() -> object:
        return decide(
            compiled,
            _LEDGER,
            _UNAVAILABLE,
            attempt=2,
            elapsed=3.5,
            controls=controls,
            roll=0.5,
            execution_id=4711,
            step="fetch",
        )

    verdict = decide(
        compiled, _LEDGER, _UNAVAILABLE, attempt=2, elapsed=3.5, controls=controls, roll=0.5
    ).verdict
    assert verdict == "retry", f"the decision is {verdict}"
    return ask


def _microseconds(ask: Callable[[], object]) -> float:
    """Returns the processor time of one decision in microseconds: the median of many batches."""
    took: list[float] = []
    for _ in range(_BATCHES):
        begun = time.thread_time()
        for _ in range(_BATCH):
            ask()
        took.append(1e6 * (time.thread_time() - begun) / _BATCH)
    return median(took)
