"""Defines the comparisons of expressions.

They are Python's, except that a missing value is None, and large data is charged for before it is compared.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from tenax.policy.expressions.meter import VISIT, EvaluationError, charge_walk, spend

_SHORT_TEXT = 1000
"""Characters up to which comparing texts costs no more than comparing numbers."""


def kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return type(value).__name__


def equal(left: Any, right: Any) -> bool:
    """Compares as `==` does. Charges for it if both sides are large."""
    _charge_comparison(left, right)
    return bool(left == right)


def unequal(left: Any, right: Any) -> bool:
    _charge_comparison(left, right)
    return bool(left != right)


def _charge_comparison(left: Any, right: Any) -> None:
    if isinstance(left, str) and isinstance(right, str):
        shorter = min(len(left), len(right))
        if shorter > _SHORT_TEXT:
            spend(shorter)
    elif isinstance(left, list | tuple | Mapping) and isinstance(right, list | tuple | Mapping):
        charge_walk(left if len(left) <= len(right) else right)


def ordering(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def ordered(left: Any, right: Any) -> bool:
        if left is None or right is None:
            return False
        if not isinstance(left, int | float):
            _charge_comparison(left, right)
        try:
            return compare(left, right)
        except TypeError:
            raise EvaluationError(f"cannot compare {kind(left)} {symbol} {kind(right)}") from None

    return ordered


def contains(item: Any, container: Any) -> bool:
    if container is None or (item is None and isinstance(container, str)):
        return False
    if isinstance(container, Mapping):
        return isinstance(item, str) and item in container
    if isinstance(container, str | list | tuple):
        _charge_search(item, container)
        try:
            return item in container
        except TypeError:
            raise EvaluationError(f"cannot look for {kind(item)} in {kind(container)}") from None
    raise EvaluationError(f"cannot look for anything in {kind(container)}")


def _charge_search(item: Any, container: str | list[Any] | tuple[Any, ...]) -> None:
    size = len(container)
    if isinstance(container, str):
        spend(size + len(item) if isinstance(item, str) else 0)
    elif isinstance(item, list | tuple | Mapping):
        charge_walk(container)
    else:
        spend(VISIT * size // 4 + (size * len(item) // 32 if isinstance(item, str) else 0))


def lacks(item: Any, container: Any) -> bool:
    return not contains(item, container)


COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "eq": equal,
        "ne": unequal,
        "lt": ordering("<", operator.lt),
        "lteq": ordering("<=", operator.le),
        "gt": ordering(">", operator.gt),
        "gteq": ordering(">=", operator.ge),
        "in": contains,
        "notin": lacks,
    }
)


CHEAP_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {**COMPARISONS, "eq": operator.eq, "ne": operator.ne}
)
"""The comparisons in which the expression gives one side as a number or a text. They are short whatever the other side is."""
