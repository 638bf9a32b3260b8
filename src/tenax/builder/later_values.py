"""Defines values that are known only when the workflow runs. Python's operators compose them into expressions of a file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from tenax.errors import UsageError

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else", "true", "false", "none"})
"""Names that the language of expressions reads as something else."""
_CHAINED = frozenset({"and", "or", "+"})
"""Operators that need no brackets around an operand on the left with the same operator."""


class LaterValue:
    """Is an expression of a workflow file. As a text it is a template, also within an f-string: `{{ input.order.id }}`."""

    __slots__ = ("_operator", "_text")
    __hash__: ClassVar[None]  # type: ignore[assignment]  # it compares as an expression, and so can be no key

    def __init__(self, text: str, operator: str | None) -> None:
        """`operator` is the outermost one of the text. With None, the text needs no brackets within another expression."""
        self._text = text
        self._operator = operator

    def __str__(self) -> str:
        return f"{{{{ {self._text} }}}}"

    def __format__(self, spec: str) -> str:
        if spec:
            raise UsageError(
                f"the value of {self} is not known yet, so it cannot be formatted by {spec!r}",
                remedy="format it in a task",
            )
        return str(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text!r})"

    def __eq__(self, other: object) -> LaterValue:  # type: ignore[override]
        return _joined(self, "==", other)

    def __ne__(self, other: object) -> LaterValue:  # type: ignore[override]
        return _joined(self, "!=", other)

    def __lt__(self, other: Any) -> LaterValue:
        return _joined(self, "<", other)

    def __le__(self, other: Any) -> LaterValue:
        return _joined(self, "<=", other)

    def __gt__(self, other: Any) -> LaterValue:
        return _joined(self, ">", other)

    def __ge__(self, other: Any) -> LaterValue:
        return _joined(self, ">=", other)

    def __and__(self, other: Any) -> LaterValue:
        return _joined(self, "and", other)

    def __or__(self, other: Any) -> LaterValue:
        """Returns `self or other`. A text is a filter: `rows | "length"`."""
        if isinstance(other, str):
            return ValuePath(f"{expression_of(self)} | {other}", "|")
        return _joined(self, "or", other)

    def __invert__(self) -> LaterValue:
        return LaterValue(f"not {expression_of(self)}", "not")

    def __add__(self, other: Any) -> LaterValue:
        return _joined(self, "+", other)

    def __radd__(self, other: Any) -> LaterValue:
        return _joined(other, "+", self)

    def __sub__(self, other: Any) -> LaterValue:
        return _joined(self, "-", other)

    def __rsub__(self, other: Any) -> LaterValue:
        return _joined(other, "-", self)

    def __truediv__(self, other: Any) -> LaterValue:
        return _joined(self, "/", other)

    def __rtruediv__(self, other: Any) -> LaterValue:
        return _joined(other, "/", self)

    def __floordiv__(self, other: Any) -> LaterValue:
        return _joined(self, "//", other)

    def __rfloordiv__(self, other: Any) -> LaterValue:
        return _joined(other, "//", self)

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"the value of {self} is not known yet, so Python cannot decide on it",
            remedy="give the step `when=`; write &, | and ~ in the place of and, or and not, and `(a < b) & (b < c)` for a chain",
        )

    def __iter__(self) -> NoReturn:
        raise UsageError(
            f"the value of {self} is not known yet, so Python cannot loop over it",
            remedy="give a step `for_each=` with this value",
        )

    def __len__(self) -> NoReturn:
        raise UsageError(
            f"the value of {self} is not known yet, so it has no length here",
            remedy='write value | "length"',
        )

    def __contains__(self, part: object) -> NoReturn:
        raise UsageError(
            f"the value of {self} is not known yet, so Python cannot search in it",
            remedy="write the condition as a text: \"'a' in input.names\"",
        )


class ValuePath(LaterValue):
    """Is a value that a path leads to: `input.order.id`, `steps.pay.result.rows[0]`. Attributes and indexes lead on."""

    __slots__ = ()

    def __init__(self, text: str, operator: str | None = None) -> None:
        super().__init__(text, operator)

    def __getattr__(self, name: str) -> ValuePath:
        if name.startswith("_"):  # Python asks for such names by itself; data is read as value["_name"]
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, key: str | int) -> ValuePath:
        before = expression_of(self)
        if isinstance(key, str) and _PLAIN_NAME.fullmatch(key) and key.lower() not in _WORDS:
            return ValuePath(f"{before}.{key}")
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise UsageError(
                f"{self} is read by a name or by a whole number, not by {key!r}",
                remedy="slices and computed keys belong into a task",
            )
        return ValuePath(f"{before}[{literal(key)}]")


def expression_of(value: Any) -> str:
    """Returns a value as an operand within an expression."""
    if isinstance(value, LaterValue):
        text, operator = value._text, value._operator  # noqa: SLF001 -- a path has no public names: its attributes are data
        return text if operator is None else f"({text})"
    return literal(value)


def literal(value: Any) -> str:
    """Returns a value of Python as the language of expressions writes it."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case str():
            inner = json.dumps(str.__str__(value), ensure_ascii=False)[1:-1]
            return f'"{inner}"' if "'" in inner else f"'{inner}'"  # a file quotes the expression by "
        case int():
            return str(int(value)) if value >= 0 else f"({int(value)})"
        case float() if math.isfinite(value):
            return repr(float(value)) if value >= 0 else f"({float(value)!r})"
        case list() | tuple():
            return f"[{', '.join(map(expression_of, value))}]"
        case Mapping():
            parts = (f"{literal(str(key))}: {expression_of(part)}" for key, part in value.items())
            return f"{{{', '.join(parts)}}}"
        case _:
            raise UsageError(
                f"a value of type {type(value).__name__} cannot stand in an expression: {value!r}",
                remedy="expressions have numbers, texts, true, false, none, lists and mappings",
            )


def _joined(left: Any, operator: str, right: Any) -> LaterValue:
    before = expression_of(left)
    if operator in _CHAINED and isinstance(left, LaterValue) and left._operator == operator:  # noqa: SLF001
        before = before[1:-1]  # brackets within brackets are limited
    return LaterValue(f"{before} {operator} {expression_of(right)}", operator)
