"""The bodies that the API accepts. Those of workers and submissions are the types of `tenax.model.wire`; those of people are here.

Details of an outcome are bent into shape rather than refused: a report is worth more than its details.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any
from uuid import UUID

import msgspec
import structlog
from msgspec import Meta, Struct, structs

from tenax.model.attempt.outcome import Facts, Outcome, Usage
from tenax.model.attempt.usage import bounded_cost, bounded_tokens
from tenax.model.durations import LONGEST
from tenax.model.filters.parse import MAX_LENGTH
from tenax.model.health import HealthReport
from tenax.model.names import worker_name_fault
from tenax.model.wire import (
    EndedLife,
    Heartbeat,
    Held,
    LeaseRequest,
    Registration,
    Release,
    Reports,
    Submission,
)
from tenax.model.wire_columns import check_lengths, is_plain
from tenax.model.wire_types import (
    BATCH,
    LARGEST_COUNT,
    LARGEST_LIMIT,
    PLAIN,
    Files,
    Item,
    Limit,
    Name,
    Source,
    Text,
)
from tenax.server.problems import InvalidRequest
from tenax.server.schema.body import Body, Misfit
from tenax.store.fleet.tokens import LONGEST_NAME, Role

_log = structlog.get_logger("tenax.server")

# -- people


class ByPeople(Struct, frozen=True, forbid_unknown_fields=True):
    """A key that is not known is a mistake of a person. Workers of a newer version may send more than is known here."""


class Batch(ByPeople, frozen=True):
    """Executions to start in one transaction: all of them or none."""

    submissions: Annotated[list[Submission], Meta(max_length=BATCH)]


class Reason(ByPeople, frozen=True):
    """Why someone cancels, pauses, drains or resumes."""

    reason: Text | None = None


class Approval(ByPeople, frozen=True):
    """A yes or a no to a step that waits for one, or to one `item` of its fan-out."""

    reason: Text | None = None
    item: Item | None = None


class Signal(ByPeople, frozen=True):
    """A signal. With a `key` that is known it is the earlier one, sent again."""

    name: Name
    data: Any = None
    key: Name | None = None


class Workflow(ByPeople, frozen=True):
    """A definition to store, with those that `file:` of its steps names, by their path from its own folder."""

    source: Source
    filename: Text | None = None
    files: Files = msgspec.field(default_factory=dict)


class Retry(ByPeople, frozen=True):
    """Runs again what waits or has ended. `from_failed`: of a finished execution, the steps that succeeded stay done."""

    from_failed: bool = False
    reason: Text | None = None


class FilterWanted(ByPeople, frozen=True):
    """A filter to save."""

    filter: Annotated[str, Meta(max_length=MAX_LENGTH)]


class BulkWanted(ByPeople, frozen=True):
    """A bulk job to make."""

    action: Annotated[str, Meta(max_length=100, description="cancel, pause, resume or retry")]
    filter: Annotated[str, Meta(max_length=MAX_LENGTH)]
    reason: Annotated[str, Meta(max_length=1000, pattern=PLAIN)]
    rate: Annotated[float, Meta(gt=0, description="How many executions it acts on in a second.")] | None = (
        None
    )
    canary: Annotated[int, Meta(ge=1, description="How many executions it acts on first.")] | None = None
    max_failed: (
        Annotated[float, Meta(ge=0, le=100, description="The percentage of the canary that may fail.")] | None
    ) = None


class Limits(ByPeople, frozen=True):
    """The limits of a queue, all of them: what is absent or null is no limit."""

    concurrency: Annotated[Limit, Meta(description="How many items run at once.")] | None = None
    rate: Annotated[float, Meta(gt=0, le=LARGEST_LIMIT, description="How many start in a second.")] | None = (
        None
    )
    burst: (
        Annotated[
            Limit,
            Meta(
                description="How many start at once after a pause; only with a rate, and as many as that where it is absent."
            ),
        ]
        | None
    ) = None
    reason: Text | None = None


class TokenWanted(ByPeople, frozen=True):
    """A token to make."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, pattern=PLAIN)]
    role: Role


