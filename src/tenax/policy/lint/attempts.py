"""Looks at the number of attempts, and at what is set for retries that never happen."""

from __future__ import annotations

from collections.abc import Iterator

from tenax.model.policy import Rule
from tenax.policy.lint.finding import Removal
from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintSubject

_FOR_DELAYS = ("backoff", "initial_delay", "backoff_multiplier", "max_delay", "jitter", "max_retry_after")
_MANY = 50  # attempts without an end in time, which hammer a service that is down
_DELAYS_OF_RULE = tuple(name for name in _FOR_DELAYS if name in Rule.__dataclass_fields__)


@rule(
    "TX101",
    "error",
    "`retryable: false` beside several attempts",
    why="`retryable: false` ends the step at its first failure, so the other attempts never happen.",
    remedy="remove `retryable: false`, or remove `max_attempts`",
    wrong="  - {step: pay, type: http, url: 'http://a.test', retry: {retryable: false, max_attempts: 5}}",
    right="  - {step: pay, type: http, url: 'http://a.test', retry: {max_attempts: 5}}",
)
def not_retryable(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.given.get("retryable") is False and (one.given.get("max_attempts", 1) or 2) > 1:
            most = one.given["max_attempts"] or "unlimited"
            yield (
                one.policy_path("retryable"),
                f"{one.name} has `max_attempts: {most}`, but `retryable: false` ends it at its first failure",
            )


@rule(
    "TX102",
    "warning",
    "unlimited attempts without an end",
    why="A step with unlimited attempts runs until it succeeds. If its failure is a bug, that is never.",
    remedy="set `give_up_after` in the policy, or a `deadline` for the workflow",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: unlimited}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: unlimited, give_up_after: 1d}}",
)
def without_end(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        ends = one.policy.give_up_after is not None or subject.workflow.deadline is not None
        if one.attempts is None and not ends:
            yield one.policy_path("max_attempts"), f"{one.name} is tried again and again, for ever"


@rule(
    "TX103",
    "warning",
    "`infra_attempts` beside unlimited attempts",
    why="`infra_attempts` are attempts beyond `max_attempts`. Where these are unlimited, it has no effect.",
    remedy="remove `infra_attempts`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: unlimited, give_up_after: 1d, infra_attempts: 5}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 9, infra_attempts: 5}}",
)
def infra_without_limit(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.attempts is None and "infra_attempts" in one.own:
            path = one.policy_path("infra_attempts")
            yield (
                path,
                f"`infra_attempts` of {one.name} has no effect: its attempts are unlimited",
                Removal(path),
            )


@rule(
    "TX104",
    "warning",
    "delays of a step that is not retried",
    why="With one attempt there is no retry, so its delay, its cap and its jitter have no effect.",
    remedy="raise `max_attempts`, or remove the field",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 1, infra_attempts: 0, initial_delay: 10s}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 2, infra_attempts: 0, initial_delay: 10s}}",
)
def delays_without_retry(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.is_retried or one.policy.infra_attempts or one.policy.rules:
            continue
        for name in _FOR_DELAYS:
            if name in one.own:
                path = one.policy_path(name)
                yield path, f"`{name}` of {one.name} has no effect: it has one attempt", Removal(path)


@rule(
    "TX105",
    "warning",
    "a rule with more attempts than the policy",
    why="A rule's `max_attempts` limits the attempts within those of the policy. A larger number changes nothing.",
    remedy="lower it, or raise `max_attempts` of the policy",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, rules: [{on: [http_429], max_attempts: 10}]}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 10, rules: [{on: [http_429], max_attempts: 3}]}}",
)
def rule_beyond_policy(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        for index, own in enumerate(one.policy.rules):
            most = one.attempts
            if most is not None and own.max_attempts is not None and own.max_attempts > most:
                yield (
                    one.policy_path("rules", index, "max_attempts"),
                    f"{own.max_attempts} attempts of rule {index} are never reached: {one.name} has {most}",
                )


@rule(
    "TX106",
    "warning",
    "delays of a rule that forbids the retry",
    why="A rule with `retry: false` ends the step, so the delays that it sets never happen.",
    remedy="remove the delays, or `retry: false`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, rules: [{on: [http_404], retry: false, initial_delay: 1m}]}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, rules: [{on: [http_404], retry: false}]}}",
)
def delays_of_refusal(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        for index, own in enumerate(one.policy.rules):
            if own.retry is not False:
                continue
            for name in (*_DELAYS_OF_RULE, "max_attempts"):
                if getattr(own, name) is not None:
                    path = one.policy_path("rules", index, name)
                    yield (
                        path,
                        f"`{name}` of rule {index} has no effect: the rule says `retry: false`",
                        Removal(path),
                    )


@rule(
    "TX107",
    "warning",
    "very many attempts without an end in time",
    why="A service that is down for hours is asked again all the time, and the step fails long after anybody waits for it.",
    remedy="let time end it: `max_attempts: unlimited` with `give_up_after`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 500}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: unlimited, give_up_after: 6h}}",
)
def many_attempts(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        ends = one.policy.give_up_after is not None or subject.workflow.deadline is not None
        if one.attempts is not None and one.attempts > _MANY and not ends:
            yield (
                one.policy_path("max_attempts"),
                f"{one.name} has {one.attempts} attempts, and no end in time",
            )
