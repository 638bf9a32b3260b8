"""Finds large values without templates in a definition. They are copied as a whole, and not compiled value by value."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

DATA_DEPTH = 3
"""The levels of a template at which such values may be: a step, its keys, their values, and the values of `args`."""
LARGE = 100
"""Elements from which a list or mapping is large."""


def is_large_data(value: Any) -> bool:
    """Returns whether a value is a long list or mapping in which no text can contain a template."""
    if not isinstance(value, dict | list) or len(value) < LARGE:
        return False
    todo: list[Any] = [value]
    for part in todo:
        if isinstance(part, str):
            if "{{" in part or "{%" in part or "{#" in part:
                return False
        elif isinstance(part, Mapping):
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
    return True


def copier(value: Any) -> Callable[[], Any]:
    """Returns a function that copies the value, because user code may get it and change it."""
    frozen = pickle.dumps(value)
    return lambda: pickle.loads(frozen)  # noqa: S301 -- it was made a line above
