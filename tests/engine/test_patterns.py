"""Attempts that end alike: what is written of them by a pattern is what would be written of each by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from cases import facts, ledgers, policies, rolls, seconds
from finishing import chain, failure, finished, left_behind, retried, success
from hand import Hand
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tenax.engine import patterns
from tenax.engine.patterns import Patterns, Text, mark
from tenax.model.decision import NO_CONTROLS, Decision, Ledger
from tenax.model.durations import format_duration
from tenax.model.outcome import Facts, Outcome
from tenax.model.policy import Policy, Rule
from tenax.policy.decide import decide, read_failure
from tenax.policy.likeness import LONGEST, is_steady, kind_of, marked, marked_retry, past_of
from tenax.policy.resolve import CompiledPolicy, compile_policy

steady = st.builds(
    replace,
    policies,
    retryable=st.just(True),
    retry_when=st.none(),
    stop_when=st.none(),
    never_on=st.just(()),
    jitter=st.sampled_from([0, 0.2, 1.0, "full", "equal"]),
    max_attempts=st.none() | st.integers(5, 9),
    give_up_after=st.none() | seconds,
)
"""Most of these are, and most of what fails by them is retried."""
failures = st.builds(
    Outcome, st.just("failed"), facts=st.builds(replace, facts, data=st.none(), failure_class=st.none())
)
numbers = st.tuples(rolls, seconds, st.integers(1, 2**40), seconds)
"""Roll, elapsed, execution, previous delay: what differs between cases that are alike."""


def decided(
    policy: CompiledPolicy, ledger: Ledger, outcome: Outcome, own: tuple[float, float, int, float]
) -> Decision:
    roll, elapsed, execution_id, previous = own
    before = replace(
        ledger,
        elapsed=elapsed,
        previous_delay=None if ledger.previous_delay is None else previous,
    )
    return decide(
        policy,
        before,
        outcome,
        attempt=3,
        elapsed=elapsed,
        controls=NO_CONTROLS,
        roll=roll,
        execution_id=execution_id,
        node_id="fetch",
    )


def gaps(own: tuple[float, float, int, float]) -> dict[str, str]:
    roll, elapsed, execution_id, previous = own
    return {
        "roll": repr(roll),
        "elapsed": repr(elapsed),
        "execution_id": repr(execution_id),
        "previous_delay": repr(previous),
    }


def plain(ledger: Ledger) -> Ledger:
    """One with nothing but counts in it."""
    counts = {name: getattr(ledger, name) for name in ("counted", "exempted", "by_class", "by_rule")}
    return Ledger(**counts, previous_delay=ledger.previous_delay)


@settings(max_examples=300, deadline=None)
@given(steady, ledgers.map(plain), failures, numbers, numbers)
def test_retries_that_are_alike_differ_in_nothing_but_what_is_filled_in(policy, ledger, outcome, one, other):
    compiled, ledger = compile_policy(policy), replace(ledger, counted=ledger.counted % 4)
    first = decided(compiled, ledger, outcome, one)
    assume(is_steady(compiled) and first.verdict == "retry")
    found = marked_retry(compiled, first, read_failure(compiled, ledger, outcome), mark)
    assert found is not None
    record, delays = found
    values = gaps(other)
    if delays.fixed is None:
        parts = delays.plan(other[0], None if ledger.previous_delay is None else other[3])
        values |= {
            "delay": repr(parts.delay),
            "next_delay": repr(parts.jittered),
            "in_words": format_duration(parts.delay),
            "parts": json.dumps(parts.as_dict()),
        }
    expected = decided(compiled, ledger, outcome, other)
    assert json.loads(Text(record).fill(values)) == json.loads(json.dumps(expected.as_dict()))
    if delays.fixed is not None:
        assert expected.delay is not None
        assert delays.fixed == expected.delay.delay


STEADY = {
    Policy(): True,
    Policy(rules=(Rule(on=("http_503",), initial_delay=9.0),)): True,
    Policy(rules=(Rule(on=("http_503",)), Rule(when="elapsed > 5", retry=False))): False,
    Policy(retry_when="execution_id > 5"): False,
    Policy(stop_when="elapsed > 5"): False,
    Policy(give_up_after=60.0): False,
}


@pytest.mark.parametrize(("policy", "expected"), STEADY.items())
def test_a_policy_that_looks_at_what_differs_is_not_steady(policy: Policy, *, expected: bool):
    assert is_steady(compile_policy(policy)) is expected


FIXED = {
    Policy(jitter=0): 1.0,
    Policy(jitter=0, backoff="fixed", initial_delay=4.0): 4.0,
    Policy(jitter=0.2): None,
    Policy(jitter="full"): None,
    Policy(jitter=0, backoff="decorrelated"): None,
    Policy(rules=(Rule(on=("http_503",), jitter=0, initial_delay=9.0),)): 9.0,
    Policy(jitter=0, rules=(Rule(on=("http_503",), jitter=0.5),)): None,
}


@pytest.mark.parametrize(("policy", "fixed"), FIXED.items())
def test_a_delay_is_fixed_where_chance_has_no_part_in_it(policy: Policy, fixed: float | None):
    compiled, outcome = compile_policy(policy), Outcome("failed", facts=Facts(status_code=503))
    decision = decided(compiled, Ledger(), outcome, (0.5, 1.0, 7, 0.0))
    found = marked_retry(compiled, decision, read_failure(compiled, Ledger(), outcome), mark)
    assert found is not None
    assert found[1].fixed == fixed


@settings(deadline=None)
@given(policies, ledgers.map(plain), numbers, numbers)
def test_so_do_successes_after_retries(policy, ledger, one, other):
    compiled, outcome = compile_policy(policy), Outcome("succeeded", {"n": 1})
    record = marked(decided(compiled, ledger, outcome, one), mark)
    expected = decided(compiled, ledger, outcome, other)
    assert json.loads(Text(record).fill(gaps(other))) == json.loads(json.dumps(expected.as_dict()))


@given(ledgers)
def test_only_what_is_all_known_by_its_counts_is_a_past(ledger: Ledger):
    body = json.loads(json.dumps(ledger.as_dict()))
    is_plain = plain(ledger).as_dict() == {**ledger.as_dict(), "elapsed": 0.0}
    past = past_of(body)
    assert (past is not None) == is_plain
    if past is not None:
        assert past == past_of({**body, "elapsed": ledger.elapsed + 1})
        assert past.counts != past_of({**body, "counted": ledger.counted + 1}).counts


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("failed"),
        Outcome("failed", facts=Facts(data={"x": 1})),
        Outcome("failed", facts=Facts(message="x" * (LONGEST + 1))),
        Outcome("failed", facts=Facts(message="x"), after=3.0),
        Outcome("failed", {"x": 1}, facts=Facts(message="x")),
    ],
    ids=["nothing seen", "data", "long", "a delay of its own", "a result"],
)
def test_some_failures_are_not_compared(outcome: Outcome):
    assert kind_of(outcome) is None


def test_what_differs_makes_another_kind():
    kinds = [
        kind_of(Outcome("failed", facts=Facts(**fact)))
        for fact in (
            {"message": "a"},
            {"message": "b"},
            {"message": "a", "traceback": "t"},
            {"status_code": 503},
        )
    ]
    assert None not in kinds
    assert len(set(kinds)) == len(kinds)


def test_text_is_filled_in_whatever_is_around_it():
    text = Text({"whole": mark("a"), "within": f'50 % of "{mark("b")}" %s {{}}', "n": [mark("a")]})
    values = {"a": '{"x": 1}', "b": "all"}
    assert json.loads(text.fill(values)) == {
        "whole": {"x": 1},
        "within": '50 % of "all" %s {}',
        "n": [{"x": 1}],
    }
    assert json.loads(Text({"nothing": 1}).fill({})) == {"nothing": 1}


def test_few_patterns_are_kept_and_only_of_what_came_twice(monkeypatch):
    monkeypatch.setattr(patterns, "MOST", 3)
    known = Patterns()
    assert [known.note(1), known.note(1), known.note(2)] == [False, True, False]
    for kind in range(5):
        known.keep(kind, f"pattern {kind}")
    assert [known.find(kind) for kind in range(5)] == [None, None, "pattern 2", "pattern 3", "pattern 4"]
    assert [known.note(kind) for kind in (3, 4, 5, 1)] == [False] * 4, "1 was forgotten"


RETRIES = {
    "a fixed delay": "max_attempts: 4, backoff: fixed, initial_delay: 5s, jitter: 0",
    "by chance": "max_attempts: 4, initial_delay: 5s",
    "from the last delay": "max_attempts: 4, backoff: decorrelated, initial_delay: 5s",
    "a rule": "max_attempts: 4, rules: [{on: [http_503], initial_delay: 5s, jitter: 0}]",
    "a condition": "max_attempts: 4, initial_delay: 5s, retry_when: 'elapsed < 1000'",
    "for so long": "max_attempts: 4, initial_delay: 5s, give_up_after: 1h",
}


@pytest.mark.parametrize("retry", RETRIES.values(), ids=RETRIES)
@pytest.mark.parametrize(
    "seen", [{}, {"message": '100 % "%(roll)s"', "retry_after": 7.0}], ids=["plain", "odd"]
)
def test_the_fourth_of_its_kind_leaves_what_the_first_left(play, retry: str, seen: dict[str, Any]):
    """Twice failed, then done; each of them by itself, so that all have the same times behind them."""

    async def scene(hand: Hand):
        left = []
        for _ in range(4):
            id_ = await hand.submit(chain(1, f"retry: {{{retry}}}"))
            for _ in range(2):
                a = await hand.lease_one()
                assert await retried(hand, failure(a, **seen)) == {a.item_id}
                await hand.clock.advance(60)
            a = await hand.lease_one()
            assert await finished(hand, success(a, {"n": 1})) == {a.item_id}
            left.append(await left_behind(hand, id_))
        assert left[1:] == left[:1] * 3

    play(scene)


def test_one_batch_of_failures_that_are_alike_waits_as_each_of_them_would(play):
    async def scene(hand: Hand):
        ids = [await hand.submit(chain(1, "retry: {max_attempts: 3, initial_delay: 5s}")) for _ in range(6)]
        leased = await hand.lease()
        told = [failure(a, traceback="Traceback ...") for a in leased]
        rows = hand.engine.core.roll
        drawn = iter([0.0, 0.25, 0.5, 0.75, 0.9, 0.1])
        hand.engine.core.roll = lambda: next(drawn)
        assert await retried(hand, *told) == {a.item_id for a in leased}
        hand.engine.core.roll = rows
        delays = []
        for id_ in ids:
            [explained] = await hand.engine.explain(id_)
            waits = (await hand.engine.events(id_))[-1]["data"]
            assert waits["decision"]["roll"] == waits["decision"]["delay"]["roll"]
            assert waits["delay_seconds"] == waits["decision"]["delay"]["delay"]
            assert (
                f"retried in {format_duration(waits['delay_seconds'])} (" in explained["decision"]["reason"]
            )
            delays.append(waits["delay_seconds"])
        assert sorted(delays) == [4.0, 4.2, 4.5, 5.0, 5.5, 5.8]
        [[kept]] = await hand.sql(
            "select array_agg(extract(epoch from available_at - created_at)::float8 order by 1) from tenax.item"
        )
        assert [round(seconds, 6) for seconds in sorted(kept)] == sorted(delays)

    play(scene)
