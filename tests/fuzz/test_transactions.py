"""Calls `tenax.submit` and `tenax.complete` as applications could, but should not: each call is refused, or its submission is
started or rejected, and none stops the others."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
from hypothesis import given
from hypothesis import strategies as st
from support.strategies.hostile_strategies import (
    ODD_VALUES,
    THROUGH_A_SERVER,
    broken_texts,
    fuzzed,
    mutated,
    workflow_texts,
)
from support.waiting import eventually

SOURCE = """
name: x
input: {a: {default: {b: [1, "two", null]}}, n: {type: integer, default: 3}}
workflow: [{step: one, type: python, task: t, args: {a: "{{ input.a }}", n: "{{ input.n }}"}}]
"""
SUBMISSION = {"workflow": None, "source": SOURCE, "input": {"n": 1, "a": {"b": []}}, "key": None, "base_dir": "/tmp", "files": {"a": "b"}}  # fmt: skip
SUBMIT = (
    "select tenax.submit(workflow => $1, source => $2, input => $3, key => $4, base_dir => $5, files => $6)"
)
FATE = """
select (select count(*) from tenax.execution where id = $1) + (select count(*) from tenax.rejected_submission where execution_id = $1)
"""
WAITING = "select count(*) from tenax.requested_submission"


def arguments(document: Any) -> list[str | None]:
    """Returns the arguments of a call: texts as they are, and everything else as JSON, which may be no JSON of PostgreSQL."""
    found = document if isinstance(document, dict) else {"source": document}
    values = [found.get(name) for name in ("workflow", "source", "input", "key", "base_dir", "files")]
    return [
        None if value is None else value if isinstance(value, str) else json.dumps(value, default=str)
        for value in values
    ]


def call(target: Any, statement: str, values: list[Any]) -> Any:
    """Returns the value of a call. Returns None if PostgreSQL or the driver refuses it."""
    try:
        return target.runner.run(target.connection.fetchval(statement, *values))
    except (asyncpg.PostgresError, asyncpg.DataError, UnicodeError):
        return None


def assert_ended_somehow(target: Any, id_: int | None) -> None:
    eventually(lambda: target.counted(WAITING) == 0)
    assert id_ is None or target.counted(FATE, id_) == 1
    assert target.is_alive()


@fuzzed(150, share=THROUGH_A_SERVER)
@given(document=mutated(SUBMISSION))
def test_odd_submissions(target: Any, document: Any) -> None:
    assert_ended_somehow(target, call(target, SUBMIT, arguments(document)))


@fuzzed(60, share=THROUGH_A_SERVER)
@given(source=st.one_of(workflow_texts(), broken_texts(SOURCE, ("{", "- ", "\t", "&a", "*a", "é"))))
def test_odd_definitions(target: Any, source: str) -> None:
    assert_ended_somehow(target, call(target, SUBMIT, arguments({"source": source})))


@fuzzed(60, share=THROUGH_A_SERVER)
@given(value=ODD_VALUES, item=st.integers(-(2**63), 2**63 - 1))
def test_strangers_complete_nothing(target: Any, value: Any, item: int) -> None:
    values = [item, json.dumps(value, default=str)]
    assert call(target, "select tenax.complete($1, gen_random_uuid(), $2::text::jsonb)", values) is None
    assert target.counted("select count(*) from tenax.attempt_result") == 0
    assert target.is_alive()
