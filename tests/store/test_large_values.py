"""Tests that large JSON values are read in slices, with the same result as small ones."""

from __future__ import annotations

import json

import pytest
from support.attack.loop_holds import free_loop

from tenax.model.json_text import decode
from tenax.store import large_values
from tenax.store.large_values import decode_in_slices

VALUES = [
    [],
    [1],
    [
        None,
        True,
        False,
        -1,
        2**64 - 1,
        -(2**63),
        0.1,
        1e-300,
        "",
        'a"b\\c\n',
        "ü\U0001f600",
        {"a": [{}]},
        [[]],
    ],
    ["]", "[", ",", {"]": ","}],
    {"a": [1, 2]},
    "[1, 2]",
    17,
]


@pytest.mark.parametrize("spaces", [None, 2], ids=["one line", "indented"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_it_gives_what_the_reader_of_small_values_gives(monkeypatch, value, spaces):
    monkeypatch.setattr(large_values, "READ_AT_ONCE", 0)
    for text in (json.dumps(value, indent=spaces), json.dumps(value, ensure_ascii=False) + " "):
        assert await decode_in_slices(text) == decode(text) == value


async def test_nothing_is_nothing():
    assert await decode_in_slices(None) is None


async def test_a_million_small_values_leave_the_loop_free(monkeypatch):
    text = json.dumps([[n % 10, {"a": n % 7}] for n in range(500_000)])
    turns = 0

    class Counted(large_values.TimeSlice):
        async def give_way(self) -> None:
            nonlocal turns
            turns += 1
            await super().give_way()

    monkeypatch.setattr(large_values, "TimeSlice", Counted)
    with free_loop():
        found = await decode_in_slices(text)
    assert len(found) == 500_000
    assert turns > 10
