"""Tests that `tenax decide` gives the engine's decision, from the recorded policy, outcome and ledger."""

from __future__ import annotations

import json

import pytest

from tenax.cli.errors import run_command

POLICY = {
    "max_attempts": 6,
    "jitter": 0,
    "infra_attempts": 1,
    "retry_on": ["exception_LookupError"],
    "rules": [
        {"when": "failure.exception == 'RuntimeError'", "max_attempts": 2, "initial_delay": 2.0},
        {"on": ["exception_OSError"], "initial_delay": 4.0},
    ],
}
RAISED = {
    "RuntimeError": ["builtins.RuntimeError", "builtins.Exception", "builtins.BaseException"],
    "BlockingIOError": ["builtins.BlockingIOError", "builtins.OSError", "builtins.Exception"],
    "IndexError": ["builtins.IndexError", "builtins.LookupError", "builtins.Exception"],
    "Own": ["mylib.Own", "builtins.RuntimeError", "builtins.Exception"],
}


@pytest.mark.parametrize(
    "raised",
    [
        ["RuntimeError", "RuntimeError"],
        ["Own", "BlockingIOError", "Own"],
        ["IndexError", "BlockingIOError", "IndexError", "RuntimeError", "IndexError", "IndexError"],
    ],
)
async def test_the_decision_is_that_of_the_engine(hand, capsys, raised):
    source = f"name: w\nworkflow: [{{step: s, type: python, task: 't:t', retry: {json.dumps(POLICY)}}}]\n"
    id_ = await hand.submit(source)
    for name in raised:
        kind, *bases = RAISED[name]
        await hand.fail(await hand.lease_one(), exception=kind, exception_bases=tuple(bases))
        await hand.clock.advance(60)
    decided = [event["data"].get("decision") for event in await hand.events(id_)]
    recorded = [decision for decision in decided if decision is not None]
    assert len(recorded) == len(raised)
    assert recorded[-1]["verdict"] == "fail"
    for name, decision in zip(raised, recorded, strict=True):
        # People write the bare name of a built-in exception, and its bases follow from it.
        kind, *bases = (name,) if name != "Own" else RAISED[name]
        outcome = {"status": "failed", "exception": kind, "exception_bases": bases}
        asked = ["--policy", json.dumps(POLICY), "--outcome", json.dumps(outcome)]
        run_command(["decide", *asked, "--ledger", json.dumps(decision["before"]), "--json"])
        answer = json.loads(capsys.readouterr().out)
        same = ("verdict", "rule", "reason", "checks", "before", "after", "version")
        assert {key: answer[key] for key in same} == {key: decision[key] for key in same}
