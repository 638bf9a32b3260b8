"""What `tenax decide` is asked with: a policy, an outcome and a ledger in the words of the contract."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from tenax.cli.definitions import default_retry, policies_of
from tenax.cli.inputs import STDIN, parse_json, read_bytes
from tenax.errors import Finding, InvalidDefinition, UsageError
from tenax.model.decision import Ledger
from tenax.model.durations import parse_duration, parse_retry_after
from tenax.model.findings import Findings, format_path, name_kind, shorten, suggest, suggest_or_list
from tenax.model.outcome import (
    FAILURE_CLASSES,
    Connection,
    Facts,
    Failure,
    Outcome,
    OutcomeStatus,
    ResultFile,
    Usage,
)
from tenax.model.policy import Policy
from tenax.model.retry_fields import parse_retry
from tenax.model.yaml_source import Source, read_source
from tenax.policy.check import load_workflow
from tenax.policy.ledgers import forgiven_classes
from tenax.policy.resolve import PolicyError, resolve_policy
from tenax.sdk.files import decode_text

# -- the policy


def read_policy(given: str, step: str | None) -> Policy:
    """A policy from JSON on the command line, from a file of one, or of a step of a workflow file."""
    text, filename = _text_of(given)
    try:
        source = read_source(text, filename=filename)
    except InvalidDefinition as error:
        raise _of_policy(error, filename) from None
    data = source.data
    if isinstance(data, dict) and "workflow" in data:
        return _policy_of_step(text, filename, step)
    if step is not None:
        raise UsageError("--step is for a workflow file, and --policy is none")
    if filename is None and isinstance(data, str):
        raise UsageError(
            f"--policy {shorten(given)}: neither a file nor a policy",
            remedy='write the name of a file, or JSON such as {"max_attempts": 3}, 3, true or false',
        )
    path: tuple[str, ...] = ("retry",) if isinstance(data, dict) and set(data) == {"retry"} else ()
    return _resolved(source, path)


def _text_of(given: str) -> tuple[str, str | None]:
    """The text of a policy, and the file it came from."""
    if given == STDIN:
        return decode_text(read_bytes(given), "<stdin>"), "<stdin>"
    if given.startswith("@"):
        return decode_text(read_bytes(given[1:]), given[1:]), given[1:]
    if _is_file(given):
        return decode_text(read_bytes(given), given), given
    return given, None


def _is_file(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long, or not a path at all: then it is the policy itself
        return False


def _resolved(source: Source, path: tuple[str, ...]) -> Policy:
    findings = Findings(source)
    value = source.data[path[0]] if path else source.data
    patch, wrong = parse_retry(value, path)
    for at, message in wrong:
        findings.add(at, message)
    _refuse(findings, source)
    try:
        return resolve_policy([patch])
    except PolicyError as error:
        for below, message in error.findings:
            findings.add((*path, *below), message)
        _refuse(findings, source)
        raise


def _refuse(findings: Findings, source: Source) -> None:
    try:
        findings.refuse()
    except InvalidDefinition as error:
        raise _of_policy(error, source.filename) from None


def _of_policy(error: InvalidDefinition, filename: str | None) -> InvalidDefinition:
    """Lines and columns only where there is a file to look into; else the flag is named."""
    if filename is not None:
        return error
    return InvalidDefinition([Finding(one.message, path=one.path, file="--policy") for one in error.findings])


def _policy_of_step(text: str, filename: str | None, step: str | None) -> Policy:
    server_retry = default_retry()
    policies = policies_of(load_workflow(text, filename=filename, server_retry=server_retry), server_retry)
    if step is None and len(policies) == 1:
        return next(iter(policies.values()))
    if step is None:
        raise UsageError(
            f"{filename or '--policy'}: a workflow of {len(policies)} steps: say whose policy is meant",
            remedy=f"--step with one of {', '.join(list(policies)[:20])}",
        )
    if step not in policies:
        raise UsageError(
            f"{filename or '--policy'}: there is no step `{shorten(step)}`{suggest(step, policies)}"
        )
    return policies[step]


# -- the outcome

_Reader = Callable[[Any], Any]
_ENDS = tuple(status for status in get_args(OutcomeStatus) if status != "accepted")
"""What is accepted has not ended: there is nothing to decide."""


def read_outcome(given: str) -> Outcome:
    body = _object(given, "--outcome")
    values = _read(body, _OUTCOME, "--outcome")
    if "status" not in values:
        raise UsageError(f"--outcome: `status` is missing: one of {', '.join(_ENDS)}")
    facts = {name: value for name, value in values.items() if name not in ("status", "result", "after")}
    # Of a snooze, `retry_after` can only mean when to run again.
    after = values.get("after", values.get("retry_after") if values["status"] == "snoozed" else None)
    return Outcome(
        status=values["status"],
        result=values.get("result"),
        facts=None if values["status"] == "succeeded" else Facts(**facts),
        after=after,
    )


# -- the ledger


@dataclass(frozen=True, slots=True)
class LedgerEntries:
    """The ledger as people give it: with the attempt that has just ended. The decision starts from the one before it."""

    attempts: int = 1
    by_class: Mapping[str, int] = field(default_factory=dict)
    elapsed: float = 0.0
    previous_delay: float | None = None
    cost: float | None = None
    budget: float | None = None
    snoozes: int = 0

    def before(self, policy: Policy, failure: Failure | None) -> Ledger:
        """Without this attempt: one fewer of all, and of its class. What `infra_attempts` forgave follows from the classes."""
        by_class = dict(self.by_class)
        if failure is not None and by_class.get(failure.failure_class):
            by_class[failure.failure_class] -= 1
        lost = sum(by_class.get(name, 0) for name in forgiven_classes(policy))
        forgives = policy.max_attempts is not None and policy.retryable
        exempted = min(lost, policy.infra_attempts) if forgives else 0
        return Ledger(
            counted=max(self.attempts - 1, 0),
            exempted=exempted,
            by_rule=_by_rule(policy, by_class, exempted),
            by_class={name: count for name, count in by_class.items() if count},
            snoozes=self.snoozes,
            elapsed=self.elapsed,
            previous_delay=self.previous_delay,
            cost=self.cost or 0.0,
            budget=self.budget,
        )

    def priced(self, outcome: Outcome) -> Outcome:
        """A cost that is given has this attempt's in it, so nothing is charged for it again."""
        return outcome if self.cost is None else replace(outcome, usage=Usage(cost_usd=0.0))


