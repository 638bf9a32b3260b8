"""Tests columns of a batch that are sent as lines of one text. No text of a user ends a line there."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.json_text import decode, encode
from tenax.model.wire import Report
from tenax.store.array_params import lines

ODD = "a\nb\r\nc\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\t\\n\"'\0,{}NULL"
KEPT = ODD.replace("\0", "")
"""A result with a NUL character is refused. A message may have one."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
TWO = """
name: two
workflow:
  - {step: a, type: python, task: t, retry: {max_attempts: 3, initial_delay: 1s}}
  - {step: b, type: python, task: t, needs: [a], args: {x: "{{ steps.a.result.text }}"}}
"""


@given(st.lists(VALUES, min_size=1))
def test_no_value_has_a_line_break_as_json(values: list[Any]) -> None:
    texts = [encode(value) for value in values]
    joined = lines(texts)
    assert joined is not None
    assert joined.split("\n") == texts


async def test_odd_text_stays_where_it_belongs(hand) -> None:
    """Results, failures and the names of old workers, several of them in one batch."""
    ids = [await hand.submit(TWO) for _ in range(3)]
    results = [{"text": KEPT, KEPT: [KEPT]}, {"text": "\n"}, {"text": "plain"}]
    leased = sorted(await hand.lease("w1"), key=lambda one: one.execution_id)
    facts = Facts(failure_class="transient", message=ODD, exception=ODD)
    await hand.engine.report(
        [
            Report(a.execution_id, a.item_id, a.attempt, a.token, outcome, a.step)
            for a, outcome in zip(
                leased,
                [Outcome("failed", facts=facts), *(Outcome("succeeded", r) for r in results[1:])],
                strict=True,
            )
        ]
    )
    await hand.wait(5)
    second = await hand.lease("w1")
    [first] = [one for one in second if one.step == "a"]
    await hand.succeed(first, results[0])
    second = [*(one for one in second if one.step == "b"), *await hand.lease("w1")]
    rendered = {one.execution_id: one.spec["args"]["x"] for one in second}
    assert rendered == dict(zip(ids, [KEPT, "\n", "plain"], strict=True))
    for one in second:
        await hand.succeed(one, {"end": KEPT})
    for number in ids:
        got = await hand.get(number)
        assert (got["status"], got["result"]["b"]) == ("completed", {"end": KEPT})


async def test_the_names_of_those_who_refused_stay_apart(hand) -> None:
    """A name of an earlier version may have a line break: it stays one name."""
    for name in ("w1", "w2", "w3"):
        await hand.register(name)
    await hand.submit()
    await hand.sql("update tenax.item set refused_by = $1", ["w2\nw3", KEPT])
    await hand.hand_back(await hand.lease_one("w1"), reason="no_handler")
    [row] = await hand.sql("select refused_by from tenax.item")
    assert sorted(row["refused_by"]) == sorted(["w1", "w2\nw3", KEPT])
    assert decode(encode(row["refused_by"])) == row["refused_by"]
    assert len(await hand.lease("w2")) == 1, "it has refused nothing"
