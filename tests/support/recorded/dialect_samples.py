"""Translates the sample files of `tests/dialects`, and finds the schedules of their policies.

`PYTHONPATH=tests python tests/support/recorded/dialect_samples.py` prints the schedules, and writes the reports anew: to be read before they
are committed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tenax.dialects.translate import Import, joined, translate_text
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.decision import NO_CONTROLS, Ledger
from tenax.model.parse.retry_fields import parse_retry
from tenax.model.policy import Policy
from tenax.model.source.yaml_source import read_source
from tenax.policy.retry.decide import decide
from tenax.policy.retry.resolve import compile_policy, resolve_policy

HERE = Path(__file__).parents[2] / "dialects"
MOST_SHOWN = 12  # delays of one line
LOST = ("worker_lost", "worker_unavailable", "queue_timeout")
SAMPLES = sorted(path for path in (HERE / "samples").glob("*/*") if path.suffix in (".yaml", ".json"))
NAMES = [f"{path.parent.name}/{path.name}" for path in SAMPLES]


@cache
def imported(name: str) -> Import:
    path = HERE / "samples" / name
    return joined([translate_text(path.read_bytes(), filename=path.name)])


def steps_of(name: str) -> dict[str, dict[str, Any]]:
    """Returns the steps of all workflows of a sample, by `WORKFLOW STEP`."""
    return {
        f"{one.name} {step['step']}": step
        for one in imported(name).workflows
        for step in read_source(one.text).data["workflow"]
    }


def policy_of(step: dict[str, Any]) -> Policy:
    patch, mistakes = parse_retry(step["retry"], ("retry",))
    assert mistakes == []
    return resolve_policy([patch])


def facts_of(reason: str) -> Facts:
    """Returns the facts of a failure with this reason."""
    kind, _, rest = reason.partition("_")
    match kind:
        case "http":
            return Facts(status_code=int(rest))
        case "exit":
            return Facts(exit_code=int(rest.removeprefix("code_")))
        case "signal":
            return Facts(signal=int(rest))
        case "exception":
            return Facts(exception=rest)
        case "timeout":
            return Facts(timed_out=True)
        case _ if reason in LOST:
            return Facts(failure_class=reason)  # type: ignore[arg-type]  # one of the classes
        case "logical":
            return Facts(fatal=True)
        case _:
            return Facts(connection="refused")


def without_jitter(policy: Policy) -> Policy:
    return replace(policy, jitter=0.0, rules=tuple(replace(rule, jitter=0.0) for rule in policy.rules))


def schedule(policy: Policy, reason: str) -> tuple[int | None, list[float]]:
    """Returns the attempts and the delays if all attempts fail with this reason. None means more than are shown."""
    compiled = compile_policy(without_jitter(policy))
    ledger, delays, elapsed = Ledger(), [], 0.0
    for attempt in range(1, MOST_SHOWN + 2):
        decision = decide(
            compiled,
            ledger,
            Outcome("failed", facts=facts_of(reason)),
            attempt=attempt,
            elapsed=elapsed,
            controls=NO_CONTROLS,
            roll=0.5,
        )
        if decision.verdict != "retry":
            return attempt, delays
        assert decision.delay is not None
        delays.append(round(decision.delay.delay, 6))
        elapsed += decision.delay.delay
        ledger = decision.after
    return None, delays[:MOST_SHOWN]


def words(policy: Policy, reason: str) -> str:
    attempts, delays = schedule(policy, reason)
    shown = " ".join(f"{delay:g}" for delay in delays)
    jitter = f" ~{policy.jitter}" if policy.jitter else ""
    return (
        f"{'*' if attempts is None else attempts}: {shown}{' ...' if attempts is None else ''}".strip()
        + jitter
    )


def default_reason(step: dict[str, Any]) -> str:
    return "http_503" if step["type"] == "http" else "exit_code_1"


def main() -> None:
    for name in NAMES:
        target = HERE / "reports" / f"{name}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{entry}\n" for entry in imported(name).entries))
        for key, step in steps_of(name).items():
            if "retry" in step:
                print(name, key, words(policy_of(step), default_reason(step)))


if __name__ == "__main__":
    main()
