"""`agent` steps with real processes: what the agent gets, how it ended, what it used, and what it left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tenax.model.attempt.classify import kind_of_failure
from tenax.model.attempt.outcome import Facts, Usage
from tenax.model.definition.tiers import BUILT_IN, AgentDefaults, TierDefaults

PROMPT = {"prompt": "count to three"}
COMPLETED = 'echo \'{"status": "completed", "output": "3"}\' > $TENAX_RESULT_FILE'


def kind(outcome):
    return kind_of_failure(outcome.facts or Facts())


def result_file(text: str) -> str:
    return f"printf '%s' '{text}' > $TENAX_RESULT_FILE"


def test_it_gets_its_prompt_role_and_model(run):
    say = 'printf \'{"status": "completed", "output": "%s|%s|%s"}\' "$(cat $TENAX_PROMPT_FILE)" $TENAX_ROLE $TENAX_MODEL > $TENAX_RESULT_FILE'
    outcome = run("agent", {**PROMPT, "role": "counter", "model": "small", "command": say})
    assert outcome.result == {"output": "count to three|counter|small", "outbox": []}


def test_it_finds_its_task_in_the_inbox(run):
    outcome = run("agent", {**PROMPT, "command": f"cp $TENAX_INBOX/task.json $TENAX_OUTBOX/; {COMPLETED}"})
    [left] = outcome.result["outbox"]
    assert left["path"] == "task.json"
    assert '"prompt":"count to three"' in left["text"]
    assert '"attempt":2' in left["text"]


def test_what_it_leaves_in_the_outbox_is_listed(run):
    leave = (
        "cd $TENAX_OUTBOX; mkdir a; echo hi > a/b.txt; head -c 70000 /dev/zero > big; ln -s /etc/passwd link"
    )
    outcome = run("agent", {**PROMPT, "command": f"{leave}; {COMPLETED}"})
    assert outcome.result["outbox"] == [
        {"path": "big", "bytes": 70000},
        {"path": "a/b.txt", "bytes": 3, "text": "hi\n"},
    ]


def test_the_list_of_the_outbox_is_bounded(run):
    fill = "cd $TENAX_OUTBOX; for n in $(seq 300); do echo x > f$n; done"
    assert len(run("agent", {**PROMPT, "command": f"{fill}; {COMPLETED}"}).result["outbox"]) == 200


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("exit 7", ("transient", "exit_code_7")),
        ("true", ("transient", "missing_result")),
        (result_file("{"), ("invalid", "invalid_result")),
        (result_file("{") + "; exit 7", ("transient", "exit_code_7")),
        (result_file('{"status": "completed", ') + "; kill -9 $$", ("transient", "signal_9")),
        (result_file('{"status": "failed", "error": "no"}'), ("logical", "reported_failure")),
        (result_file('{"status": "failed"}') + "; exit 1", ("logical", "reported_failure")),
        (result_file('{"status": "budget_exceeded"}'), ("budget", "budget_exceeded")),
        (result_file('{"status": "done"}'), ("invalid", "invalid_result")),
        (result_file('{"success": true}'), ("invalid", "invalid_result")),
        (result_file("[1]"), ("invalid", "invalid_result")),
        (result_file('{"status": "done"}') + "; exit 3", ("transient", "exit_code_3")),
    ],
)
def test_how_it_failed(run, command, expected):
    assert kind(run("agent", {**PROMPT, "command": command})) == expected


def test_a_success_that_is_stated_wins_over_the_exit_code(run):
    outcome = run("agent", {**PROMPT, "command": f"{COMPLETED}; exit 3"})
    assert (outcome.status, outcome.result["output"]) == ("succeeded", "3")


def test_a_timeout_beats_the_result_file(run):
    outcome = run("agent", {**PROMPT, "command": f"{COMPLETED}; sleep 30"}, timeout=0.5)
    assert kind(outcome) == ("timeout", "attempt_timeout")


def test_the_usage_of_the_result_file_is_reported(run):
    stated = result_file('{"status": "failed", "usage": {"tokens": 12, "cost_usd": 0.5}}')
    assert run("agent", {**PROMPT, "command": stated}).usage == Usage(0.5, 12)


def test_the_last_sum_that_it_told_while_it_ran_is_reported(run):
    outcome = run("agent", {**PROMPT, "command": ["python3", "-c", _TELL]})
    assert kind(outcome) == ("transient", "exit_code_7")
    assert outcome.usage == Usage(0.25, 9)


_TELL = """
import os
fd = int(os.environ["TENAX_USAGE_FD"])
for line in ('{"tokens": 5, "cost_usd": 0.25}', "nonsense", "[1]", '{"tokens": 9}'):
    os.write(fd, line.encode() + b"\\n")
raise SystemExit(7)
"""


def test_usage_told_before_a_timeout_is_reported(run):
    told = _TELL.replace("raise SystemExit(7)", "import time; time.sleep(30)")
    outcome = run("agent", {**PROMPT, "command": ["python3", "-c", told]}, timeout=2.0)
    assert (kind(outcome)[0], outcome.usage) == ("timeout", Usage(0.25, 9))


def test_the_result_file_has_the_last_word_on_the_usage(run):
    more = 'open(os.environ["TENAX_RESULT_FILE"], "w").write(\'{"status": "completed", "usage": {"tokens": 11}}\')'
    outcome = run(
        "agent", {**PROMPT, "command": ["python3", "-c", _TELL.replace("raise SystemExit(7)", more)]}
    )
    assert outcome.usage == Usage(0.25, 11)


def test_the_command_comes_from_the_step_the_tier_or_the_setting(run):
    tiers = {**BUILT_IN, "tribune": TierDefaults(command="exit 5", model="large")}
    agents = AgentDefaults(command="exit 6", tiers=tiers)
    assert (
        kind(run("agent", {**PROMPT, "tier": "tribune", "command": "exit 4"}, agents=agents))[1]
        == "exit_code_4"
    )
    assert kind(run("agent", {**PROMPT, "tier": "tribune"}, agents=agents))[1] == "exit_code_5"
    assert kind(run("agent", {**PROMPT, "tier": "legionary"}, agents=agents))[1] == "exit_code_6"
    assert kind(run("agent", PROMPT, agents=agents))[1] == "exit_code_6"


def test_the_model_comes_from_the_step_or_the_tier(run):
    agents = AgentDefaults(tiers={**BUILT_IN, "tribune": TierDefaults(model="large")})
    say = 'printf \'{"status": "completed", "output": "%s"}\' "$TENAX_MODEL" > $TENAX_RESULT_FILE'
    spec = {**PROMPT, "command": say, "tier": "tribune"}
    assert run("agent", spec, agents=agents).result["output"] == "large"
    assert run("agent", {**spec, "model": "small"}, agents=agents).result["output"] == "small"


def test_an_agent_without_a_command_is_invalid_when_it_is_run(run):
    outcome = run("agent", PROMPT)
    assert kind(outcome) == ("invalid", "invalid_parameters")
    assert "agent_command" in outcome.facts.message


def test_no_file_descriptor_is_left_open(run):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run("agent", {**PROMPT, "command": COMPLETED})
    assert len(list(Path("/proc/self/fd").iterdir())) == before
