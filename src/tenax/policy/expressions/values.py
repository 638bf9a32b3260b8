"""Defines the operations of expressions on values: operators, tests and filters, each of bounded cost.

They work on JSON data only. A missing value is None: it equals None, is in nothing, and is neither smaller nor larger than anything. No
function here reads a Python attribute, so no expression can escape.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from tenax.model.json_text import LARGEST_INTEGER, SMALLEST_INTEGER
from tenax.policy.expressions.comparisons import COMPARISONS, kind
from tenax.policy.expressions.meter import VISIT, EvaluationError, charge_walk, spend

__all__ = ["EvaluationError", "kind"]

TEXT_LIMIT = 1_000_000
"""Characters of the longest text that an expression may build."""
_TRUE_TEXTS = frozenset({"true", "1", "yes"})
_LONGEST_TRUE = 4
_CONVERTIBLE = 400
"""Characters of the longest text that is read as a number."""


class Missing:
    """Is the value of an access that finds nothing. Only `default` and `is defined` see it."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


class LeftOut(Missing):
    """Replaces a value that is too large to be loaded. An expression that needs it fails with the message `why`."""

    __slots__ = ("why",)

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path)
        self.why = why

    def __str__(self) -> str:
        """Fails: it is called when a value that contains this one is written out."""
        raise EvaluationError(self.why)


def is_missing(value: Any) -> bool:
    return value is None or isinstance(value, Missing)


def truth_value(value: Any) -> bool:
    """Returns Python's truth of a value. For texts, only true, 1 and yes are true: templates make such texts from booleans."""
    if isinstance(value, str):
        text = value.strip()
        return len(text) <= _LONGEST_TRUE and text.lower() in _TRUE_TEXTS
    return bool(value)


def lookup(container: Any, key: Any, path: str) -> Any:
    """Returns a mapping's key or a list's element, or `Missing` if there is none."""
    if isinstance(container, Mapping):
        if isinstance(key, str) and key in container:
            found = container[key]
            if isinstance(found, LeftOut):
                raise EvaluationError(found.why)
            return found
    elif (
        isinstance(container, list | tuple)
        and isinstance(key, int)
        and not isinstance(key, bool)
        and -len(container) <= key < len(container)
    ):
        return container[key]
    return Missing(path)


def shown_key(key: Any) -> str:
    """Returns a key as an error shows it. A key that is a whole list is not written out."""
    if isinstance(key, str):
        return f"{key[:40]!r:.40}"
    return f"{key!r:.40}" if key is None or isinstance(key, int | float) else kind(key)


def as_text(value: Any) -> str:
    """Returns a value as it is written within a text. None is empty, and all other values but texts are written as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return to_json(value)


def to_json(value: Any) -> str:
    check_size(value)
    try:
        return bounded(
            json.dumps(value, ensure_ascii=False, separators=(", ", ": "), allow_nan=False, default=_refuse)
        )
    except TypeError as error:
        raise EvaluationError(f"not a JSON value: {error}") from None


def _refuse(value: Any) -> Any:
    """Raises the reason why a value cannot be written out."""
    if isinstance(value, LeftOut):
        raise EvaluationError(value.why)
    raise TypeError(f"a value of the type {type(value).__name__}")


def check_size(value: Any) -> None:
    """Refuses a value above the limit before it is built."""
    if charge_walk(value) > TEXT_LIMIT:
        raise EvaluationError(f"the value is larger than {TEXT_LIMIT:,} characters")


def bounded(text: str) -> str:
    if len(text) > TEXT_LIMIT:
        raise EvaluationError(f"the text is longer than {TEXT_LIMIT:,} characters")
    return text


def concatenate(parts: list[Any]) -> str:
    spend(VISIT * len(parts))
    return _concatenate(parts)


def _concatenate(parts: Iterable[Any]) -> str:
    """Concatenates parts that are charged for already, each as one visited value."""
    texts = []
    left = TEXT_LIMIT
    for part in parts:
        text = as_text(part)
        left -= len(text)
        if left < 0:
            raise EvaluationError(f"the text is longer than {TEXT_LIMIT:,} characters")
        texts.append(text)
    spend(TEXT_LIMIT - left)
    return "".join(texts)


def add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return concatenate([left, right])
    return arithmetic("+", operator.add)(left, right)


def arithmetic(symbol: str, compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def computed(left: Any, right: Any) -> Any:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise EvaluationError(f"cannot compute {kind(left)} {symbol} {kind(right)}")
        try:
            result = compute(left, right)
        except ZeroDivisionError:
            raise EvaluationError("division by zero") from None
        except OverflowError:
            raise EvaluationError(f"the result of {symbol} is too large") from None
        if isinstance(result, float) and not math.isfinite(result):
            raise EvaluationError(f"the result of {symbol} is too large")
        return _within_64_bits(result, f"the result of {symbol}")

    return computed


def _within_64_bits(number: Any, what: str) -> Any:
    """Refuses an integer that stored JSON cannot contain."""
    if isinstance(number, int) and not SMALLEST_INTEGER <= number <= LARGEST_INTEGER:
        raise EvaluationError(f"{what} is beyond 64 bits")
    return number


def negate(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise EvaluationError(f"cannot negate {kind(value)}")
    return _within_64_bits(-value, "the negated number")


@dataclass(frozen=True, slots=True)
class Function:
    """Is a filter or a test: its function and its parameters."""

    compute: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    required: int = 0
    sees_missing: bool = False
    """True if it gets `Missing` itself and not an error or None."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parity(value: Any, remainder: int) -> bool:
    if not isinstance(value, int):
        return False
    return value % 2 == remainder


