"""Translates the rules of Choice states into conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tenax.dialects.native.workflow import ForeignText
from tenax.dialects.reading.fields import Fields
from tenax.dialects.stepfunctions.data import Reader

_COMPARISON = re.compile(
    r"(String|Numeric|Boolean|Timestamp)(Equals|LessThanEquals|GreaterThanEquals|LessThan|GreaterThan)(Path)?"
)
_OPERATORS = {
    "Equals": "==",
    "LessThan": "<",
    "GreaterThan": ">",
    "LessThanEquals": "<=",
    "GreaterThanEquals": ">=",
}
_TESTS: Mapping[str, str] = {"IsString": "string", "IsNumeric": "number", "IsBoolean": "boolean"}


def condition(rule: Fields, reader: Reader) -> str:
    """Returns the condition of a rule. Parts without a counterpart are inputs of their own, and are reported."""
    found = _condition(rule, reader)
    rule.ignore("Next", "Comment")
    rule.rest({"Assign": "is not carried over: read the results of steps instead"})
    return found


def _condition(rule: Fields, reader: Reader) -> str:
    for word, joint in (("And", " and "), ("Or", " or ")):
        if word in rule:
            return joint.join(f"({condition(one, reader)})" for one in rule.each(word))
    if "Not" in rule:
        return f"not ({condition(rule.sub('Not'), reader)})"
    if "Condition" in rule:
        return _foreign(rule, "Condition", reader, "JSONata is not evaluated here")
    variable = reader.expression(rule.text("Variable"), (*rule.path, "Variable"))
    for key in rule.data:
        found = _COMPARISON.fullmatch(key)
        if found is not None:
            return (
                f"{variable} {_OPERATORS[found[2]]} {_other(rule, key, reader, is_path=found[3] is not None)}"
            )
        if key in _TESTS:
            return _affirmed(f"{variable} is {_TESTS[key]}", rule.flag(key, default=True))
        if key in ("IsPresent", "IsNull"):
            is_none = rule.flag(key, default=True) is (key == "IsNull")
            return f"{variable} {'==' if is_none else '!='} none"
    known = next((key for key in rule.data if key not in ("Variable", "Next", "Comment")), "Variable")
    return _foreign(rule, known, reader, "there is no such comparison")


def _other(rule: Fields, key: str, reader: Reader, *, is_path: bool) -> str:
    value: Any = rule.take(key)
    if is_path:
        return reader.expression(str(value), (*rule.path, key))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _affirmed(words: str, yes: bool) -> str:  # noqa: FBT001 -- the value of a test in the file
    return words if yes else f"not ({words})"


def _foreign(rule: Fields, key: str, reader: Reader, why: str) -> str:
    value = rule.take(key)
    original = f"{rule.data.get('Variable', '')} {key} {value}".strip()
    return reader.workflow.stand_in(ForeignText(original, original, (*rule.path, key)), why)
