"""Tests one rule for values of all senders: they are kept exactly, or refused with the limit in the message."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from support.hand import Hand, one_postgres

from tenax.errors import InvalidInput
from tenax.model.attempt.callback import UnreadableCallback, read_callback
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.json_text import decode, encode, json_fault

TAKES = """
name: takes
input: {x: {}}
workflow:
  - {step: ask, type: wait, signal: go}
outputs: {x: "{{ input.x }}"}
"""
CHECKED_ASIDE = TAKES.replace("{x: {}}", "{x: {$ref: '#/$defs/any', $defs: {any: {}}}}")
REFUSED = [
    (2**64, "beyond 64 bits"),
    (2**70 + 1, "beyond 64 bits"),
    (-(2**63) - 1, "beyond 64 bits"),
    (math.nan, "NaN|finite"),
    (-math.inf, "infinity|finite"),
    ("a\0b", "NUL|U\\+0000"),
    ("\ud800", "surrogate"),
]
KEPT = [2**64 - 1, -(2**63), 1.5e308, "\ufffd", "\U0001f600", None, True, 0.1]


@one_postgres
@pytest.mark.parametrize(("value", "says"), REFUSED)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"deep": [None, {"x": v}]}])
async def test_what_cannot_be_kept_is_refused(hand: Hand, value: Any, says: str, wrap: Any) -> None:
    value = wrap(value)
    with pytest.raises(InvalidInput, match=says):
        await hand.submit(TAKES, input={"x": value})
    execution_id = await hand.submit(TAKES, input={"x": 1})
    with pytest.raises(InvalidInput, match=says):
        await hand.engine.signal(execution_id, "go", data=value, actor="ann")
    failing, a = await hand.start()
    assert (await hand.report(a, Outcome("succeeded", value))).verdict == "fail"
    [error] = await hand.events_of(failing, "action_error")
    failure = error["data"]["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "invalid_result")
    assert json_fault(value) in failure["message"]


@one_postgres
@pytest.mark.parametrize(("value", "says"), REFUSED)
async def test_what_cannot_be_kept_is_refused_too_by_a_check_aside(hand: Hand, value: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        await hand.submit(CHECKED_ASIDE, input={"x": [None, {"deep": value}]})


@one_postgres
@pytest.mark.parametrize("value", KEPT)
async def test_what_is_kept_is_kept_exactly(hand: Hand, value: Any) -> None:
    value = {"deep": [value]}
    assert json_fault(value) is None
    assert decode(encode(value)) == value
    execution_id = await hand.submit(TAKES, input={"x": value})
    assert (await hand.get(execution_id))["input"] == {"x": value}
    await hand.engine.cancel(execution_id, actor="ann")
    done, a = await hand.start()
    await hand.succeed(a, value)
    assert (await hand.get(done))["result"] == {"only": value}
    [completed] = await hand.events_of(done, "action_completed")
    assert completed["data"]["result"] == value


@one_postgres
async def test_the_evidence_of_a_failure_is_kept_as_text(hand: Hand) -> None:
    execution_id, a = await hand.start()
    await hand.report(a, Outcome("failed", facts=Facts(status_code=503, data={"n": 2**70})))
    [error] = await hand.events_of(execution_id, "action_error")
    assert error["data"]["failure"]["data"] == '{"n": 1180591620717411303424}'


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"18446744073709551616", "beyond 64 bits"),
        (b'{"success": true, "result": [1e400]}', "infinity"),
        (b'{"x": "\\u0000"}', "NUL"),
        (b'{"\\u0000": 1}', "NUL"),
        (b"NaN", "not JSON"),
        (b'"\\ud800"', "not JSON"),
    ],
)
def test_a_callback_that_cannot_be_kept_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(UnreadableCallback, match=says):
        read_callback("application/json", body, None, datetime.now(UTC))


def test_a_fault_says_where_it_is() -> None:
    assert json_fault({"a": [1, {"b": 2**64}]}) == (
        "an integer beyond 64 bits (from -2^63 to 2^64-1): send it as a text at a[1].b"
    )
    assert json_fault({"a": {"b\0": 1}}) == "a NUL character (U+0000) in a text in the name 'b\\x00'"
    deep: Any = 1
    for _ in range(2000):
        deep = [deep]
    assert "levels" in (json_fault(deep) or "")