def _comparing(name: str) -> Function:
    return Function(COMPARISONS[name], ("other",), 1)


TESTS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "defined": Function(lambda value: not is_missing(value), sees_missing=True),
        "undefined": Function(is_missing, sees_missing=True),
        "none": Function(is_missing, sees_missing=True),
        "number": Function(_is_number),
        "integer": Function(lambda value: isinstance(value, int) and not isinstance(value, bool)),
        "float": Function(lambda value: isinstance(value, float)),
        "string": Function(lambda value: isinstance(value, str)),
        "mapping": Function(lambda value: isinstance(value, Mapping)),
        "sequence": Function(lambda value: isinstance(value, list | tuple | str)),
        "boolean": Function(lambda value: isinstance(value, bool)),
        "true": Function(lambda value: value is True),
        "false": Function(lambda value: value is False),
        "even": Function(lambda value: _parity(value, 0)),
        "odd": Function(lambda value: _parity(value, 1)),
        "eq": _comparing("eq"),
        "ne": _comparing("ne"),
        "lt": _comparing("lt"),
        "le": _comparing("lteq"),
        "gt": _comparing("gt"),
        "ge": _comparing("gteq"),
        "in": _comparing("in"),
    }
)


def _length(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str | list | tuple | Mapping):
        return len(value)
    raise EvaluationError(f"{kind(value)} has no length")


def _as_int(value: Any, default: Any = 0) -> Any:
    if isinstance(value, str) and len(value) > _CONVERTIBLE:
        return default
    try:
        whole = int(value)
    except (TypeError, ValueError, OverflowError):
        number = _as_float(value, None)
        if number is None:
            return default
        whole = int(number)
    return _within_64_bits(whole, "the whole number")


def _as_float(value: Any, default: Any = 0.0) -> Any:
    if isinstance(value, str) and len(value) > _CONVERTIBLE:
        return default
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if math.isfinite(number) else default


def _absolute(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise EvaluationError(f"cannot take the absolute value of {kind(value)}")
    return abs(value)


def _rounded(value: Any, digits: Any = 0) -> Any:
    if not isinstance(value, int | float) or not isinstance(digits, int) or not 0 <= digits <= 15:
        raise EvaluationError(f"cannot round {kind(value)} to {shown_key(digits)} digits")
    return round(float(value), digits)


def _end(index: int) -> Callable[[Any], Any]:
    def element(value: Any) -> Any:
        if value is None or (isinstance(value, str | list | tuple) and not value):
            return None
        if isinstance(value, str | list | tuple):
            return value[index]
        raise EvaluationError(f"{kind(value)} has no first or last element")

    return element


def _default(value: Any, fallback: Any = "", falsy: Any = False) -> Any:  # noqa: FBT002 - Jinja's own signature
    return fallback if is_missing(value) or (falsy and not value) else value


def _charged(value: Any) -> str:
    text = bounded(as_text(value))
    spend(len(text))
    return text


def _joined(value: Any, separator: Any = "") -> str:
    if not isinstance(value, list | tuple | str):
        raise EvaluationError(f"cannot join {kind(value)}; join takes a list")
    check_size(value)
    between = as_text(separator)
    count = 2 * len(value) - 1 if value else 0
    spend(VISIT * count)  # Charges before anything is built. Each character of a text is a part.
    return _concatenate(between if n % 2 else value[n // 2] for n in range(count))


FILTERS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "length": Function(_length),
        "count": Function(_length),
        "lower": Function(lambda value: _charged(value).lower()),
        "upper": Function(lambda value: _charged(value).upper()),
        "trim": Function(lambda value: _charged(value).strip()),
        "string": Function(lambda value: bounded(as_text(value))),
        "int": Function(_as_int, ("default",)),
        "float": Function(_as_float, ("default",)),
        "bool": Function(truth_value),
        "abs": Function(_absolute),
        "round": Function(_rounded, ("precision",)),
        "first": Function(_end(0)),
        "last": Function(_end(-1)),
        "join": Function(_joined, ("d",)),
        "tojson": Function(to_json),
        "default": Function(_default, ("default_value", "boolean"), sees_missing=True),
        "d": Function(_default, ("default_value", "boolean"), sees_missing=True),
    }
)

CHARGING: Final = frozenset(
    {"lower", "upper", "trim", "string", "join", "tojson", "eq", "ne", "lt", "le", "gt", "ge", "in"}
)
"""Filters and tests whose cost depends on the data."""

OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "Add": add,
        "Sub": arithmetic("-", operator.sub),
        "Div": arithmetic("/", operator.truediv),
        "FloorDiv": arithmetic("//", operator.floordiv),
    }
)
