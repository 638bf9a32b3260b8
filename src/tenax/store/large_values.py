"""Decodes large JSON values. A list of many values is read in time slices."""

from __future__ import annotations

import json
from typing import Any

from tenax.model.json_text import decode
from tenax.store.time_slices import TimeSlice

READ_AT_ONCE = 250_000
"""Characters of a text that is decoded at once, which takes a few milliseconds."""
_LOOKED_AT = 64
"""Values of a list that are read between two checks of the time slice."""
_read_one = json.JSONDecoder().raw_decode
_BETWEEN = ", \n\t\r"


async def decode_in_slices(text: str | None) -> Any:
    """Returns the value of a JSON text. A long list is read value by value.

    The results of a fan-out's items are such a list, which may have a million values. A single value is limited
    by the size of one request.
    """
    if text is None or len(text) <= READ_AT_ONCE or not text.startswith("["):
        return decode(text)
    found: list[Any] = []
    time_slice, place, end = TimeSlice(), 1, len(text.rstrip()) - 1
    while (place := _next_value(text, place)) < end:
        if len(found) % _LOOKED_AT == 0 and time_slice.is_over:
            await time_slice.give_way()
        value, place = _read_one(text, place)
        found.append(value)
    return found


def _next_value(text: str, place: int) -> int:
    while text[place] in _BETWEEN:
        place += 1
    return place
