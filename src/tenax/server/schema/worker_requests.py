"""Declares the bodies that workers send. Their types are in `tenax.model.wire`.

A detail of an outcome that is out of bounds is changed to fit. The report is not refused, because its outcome matters more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any
from uuid import UUID

import structlog
from msgspec import Meta, structs

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.attempt.usage import bounded_cost, bounded_tokens
from tenax.model.durations import LONGEST
from tenax.model.fleet.health import HealthReport
from tenax.model.names import worker_name_fault
from tenax.model.wire import (
    AttemptNotes,
    EndedLife,
    Heartbeat,
    Held,
    LeaseRequest,
    Registration,
    Release,
    Reports,
)
from tenax.model.wire_columns import check_lengths, is_plain
from tenax.model.wire_types import (
    BATCH,
    LARGEST_COUNT,
)
from tenax.server.problems import InvalidRequest
from tenax.server.schema.body import Body, Misfit

_log = structlog.get_logger("tenax.server")
_is_canonical = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


def _token(text: str, *place: str | int) -> str:
    """Returns a lease token in canonical form, the form in which tokens are compared."""
    if _is_canonical(text):
        return text
    try:
        return str(UUID(text))
    except ValueError:
        raise Misfit("not a UUID", *place) from None


def _tokens(tokens: Sequence[str], *place: str | int) -> Sequence[str]:
    """Returns the tokens in canonical form. Tokens that a server made have this form already."""
    if all(map(_is_canonical, tokens)):
        return tokens
    return [_token(text, *place, n) for n, text in enumerate(tokens)]


def _life(life: str | None) -> str | None:
    return None if life is None else _token(life, "life")


def _worker(name: str) -> str:
    if (fault := worker_name_fault(name)) is not None:
        raise Misfit(f"{name!r} {fault}", "worker")
    return name


def _count(value: int) -> int:
    return min(max(value, 0), LARGEST_COUNT)


def _seconds(value: float) -> float:
    return 0.0 if math.isnan(value) else min(max(value, 0.0), LONGEST)


def _fit_registration(sent: Registration) -> Registration:
    return replace(sent, worker=_worker(sent.worker), life=_life(sent.life), protocol=_count(sent.protocol))


def _fit_lease(sent: LeaseRequest) -> LeaseRequest:
    _worker(sent.worker)
    grant, life = _token(sent.grant, "grant"), _life(sent.life)
    lost = tuple(_tokens(sent.lost_grants, "lost_grants"))
    if (grant, life, lost) == (sent.grant, sent.life, sent.lost_grants):
        return sent
    return replace(sent, grant=grant, life=life, lost_grants=lost)


def _fit_reports(groups: list[Reports]) -> list[Reports]:
    if sum(len(group.token) for group in groups) > BATCH:
        raise Misfit(f"reports on at most {BATCH} attempts are taken at once")
    return [_fit_group(group, number) for number, group in enumerate(groups)]


def _fit_group(group: Reports, number: int) -> Reports:
    # Otherwise a short body could stand for an outcome a thousand times its length.
    if len(group.outcome) == 1 < len(group.token) and not is_plain(group.outcome[0]):
        raise Misfit(
            "a single `outcome` for several attempts can only be a success (the results are in `result`)",
            number,
        )
    try:
        check_lengths(group)
    except ValueError as error:
        raise Misfit(str(error), number) from None
    tokens, outcomes = _tokens(group.token, number, "token"), [_clamped(one) for one in group.outcome]
    return structs.replace(group, token=list(tokens), outcome=outcomes)


def _clamped(outcome: Outcome) -> Outcome:
    """Returns the outcome with its numbers clamped to their bounds. Most outcomes are returned unchanged."""
    if outcome.after is None and outcome.usage is None and outcome.facts is None:
        return outcome
    after = None if outcome.after is None else _seconds(outcome.after)
    return structs.replace(
        outcome, after=after, usage=_clamped_usage(outcome.usage), facts=_clamped_facts(outcome.facts)
    )


def _clamped_usage(usage: Usage | None) -> Usage | None:
    if usage is None:
        return None
    cost = None if usage.cost_usd is None else bounded_cost(usage.cost_usd)
    return Usage(cost, None if usage.tokens is None else bounded_tokens(usage.tokens))


def _clamped_facts(facts: Facts | None) -> Facts | None:
    if facts is None or facts.retry_after is None:
        return facts
    return structs.replace(facts, retry_after=_seconds(facts.retry_after))


def _fit_releases(releases: list[Release]) -> list[Release]:
    return [
        replace(one, token=_token(one.token, n, "token"), detail=one.detail and one.detail[:1000])
        for n, one in enumerate(releases)
    ]


def _fit_heartbeat(sent: Heartbeat) -> Heartbeat:
    return Heartbeat(
        _worker(sent.worker),
        _held(sent.holding),
        tuple(_tokens(sent.lost_grants, "lost_grants")),
        sent.leaving,
        _life(sent.life),
        _clamped_health(sent.health),
        tuple(replace(one, token=_token(one.token, "usage", n, "token")) for n, one in enumerate(sent.usage)),
    )


def _fit_notes(sent: AttemptNotes) -> AttemptNotes:
    checkpoints = (
        replace(one, token=_token(one.token, "checkpoints", n, "token"))
        for n, one in enumerate(sent.checkpoints)
    )
    progress = (
        replace(one, token=_token(one.token, "progress", n, "token")) for n, one in enumerate(sent.progress)
    )
    return AttemptNotes(_worker(sent.worker), tuple(checkpoints), tuple(progress), sent.output)


def _held(holding: tuple[Held, ...]) -> tuple[Held, ...]:
    if all(_is_canonical(one.token) for one in holding):
        return holding
    return tuple(Held(one.item_id, _token(one.token, "holding", n, "token")) for n, one in enumerate(holding))


def _clamped_health(health: HealthReport | None) -> HealthReport | None:
    if health is None:
        return None
    return replace(
        health,
        consecutive_failures=_count(health.consecutive_failures),
        total_executions=_count(health.total_executions),
        failed_executions=_count(health.failed_executions),
        average_execution_time_ms=_seconds(health.average_execution_time_ms),
        queue_depth=_count(health.queue_depth),
        overdue=_count(health.overdue),
    )


def _without_health(sent: Any, error: InvalidRequest) -> bool:
    """Removes a wrong health report from a heartbeat if nothing else is wrong. The heartbeat still has to extend the leases."""
    wrong = error.errors[0]
    if not isinstance(sent, dict) or not wrong["path"].startswith("health"):
        return False
    del sent["health"]
    place = wrong["path"].removeprefix("health").removeprefix(".")
    about = InvalidRequest("its report", [{"loc": (place,), "msg": wrong["message"]}])
    _complain(str(sent.get("worker"))[:200], about.message)
    return True


@lru_cache(maxsize=10_000)
def _complain(worker: str, error: str) -> None:
    """Logs a fault once for each worker, not with every heartbeat."""
    _log.warning(
        "a worker reports its health in a form that this server cannot read", worker=worker, error=error
    )


def _fit_ended(sent: EndedLife) -> EndedLife:
    return EndedLife(_worker(sent.worker), _token(sent.life, "life"))


REGISTRATION = Body(Registration, _fit_registration)
LEASE = Body(LeaseRequest, _fit_lease)
_READ_REPORTS: Any = Annotated[list[Reports], Meta(max_length=BATCH)]
_READ_RELEASES: Any = Annotated[list[Release], Meta(max_length=BATCH)]
REPORTS: Body[list[Reports]] = Body(_READ_REPORTS, _fit_reports)
RELEASES: Body[list[Release]] = Body(_READ_RELEASES, _fit_releases)
HEARTBEAT = Body(Heartbeat, _fit_heartbeat, mend=_without_health)
NOTES = Body(AttemptNotes, _fit_notes)
ENDED_LIFE = Body(EndedLife, _fit_ended)
