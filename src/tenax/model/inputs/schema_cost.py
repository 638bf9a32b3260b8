"""What the check of an input against its schema can cost at most, found without making the check.

A check that is provably short is made at once. All others are made aside, in a process that can be killed (`tenax.engine.definitions.aside`): a
backtracking pattern, a chain of `$ref` or a long list can take any time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_STEPS = 2_000
"""Keywords of a schema times values of an input, for a check that is made at once: about 10 ms."""
MAX_MATCHING = 200_000
"""Steps of a pattern, for a check that is made at once: about 4 ms."""
MAX_SHOWN = 5_000_000
"""Keywords times characters of an input, for a check that is made at once: an error may show the value."""
MAX_REPEATED = 1_000_000
"""Values of an input times characters of the schema, for a check that is made at once: an error may show the schema."""
MAX_PATTERN_TEXT = 2_000
"""Characters of all patterns of a schema, for a check that is made at once: each is compiled when it is first used, 4 ms in all."""
MAX_VALUES = 10_000
"""Values of an input that is looked at at once."""
_WITHOUT_BOUND = frozenset({"$ref", "patternProperties", "unevaluatedItems", "unevaluatedProperties"})
_PIECE = re.compile(
    r"""(?: \\[dDwWsS\-./@:_,;#~&%+*?(){}\[\]|^$\\]      # an escape
        | \[ \^? (?: \\[^bAZ0-9uUN] | [^\]\\] )+ \]    # a class of characters
        | [^\\\[\](){}*+?|^$] )                        # any other character, or a dot
        (?P<repeat> [*+] | \?  | \{ \d{0,4} (?: , \d{0,4} )? \} )?""",
    re.VERBOSE,
)


class NotAtOnce(Exception):
    """What was asked for at once may take long."""


class SchemaCost(NamedTuple):
    """What is known of a schema before anything is checked against it."""

    values: int
    characters: int
    """Of its texts, and of the names in it."""
    bounded: bool
    """It has nothing that can take longer than its length times that of the input."""
    patterns: int
    power: int
    """A pattern takes at most the length of the text to this power."""


class InputSize(NamedTuple):
    values: int
    characters: int
    longest: int
    """Characters of its longest text."""


def cost_of(schema: Any) -> SchemaCost:
    """Looks at every value of a schema, also where it is not read as one: what is named `$ref` in an example does no harm."""
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
    """Returns the power to which a search for this pattern grows with the text at most. Returns None if it is not known.

    Known are sequences of characters and classes, each repeated or not: `^[a-z0-9-]+$`. Every repetition can end at any character
    of the text, and a search without `^` can begin at any. A class with characters beyond Latin-1 is not known: to compile one takes
    milliseconds, so a pattern of 2,000 characters could take a second.
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
    """Returns the size of an input. Returns None if it has more values than are looked at at once."""
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
    """Whether a check of an input of this size against this schema is provably short."""
    if not cost.bounded:
        return False
    if cost.values * size.values > MAX_STEPS or cost.values * size.characters > MAX_SHOWN:
        return False
    if cost.characters * size.values > MAX_REPEATED:
        return False
    matching: int = (size.longest + 1) ** cost.power
    return cost.patterns * size.values * matching <= MAX_MATCHING
