"""Decides what an unquoted word of YAML means: a boolean, a number, nothing, or text.

The rules are PyYAML's (`yes` and `off` are booleans), with exceptions. A date and `1:30` stay text. `1e5` is a number, as in JSON. A word
is refused, with a remedy, if YAML readers disagree about it or JSON cannot hold it.
"""

from __future__ import annotations

import math
import re
from typing import Any

_BOOLEANS = {
    spelling: truth
    for word, truth in (
        ("true", True),
        ("yes", True),
        ("on", True),
        ("false", False),
        ("no", False),
        ("off", False),
    )
    for spelling in (word, word.capitalize(), word.upper())
}
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_NOT_TEXT = frozenset("+-.0123456789~nNyYtTfFoO")
"""The first characters of words that may be something other than text."""

_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_BASED = re.compile(r"([-+]?)0([box])([0-9a-fA-F_]+)")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_FRACTION = re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"b": 2, "o": 8, "x": 16}
_MOST_DIGITS = 80
_WHOLE_NUMBERS = range(-(2**63), 2**64)
_TAG_PREFIX = "tag:yaml.org,2002:"
_TAG_TYPES: dict[str, tuple[type, ...]] = {
    f"{_TAG_PREFIX}int": (int,),
    f"{_TAG_PREFIX}float": (float, int),
    f"{_TAG_PREFIX}bool": (bool,),
    f"{_TAG_PREFIX}null": (type(None),),
}
TEXT_TAG = f"{_TAG_PREFIX}str"


def read_scalar(text: str, tag: str | None) -> Any:
    """Returns the value of a scalar that has a tag or no quotes. Raises a ValueError that says why it has none."""
    if tag is None:
        return read_plain(text)
    if tag in (TEXT_TAG, "!"):
        return text
    types = _TAG_TYPES.get(tag)
    if types is None:
        raise ValueError(unknown_tag_message(tag))
    value: Any = read_plain(text)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ValueError(f"the tag `{short_tag(tag)}` does not fit this value")
    return float(text.replace("_", "")) if types[0] is float else value


def read_plain(text: str) -> Any:
    if text and text[0] not in _NOT_TEXT:
        return text
    if text in _NOTHING:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    return _read_number(text)


def _read_number(text: str) -> int | float | str:
    if _WHOLE.fullmatch(text):
        if len(text) > _MOST_DIGITS:
            raise ValueError(_too_large(text))
        return _within_64_bits(int(text.replace("_", "").lstrip("+")), text)
    if _LEADING_ZERO.fullmatch(text):
        raise ValueError(
            "a number that begins with 0 is octal to some readers and decimal to others: "
            f'quote it ("{text[:40]}") or leave out the zero'
        )
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f'`{text}` is not a finite number; if it is meant as text, quote it ("{text}")')
    if based := _BASED.fullmatch(text):
        return _read_based(text, based)
    if _FRACTION.fullmatch(text):
        value = float(text.replace("_", ""))
        if not math.isfinite(value):
            raise ValueError(_too_large(text))
        return value
    return text


def _read_based(text: str, based: re.Match[str]) -> int | str:
    sign, base, digits = based.groups()
    if len(digits) > _MOST_DIGITS:
        raise ValueError(_too_large(text))
    try:
        value = int(digits.replace("_", ""), _BASES[base])
    except ValueError:
        return text
    return _within_64_bits(-value if sign == "-" else value, text)


def _within_64_bits(value: int, text: str) -> int:
    if value not in _WHOLE_NUMBERS:
        raise ValueError(_too_large(text))
    return value


def _too_large(text: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return f'the number {shown} is too large; if it is meant as text, quote it ("{shown}")'


def unknown_tag_message(tag: str) -> str:
    return f"the tag `{short_tag(tag)}` is not allowed: a definition is plain data; leave the tag out"


def short_tag(tag: str) -> str:
    shown = "!!" + tag.removeprefix(_TAG_PREFIX) if tag.startswith(_TAG_PREFIX) else tag
    return shown if len(shown) <= 60 else shown[:57] + "..."
