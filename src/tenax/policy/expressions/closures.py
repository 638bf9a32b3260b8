"""Defines the closures of which compiled expressions consist. Each takes the scope and returns a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenax.policy.expressions.values import EvaluationError, LeftOut, Missing, concatenate, lookup

Scope = Mapping[str, Any]
Compute = Callable[[Scope], Any]
Combine = Callable[[Any, Any], Any]


def access_path(start: Compute, keys: list[str | int], shown: str) -> Compute:
    missing = Missing(shown)
    steps = tuple(keys)

    def follow(scope: Scope) -> Any:
        value = start(scope)
        for key in steps:
            if isinstance(value, dict) and isinstance(key, str):
                value = value.get(key, missing)
            else:
                value = lookup(value, key, shown)
            if value is missing or isinstance(value, Missing):
                if isinstance(value, LeftOut):
                    raise EvaluationError(value.why)
                return missing
        return value

    return follow


def present(access: Compute) -> Compute:
    def present(scope: Scope) -> Any:
        value = access(scope)
        if isinstance(value, Missing):
            raise EvaluationError(f"`{value.path}` is not there; write `| default(...)` if it may be missing")
        return value

    return present


def or_none(access: Compute) -> Compute:
    def or_none(scope: Scope) -> Any:
        value = access(scope)
        return None if isinstance(value, Missing) else value

    return or_none


def negation(operand: Compute) -> Compute:
    return lambda scope: not operand(scope)


def binary(combine: Combine, left: Compute, right: Compute) -> Compute:
    return lambda scope: combine(left(scope), right(scope))


def concatenation(parts: list[Compute]) -> Compute:
    return lambda scope: concatenate([part(scope) for part in parts])


def application(compute: Callable[..., Any], subject: Compute, arguments: list[Compute]) -> Compute:
    if not arguments:
        return lambda scope: compute(subject(scope))
    return lambda scope: compute(subject(scope), *(argument(scope) for argument in arguments))


def chained(first: Compute, rest: Sequence[tuple[Combine, Compute]]) -> Compute:
    """Returns a chain such as `a < b <= c`: every operand is computed once, and none after the first comparison that
    does not hold."""

    def hold(scope: Scope) -> bool:
        left = first(scope)
        for compare, operand in rest:
            right = operand(scope)
            if not compare(left, right):
                return False
            left = right
        return True

    return hold


def choice(test: Compute, yes: Compute, no: Compute) -> Compute:
    return lambda scope: yes(scope) if test(scope) else no(scope)
