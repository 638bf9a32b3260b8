"""Looks at the delays between attempts."""

from __future__ import annotations

from collections.abc import Iterator

from tenax.model.durations import format_duration
from tenax.policy.lint.finding import Removal
from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintedStep, LintSubject
from tenax.policy.retry.backoff import curve
from tenax.policy.retry.delay_table import delay_table

_AT_ONCE = 3
"""Attempts without a delay that are harmless: a lost connection is often back at once."""
_MOST_ATTEMPTS = 10_000
"""Attempts whose delays are added up."""


@rule(
    "TX201",
    "warning",
    "no jitter on a fan-out",
    why="Items that fail together are retried together: the service that failed gets all of them at the same instant.",
    remedy="remove `jitter: 0`, or set `jitter: 0.2` or `full`",
    wrong="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2], parallelism: 2, retry: {max_attempts: 3, jitter: 0}}",
    right="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2], parallelism: 2, retry: {max_attempts: 3, jitter: full}}",
)
def herd(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.step.for_each is not None and one.is_retried and one.policy.jitter == 0:
            yield (
                one.policy_path("jitter"),
                f"the items of {one.name} are retried all at the same instant: it has no jitter",
            )


@rule(
    "TX202",
    "error",
    "attempts after `give_up_after`",
    why="A retry that would start after `give_up_after` is not scheduled. Attempts whose delays alone take longer never happen.",
    remedy="raise `give_up_after`, lower the delays, or lower `max_attempts` to what happens",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 10, initial_delay: 1m, give_up_after: 10m}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 4, initial_delay: 1m, give_up_after: 10m}}",
)
def out_of_time(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        reached = _attempts_within(one, one.policy.give_up_after)
        if reached is not None:
            limit = format_duration(one.policy.give_up_after or 0.0)
            yield (
                one.policy_path("give_up_after"),
                f"{one.name} has {one.attempts} attempts, but after attempt {reached} even the shortest delays are longer than {limit}",
            )


@rule(
    "TX203",
    "warning",
    "a multiplier without effect",
    why="Only `backoff: exponential` multiplies its delay.",
    remedy="remove `backoff_multiplier`, or set `backoff: exponential`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 4, backoff: linear, backoff_multiplier: 3}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 4, backoff: exponential, backoff_multiplier: 3}}",
)
def idle_multiplier(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.policy.backoff != "exponential" and "backoff_multiplier" in one.own:
            path = one.policy_path("backoff_multiplier")
            what = f"`backoff_multiplier` of {one.name} has no effect: its backoff is `{one.policy.backoff}`"
            yield path, what, Removal(path)


@rule(
    "TX204",
    "warning",
    "many retries without a delay",
    why="A service that fails is asked again at once, as fast as the workers can, until the attempts are used up.",
    remedy="set `initial_delay`, and a `backoff` other than `none`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 20, backoff: none}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 20, initial_delay: 1s}}",
)
def no_delay(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        most = one.attempts
        if (most is None or most > _AT_ONCE) and curve(one.policy, 1) == 0 and curve(one.policy, 5) == 0:
            field = "backoff" if one.policy.backoff == "none" else "initial_delay"
            yield one.policy_path(field), f"{one.name} is retried {_often(most)} without any delay"


@rule(
    "TX205",
    "warning",
    "a `Retry-After` limit without effect",
    why="`max_retry_after` limits what a service asks for. With `honor_retry_after: false` nobody asks.",
    remedy="remove `max_retry_after`, or `honor_retry_after: false`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 4, honor_retry_after: false, max_retry_after: 5m}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 4, max_retry_after: 5m}}",
)
def idle_hint_limit(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if not one.policy.honor_retry_after and "max_retry_after" in one.own:
            path = one.policy_path("max_retry_after")
            what = f"`max_retry_after` of {one.name} has no effect: it does not honour `Retry-After`"
            yield path, what, Removal(path)


@rule(
    "TX206",
    "warning",
    "a cap that is the first delay",
    why="A backoff that grows from its cap cannot grow: all delays are the same.",
    remedy="raise `max_delay`, or set `backoff: fixed`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 5, initial_delay: 30s, max_delay: 30s}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 5, initial_delay: 30s, max_delay: 10m}}",
)
def flat_cap(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        grows = one.policy.backoff not in ("none", "fixed") and (one.attempts is None or one.attempts > 2)
        if grows and "max_delay" in one.given and one.policy.initial_delay >= one.policy.max_delay > 0:
            yield (
                one.policy_path("max_delay"),
                f"the delays of {one.name} cannot grow: the first one is already {format_duration(one.policy.max_delay)}, their cap",
            )


def _attempts_within(one: LintedStep, seconds: float | None) -> int | None:
    """Returns the last attempt that can start within this time, if that is not the last one that is allowed."""
    if seconds is None or one.attempts is None or not one.is_retried:
        return None
    most = min(one.attempts, _MOST_ATTEMPTS)
    reached = len(delay_table(one.policy, limit=most))
    return reached if reached < most else None


def _often(attempts: int | None) -> str:
    return "without limit" if attempts is None else f"up to {attempts - 1} times"