SUBMISSION = Body(Submission)
BATCH_OF_SUBMISSIONS = Body(Batch)
REASON = Body(Reason)
APPROVAL = Body(Approval)
SIGNAL = Body(Signal)
WORKFLOW = Body(Workflow)
RETRY = Body(Retry)
TOKEN = Body(TokenWanted)
LIMITS = Body(Limits)
FILTER = Body(FilterWanted)
BULK = Body(BulkWanted)
_ANYTHING: Any = Any
CALLBACK: Body[Any] = Body(_ANYTHING)
"""Whatever the callee has to say: `tenax.model.attempt.callback` reads it."""

# -- workers

_is_canonical = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch


def _token(text: str, *place: str | int) -> str:
    """Returns a lease token in the one form in which tokens are compared."""
    if _is_canonical(text):
        return text
    try:
        return str(UUID(text))
    except ValueError:
        raise Misfit("not a UUID", *place) from None


def _tokens(tokens: Sequence[str], *place: str | int) -> Sequence[str]:
    """Returns the tokens in that form. Those that a server has made are in it already."""
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
    # Else a body could stand for a thousand times its length.
    if len(group.outcome) == 1 < len(group.token) and not is_plain(group.outcome[0]):
        raise Misfit(
            "a single `outcome` for several attempts can only be a success (the results are in `result`)",
            number,
        )
    try:
        check_lengths(group)
    except ValueError as error:
        raise Misfit(str(error), number) from None
    tokens, outcomes = _tokens(group.token, number, "token"), [_bent(one) for one in group.outcome]
    return structs.replace(group, token=list(tokens), outcome=outcomes)


def _bent(outcome: Outcome) -> Outcome:
    """Returns the outcome with its numbers within their bounds. Most outcomes are returned as they are."""
    if outcome.after is None and outcome.usage is None and outcome.facts is None:
        return outcome
    after = None if outcome.after is None else _seconds(outcome.after)
    return structs.replace(
        outcome, after=after, usage=_bent_usage(outcome.usage), facts=_bent_facts(outcome.facts)
    )


def _bent_usage(usage: Usage | None) -> Usage | None:
    if usage is None:
        return None
    cost = None if usage.cost_usd is None else bounded_cost(usage.cost_usd)
    return Usage(cost, None if usage.tokens is None else bounded_tokens(usage.tokens))


def _bent_facts(facts: Facts | None) -> Facts | None:
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
        _bent_health(sent.health),
    )


def _held(holding: tuple[Held, ...]) -> tuple[Held, ...]:
    if all(_is_canonical(one.token) for one in holding):
        return holding
    return tuple(Held(one.item_id, _token(one.token, "holding", n, "token")) for n, one in enumerate(holding))


def _bent_health(health: HealthReport | None) -> HealthReport | None:
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
    """Takes a report on its health out of a heartbeat, if nothing else is wrong: the leases are worth more."""
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
    """Once for each worker and fault, not with every heartbeat."""
    _log.warning("a worker reports its health in a way that is not understood", worker=worker, error=error)


def _fit_ended(sent: EndedLife) -> EndedLife:
    return EndedLife(_worker(sent.worker), _token(sent.life, "life"))


REGISTRATION = Body(Registration, _fit_registration)
LEASE = Body(LeaseRequest, _fit_lease)
_READ_REPORTS: Any = Annotated[list[Reports], Meta(max_length=BATCH)]
_READ_RELEASES: Any = Annotated[list[Release], Meta(max_length=BATCH)]
REPORTS: Body[list[Reports]] = Body(_READ_REPORTS, _fit_reports)
RELEASES: Body[list[Release]] = Body(_READ_RELEASES, _fit_releases)
HEARTBEAT = Body(Heartbeat, _fit_heartbeat, mend=_without_health)
ENDED_LIFE = Body(EndedLife, _fit_ended)
