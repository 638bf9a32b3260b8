"""Tests the table of legal transitions against the schema and the contract."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tenax.policy.transitions import TRANSITIONS, IllegalTransition, check

CONTRACT = {
    "execution": "running, paused, completed, failed, cancelled",
    "step": "pending, queued, running, retrying, held, completed, failed, skipped, unreachable, cancelled",
    "item": "waiting, queued, leased, accepted, retrying, held, succeeded, failed, cancelled",
    "worker": "active, draining, paused, gone",
}
NOT_STORED = {
    "execution": set(),
    "step": {"queued", "running", "retrying", "held"},
    "item": {"succeeded", "failed", "cancelled"},
    "worker": set(),
}
"""A step that is under way is known by its items; an item that has ended is known by its events."""


@pytest.mark.parametrize("what", TRANSITIONS)
def test_the_states_are_those_of_the_contract(what):
    assert list(TRANSITIONS[what]) == CONTRACT[what].split(", ")
    assert {after for nexts in TRANSITIONS[what].values() for after in nexts} <= set(TRANSITIONS[what])


@pytest.mark.parametrize("what", TRANSITIONS)
def test_the_schema_allows_the_same_states(what):
    schema = files("tenax").joinpath("sql", "schema.sql").read_text()
    table = re.search(rf"create table tenax\.{what} \(.*?\n\)", schema, re.DOTALL)
    allowed = re.search(r"check \(state in \(([^)]*)\)\)", table.group(0))
    assert set(re.findall(r"'(\w+)'", allowed.group(1))) == set(TRANSITIONS[what]) - NOT_STORED[what]


def test_what_is_not_in_the_table_is_refused():
    check("execution", "running", "failed")
    with pytest.raises(IllegalTransition, match="completed -> running"):
        check("execution", "completed", "running")