def _by_rule(policy: Policy, by_class: Mapping[str, int], exempted: int) -> dict[str, int]:
    """How many attempts ended in each rule, as far as their classes tell. Forgiven ones are in no rule's count."""
    counts: dict[str, int] = {}
    for name, count in by_class.items():
        index = next((str(n) for n, rule in enumerate(policy.rules) if name in rule.on), None)
        if index is not None:
            counts[index] = counts.get(index, 0) + max(
                0, count - (exempted if name in forgiven_classes(policy) else 0)
            )
    return counts


def read_ledger(given: str | None) -> LedgerEntries:
    if given is None:
        return LedgerEntries()
    return LedgerEntries(**_read(_object(given, "--ledger"), _LEDGER, "--ledger"))


# -- reading


def _object(given: str, flag: str) -> dict[str, Any]:
    text, what = (given, flag)
    if given.startswith("@"):
        text, what = decode_text(read_bytes(given[1:]), given[1:]), given[1:]
    body = parse_json(text, what)
    if not isinstance(body, dict):
        raise UsageError(f"{what}: expected a JSON object, found {name_kind(body)}")
    return body


def _read(body: Mapping[str, Any], fields: Mapping[str, tuple[str, _Reader]], flag: str) -> dict[str, Any]:
    """The values by their names inside. null is as good as not given."""
    values: dict[str, Any] = {}
    for key, value in body.items():
        if key not in fields:
            raise UsageError(f"{flag}: unknown key `{shorten(key)}`{suggest_or_list(key, fields)}")
        if value is None:
            continue
        name, reader = fields[key]
        try:
            values[name] = reader(value)
        except ValueError as error:
            raise UsageError(f"{flag}: {format_path((key,))}: {error}") from None
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {name_kind(value)}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {name_kind(value)}")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 10**9:
        raise ValueError(f"expected a whole number, found {name_kind(value)}")
    return value


def _count(value: Any) -> int:
    if (count := _whole(value)) < 0:
        raise ValueError(f"expected a whole number from 0, found {count}")
    return count


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10**15:
        raise ValueError(
            f"expected a number from 0, found {value if isinstance(value, int | float) else name_kind(value)}"
        )
    return float(value)


def _counts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object of classes and counts, found {name_kind(value)}")
    return {_one_of(FAILURE_CLASSES)(name): _count(count) for name, count in value.items()}


def _one_of(known: Sequence[str]) -> _Reader:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(
                f"unknown {shorten(repr(value))}{suggest(str(value), known) if isinstance(value, str) else ''}"
            )
        return str(value)

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list of text, found {name_kind(value)}")
    return tuple(_text(entry) for entry in value)


def _retry_after(value: Any) -> float:
    """As the header has it (seconds or a date), or as a duration."""
    if isinstance(value, str) and (seconds := parse_retry_after(value, datetime.now(UTC))) is not None:
        return seconds
    seconds = parse_duration(value)
    return seconds if math.isfinite(seconds) else 0.0


def _anything(value: Any) -> Any:
    return value


_OUTCOME: Mapping[str, tuple[str, _Reader]] = {
    "status": ("status", _one_of(_ENDS)),
    "class": ("failure_class", _one_of(FAILURE_CLASSES)),
    "reason": ("reason", _text),
    "status_code": ("status_code", _whole),
    "exit_code": ("exit_code", _whole),
    "exception": ("exception", _text),
    "error": ("message", _text),
    "retry_after": ("retry_after", _retry_after),
    "result": ("result", _anything),
    # Beyond the list of the contract: the other facts that a worker can report.
    "after": ("after", parse_duration),
    "data": ("data", _anything),
    "signal": ("signal", _whole),
    "connection": ("connection", _one_of(get_args(Connection))),
    "result_file": ("result_file", _one_of(get_args(ResultFile))),
    "exception_bases": ("exception_bases", _texts),
    "timed_out": ("timed_out", _flag),
    "fatal": ("fatal", _flag),
    "oom_killed": ("oom_killed", _flag),
    "dependency": ("dependency", _text),
}

_LEDGER: Mapping[str, tuple[str, _Reader]] = {
    "attempts": ("attempts", _count),
    "by_class": ("by_class", _counts),
    "elapsed": ("elapsed", parse_duration),
    "previous_delay": ("previous_delay", parse_duration),
    "cost": ("cost", _amount),
    "budget": ("budget", _amount),
    "snoozes": ("snoozes", _count),
}
