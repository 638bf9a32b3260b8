"""Bounds the cost of checking an input against its schema, without making the check.

A check that is provably short is made at once, on the event loop. All other checks are made in a process that can be killed
(`tenax.engine.definitions.reader_processes`), since a backtracking pattern, a chain of `$ref` or a long list can take any time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_STEPS = 2_000
"""Keywords of a schema times values of an input, in a check that is made at once. They take about 10 ms."""
MAX_MATCHING = 200_000
"""Steps of matching patterns in a check that is made at once. They take about 4 ms."""
MAX_SHOWN = 5_000_000
"""Keywords times characters of an input, in a check that is made at once. An error may show the value."""
MAX_REPEATED = 1_000_000
"""Values of an input times characters of the schema, in a check that is made at once. An error may show the schema."""
MAX_PATTERN_TEXT = 2_000
"""Characters of all patterns of a schema, in a check that is made at once. Compiling them at their first use takes 4 ms in all."""
MAX_VALUES = 10_000
"""Values of an input whose size is computed."""
_WITHOUT_BOUND = frozenset({"$ref", "patternProperties", "unevaluatedItems", "unevaluatedProperties"})
_PIECE = re.compile(
    r"""(?: \\[dDwWsS\-./@:_,;#~&%+*?(){}\[\]|^$\\]      # an escape
        | \[ \^? (?: \\[^bAZ0-9uUN] | [^\]\\] )+ \]    # a class of characters
        | [^\\\[\](){}*+?|^$] )                        # any other character, or a dot
        (?P<repeat> [*+] | \?  | \{ \d{0,4} (?: , \d{0,4} )? \} )?""",
    re.VERBOSE,
)


class NotAtOnce(Exception):
    """Work that should be done at once may take too long."""


class SchemaCost(NamedTuple):
    """Describes the cost of a schema, before anything is checked against it."""

    values: int
    characters: int
    """The number of characters in its texts and names."""
    bounded: bool
    """True if no keyword can take longer than the size of the schema times that of the input."""
    patterns: int
    power: int
    """The exponent of the longest time of a pattern, in the length of the text."""


class InputSize(NamedTuple):
    values: int
    characters: int
    longest: int
    """The number of characters in its longest text."""


def cost_of(schema: Any) -> SchemaCost:
    """Computes the cost of a schema from all of its values. Values that are no keywords, such as examples, only raise the bound."""
    values = characters = patterns = text = 0
    power, bounded = 1, True
    todo = [schema]
    for part in todo:
        values += 1
        if isinstance(part, Mapping):
            bounded = bounded and not _WITHOUT_BOUND.intersection(part)
            characters += sum(map(len, part))
            if isinstance(part.get("pattern"), str):
                found = power_of(part["pattern"])
                patterns += 1
                text += len(part["pattern"])
                power, bounded = max(power, found or 0), bounded and found is not None
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
        elif isinstance(part, str):
            characters += len(part)
    return SchemaCost(values, characters, bounded and text <= MAX_PATTERN_TEXT, patterns, power)


def weight_of(schema: Any) -> int:
    """Returns how many bytes a schema takes in memory."""
    weight = 0
    todo = [schema]
    for part in todo:
        weight += sys.getsizeof(part)
        if isinstance(part, Mapping):
            todo.extend(part)
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
    return weight


def power_of(pattern: str) -> int | None:
    """Returns the exponent with which the time of a search grows with the text at most. Returns None if it is not known.

    It is known for sequences of characters and classes with optional repetitions, such as `^[a-z0-9-]+$`. Every repetition can end
    at any character of the text, and a search without `^` can begin at any. It is not known for classes with characters beyond
    Latin-1: compiling one takes milliseconds, so a pattern of 2,000 characters could take a second.
    """
    if len(pattern) > MAX_PATTERN_TEXT or (not pattern.isascii() and max(pattern) > "\xff"):
        return None
    anchored = pattern.startswith("^")
    position, repeats = int(anchored), 0
    end = len(pattern) - (pattern.endswith("$") and not pattern.endswith("\\$"))
    while position < end:
        piece = _PIECE.match(pattern, position, end)
        if piece is None or (
            (piece["repeat"] or "").startswith("{") and not piece["repeat"][1:-1].strip(",")
        ):
            return None
        repeats += piece["repeat"] is not None
        position = piece.end()
    return repeats + (0 if anchored else 1) + 1


def size_of(value: Any) -> InputSize | None:
    """Returns the size of an input. Returns None if it has more than `MAX_VALUES` values."""
    characters = longest = 0
    todo = [value]
    for part in todo:
        if isinstance(part, str):
            length = len(part)
            characters += length
            longest = max(length, longest)
        elif isinstance(part, Mapping):
            if len(todo) + 2 * len(part) > MAX_VALUES:
                return None
            todo.extend(part)
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            if len(todo) + len(part) > MAX_VALUES:
                return None
            todo.extend(part)
    return InputSize(len(todo), characters, longest)


def is_short(cost: SchemaCost, size: InputSize) -> bool:
    """Returns whether a check of an input of this size against this schema is provably short."""
    if not cost.bounded:
        return False
    if cost.values * size.values > MAX_STEPS or cost.values * size.characters > MAX_SHOWN:
        return False
    if cost.characters * size.values > MAX_REPEATED:
        return False
    matching: int = (size.longest + 1) ** cost.power
    return cost.patterns * size.values * matching <= MAX_MATCHING
