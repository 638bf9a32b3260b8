"""Looks at fan-outs: how many items run at once, and how many may fail."""

from __future__ import annotations

from collections.abc import Iterator

from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintSubject


@rule(
    "TX601",
    "warning",
    "a fan-out that runs one item after another",
    why="Without `parallelism` each item waits for the one before it, its retries and delays included.",
    remedy="set `parallelism`. Write `parallelism: 1` if the order is wanted",
    wrong="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2, 3]}",
    right="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2, 3], parallelism: 3}",
)
def one_by_one(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if (
            not one.is_compensation
            and one.step.for_each is not None
            and "parallelism" not in subject.raw_step(one)
        ):
            yield (
                one.at("for_each"),
                f"the items of {one.name} run one after another: it says no `parallelism`",
            )


@rule(
    "TX602",
    "warning",
    "more items at once than the limit allows",
    why="`concurrency` holds for all items together, so a larger `parallelism` has no effect.",
    remedy="lower `parallelism`, or raise the limit",
    wrong="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2], parallelism: 50, concurrency: {limit: 10}}",
    right="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2], parallelism: 10, concurrency: {limit: 10}}",
)
def beyond_limit(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        limits = one.step.concurrency
        if one.step.for_each is None or limits is None or limits.limit is None or limits.action is not None:
            continue
        if one.step.parallelism > limits.limit:
            yield (
                one.at("parallelism"),
                f"{one.step.parallelism} items of {one.name} never run at once: its limit is {limits.limit}",
            )


@rule(
    "TX603",
    "warning",
    "a fallback that is never reached",
    why="A step that tolerates the failure of all its items cannot fail, so what `on_failure` says never happens.",
    remedy="remove `on_failure`, or lower `tolerate`",
    wrong="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2], parallelism: 2, tolerate: 100%, on_failure: continue}",
    right="  - {step: sync, type: http, url: 'http://a.test', for_each: [1, 2], parallelism: 2, tolerate: 50%, on_failure: continue}",
)
def unreachable_fallback(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        tolerated = one.step.tolerate
        if one.step.on_failure is not None and tolerated is not None and (tolerated.percent or 0) >= 100:
            yield (
                one.at("on_failure"),
                f"`on_failure` of {one.name} is never reached: all of its items may fail",
            )
