"""Turns a filter into SQL. Texts of users become parameters and never a part of a statement."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from typing import Any, assert_never

import asyncpg

from tenax.errors import UsageError
from tenax.model.filters.fields import NO_PARENT, OF_EXECUTION
from tenax.model.filters.terms import Ago, Filter, Match, Saved, Time, Words
from tenax.store.connect import Connection
from tenax.store.statements import sql

FILTER_SECONDS = 15.0  # seconds that a statement with a filter may take
_VALUE = re.compile(r"(?<!:):(exact|patterns|contained|logged|path|moment|stored|ids|orphans)\b")
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


@cache
def _conditions() -> Mapping[str, str]:
    """Returns the SQL condition of each field."""
    found = {
        "id": sql("filter_id"),
        "status": sql("filter_status"),
        "workflow": sql("filter_workflow"),
        "step": sql("filter_step"),
        "class": sql("filter_class"),
        "reason": sql("filter_reason"),
        "queue": sql("filter_queue"),
        "worker": sql("filter_worker"),
        "label": sql("filter_label"),
        "key": sql("filter_key"),
        "since": sql("filter_since"),
        "until": sql("filter_until"),
        "text": sql("filter_text"),
        "input": sql("filter_input"),
        "compensation": sql("filter_compensation"),
        "parent": sql("filter_parent"),
    }
    return {name: _COMMENT.sub("", text).strip() for name, text in found.items()}


@cache
def letter_conditions() -> Mapping[str, str]:
    """Returns the SQL condition of each field of dead letters. Fields that letters do not have themselves are those of
    their executions."""
    own = {
        "id": sql("letter_id"),
        "workflow": sql("letter_workflow"),
        "step": sql("letter_step"),
        "class": sql("letter_class"),
        "reason": sql("letter_reason"),
        "fingerprint": sql("letter_fingerprint"),
        "execution": sql("letter_execution"),
        "since": sql("letter_since"),
        "until": sql("letter_until"),
        "text": sql("letter_text"),
    }
    of_execution = sql("letter_of_execution")
    others = {name: of_execution.replace(":condition", _conditions()[name]) for name in OF_EXECUTION}
    return {**{name: text.strip() for name, text in own.items()}, **others}


def with_conditions(
    statement: str, chosen: Filter, *first: Any, conditions: Mapping[str, str] | None = None
) -> tuple[str, list[Any]]:
    """Returns a statement with the conditions of a filter in the place of `:conditions`, and all its arguments.

    `first` are the arguments of the statement itself. Saved filters must be expanded, and times anchored. `conditions`
    are those of the fields, if the filter is not one of executions.
    """
    known = _conditions() if conditions is None else conditions
    arguments = list(first)
    parts: list[str] = []
    for term in chosen.terms:
        name, values, negated = _values_of(term)
        numbers: dict[str, str] = {}

        def number(
            found: re.Match[str],
            numbers: dict[str, str] = numbers,
            values: Mapping[str, Callable[[], Any]] = values,
        ) -> str:
            if found[1] not in numbers:
                arguments.append(values[found[1]]())
                numbers[found[1]] = f"${len(arguments)}"
            return numbers[found[1]]

        condition = _VALUE.sub(number, known[name])
        parts.append(f"({condition}) is not true" if negated else f"({condition})")
    text = statement.replace(":order", _order(chosen))
    return text.replace(":conditions", "\n   and ".join(parts) or "true"), arguments


def _order(chosen: Filter) -> str:
    """Returns what to sort by. PostgreSQL would walk down the ids from the newest one to find the first executions before
    `until`. It cannot do that for an expression, and reads the pages of the time instead."""
    has_until = any(isinstance(term, Time) and term.field == "until" for term in chosen.terms)
    return "(e.id + 0)" if has_until else "e.id"


async def anchor(tx: Connection, chosen: Filter) -> Filter:
    """Returns the filter with fixed times, by the database's clock."""
    if any(isinstance(term, Time) and isinstance(term.moment, Ago) for term in chosen.terms):
        return chosen.anchored(await tx.fetchval(sql("read_clock")))
    return chosen


@asynccontextmanager
async def limited_in_time(tx: Connection, seconds: float = FILTER_SECONDS) -> AsyncIterator[None]:
    """Limits the time of the statements of the block. Raises UsageError if one takes longer. The transaction is lost
    then."""
    await tx.execute(sql("limit_statement_time"), str(round(seconds * 1000)))
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise UsageError(
            f"the filter took longer than {seconds:g} s and was ended",
            remedy="narrow it by `since`, `status` or `key`, which have indexes; `text`, `input` and `reason` look at "
            "every execution that the other terms leave",
        ) from error


def _values_of(term: Words | Time | Saved) -> tuple[str, Mapping[str, Callable[[], Any]], bool]:
    """Returns the name of a term's field, its values by their name in the condition, and whether it is negated."""
    match term:
        case Words():
            return term.field, _values_of_words(term), term.negated
        case Time():
            return term.field, {"moment": lambda: _fixed(term)}, False
        case Saved():
            raise AssertionError("saved filters are expanded before they are used")
        case _:
            assert_never(term)


def _values_of_words(term: Words) -> Mapping[str, Callable[[], Any]]:
    matches = term.matches
    return {
        # Null for an empty list: PostgreSQL then leaves out the comparison and can use an index for the others.
        "exact": lambda: [one.text for one in matches if not one.is_prefix] or None,
        "patterns": lambda: [f"{_escaped(one.text)}%" for one in matches if one.is_prefix] or None,
        "contained": lambda: [f"%{_escaped(one.text)}%" for one in matches],
        "logged": lambda: list(map(_logged, matches)),
        "path": lambda: list(term.path),
        "stored": lambda: _stored_compensations(matches),
        "ids": lambda: [int(one.text) for one in matches if one.text != NO_PARENT] or None,
        "orphans": lambda: any(one.text == NO_PARENT for one in matches),
    }


def _fixed(term: Time) -> datetime:
    assert isinstance(term.moment, datetime), "times are anchored before they are used"
    return term.moment


def _stored_compensations(matches: Sequence[Match]) -> list[str]:
    """Returns the states as they are stored. While running items are awaited, a compensation is shown as running."""
    states = [one.text for one in matches]
    return [*states, "waiting"] if "running" in states else states


def _logged(match: Match) -> str:
    """Returns the pattern of a log row that records this reason."""
    text = _escaped(json.dumps(match.text, ensure_ascii=False)[1:-1])
    return f'%"reason":"{text}{"" if match.is_prefix else chr(34)}%'


def _escaped(text: str) -> str:
    """Returns a text without special meaning in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
