"""Defines the retry policy of a task as types. The fields are those of `retry:` in a workflow file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Literal

from tenax.model.policy import Backoff

Duration = float | str | timedelta
"""Seconds, a text such as `30s`, or a timedelta."""
Names = str | Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Overrides the policy for certain failures. A field that is None leaves the policy's value."""

    on: Names | None = None
    when: str | None = None
    retry: bool | None = None
    max_attempts: int | None = None
    backoff: Backoff | None = None
    initial_delay: Duration | None = None
    backoff_multiplier: float | None = None
    max_delay: Duration | None = None
    jitter: float | bool | Literal["full", "equal"] | None = None
    honor_retry_after: bool | None = None
    max_retry_after: Duration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Says whether, when and how often failed attempts of a task are retried. A field that is None has its default."""

    max_attempts: int | Literal["unlimited"] | None = None
    retryable: bool | None = None
    backoff: Backoff | None = None
    initial_delay: Duration | None = None
    backoff_multiplier: float | None = None
    max_delay: Duration | None = None
    jitter: float | bool | Literal["full", "equal"] | None = None
    retry_when: str | None = None
    stop_when: str | None = None
    retry_on: Names | None = None
    never_on: Names | None = None
    rules: Sequence[Rule | Mapping[str, Any]] | None = None
    infra_attempts: int | None = None
    give_up_after: Duration | None = None
    honor_retry_after: bool | None = None
    max_retry_after: Duration | None = None
    max_snoozes: int | None = None
    vary: Sequence[Mapping[str, Any]] | None = None
    attempt_cost: float | None = None


def as_written(value: Any) -> Any:
    """Returns an option as it stands in a workflow file: typed policies become mappings, and a timedelta its seconds."""
    match value:
        case RetryPolicy() | Rule():
            given = {field.name: getattr(value, field.name) for field in fields(value)}
            return {name: as_written(one) for name, one in given.items() if one is not None}
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {name: as_written(one) for name, one in value.items()}
        case list() | tuple():
            return [as_written(one) for one in value]
        case _:
            return value
