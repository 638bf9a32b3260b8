"""`tenax decide`: the decision function by hand."""

from __future__ import annotations

import json
import random

import pytest

from tenax.cli.errors import run_command

SERVER_ERROR = {"status": "failed", "status_code": 503}
LOST = {"status": "failed", "class": "worker_lost"}


def asked(capsys, policy, outcome, ledger=None, *more):
    """The same command in this process: fifty of them are quicker so."""
    arguments = ["decide", "--policy", json.dumps(policy), "--outcome", json.dumps(outcome), "--json", *more]
    if ledger is not None:
        arguments += ["--ledger", json.dumps(ledger)]
    code = run_command(arguments)
    out, err = capsys.readouterr()
    return code, (json.loads(out) if out else None), err


def test_in_words(command):
    ended = command(
        "decide", "--policy", '{"max_attempts": 3, "jitter": 0}', "--outcome", json.dumps(SERVER_ERROR)
    )
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "Attempt 1: retry. It is run again.\n"
        "What happened: transient (http_503): 503 Service Unavailable\n"
        "Evidence: status_code 503.\n"
        "Decided by: retry - nothing stands against it: retry after the delay.\n"
        "Why: transient (http_503) is retried in 1s (its class is retried by default); attempt 1 of 3 (2 retries left).\n"
        "Attempts: attempt 1 of 3 (2 retries left).\n"
        "Delay: 1s. The exponential curve gives 1s after 1 counted failure (cap 5m); no jitter changed it.\n"
        "Rules looked at, in order:\n"
        "     execution_ended: execution_open true\n"
        "     never_retried_class: class transient\n"
        "     not_retryable: retryable true\n"
        "     retries_disabled: retries_enabled true\n"
        "     class_default: class transient, reason http_503, retried true\n"
        "     attempts_exhausted: counted 1, max_attempts 3\n"
        "  -> retry: delay 1s\n"
    )


def test_as_json(command):
    ended = command(
        "decide",
        "--policy",
        '{"max_attempts": 3, "jitter": 0}',
        "--outcome",
        json.dumps(SERVER_ERROR),
        "--json",
    )
    assert (ended.code, ended.err) == (0, "")
    body = ended.json
    assert {
        name: body[name]
        for name in ("verdict", "rule", "delay", "max_attempts", "attempts", "class", "exhausted")
    } == {
        "verdict": "retry",
        "rule": "retry",
        "delay": 1.0,
        "max_attempts": 3,
        "attempts": 1,
        "class": "transient",
        "exhausted": False,
    }
    assert body["reason"].startswith("transient (http_503) is retried in 1s")
    assert body["failure"]["reason"] == "http_503"
    assert (body["before"]["counted"], body["after"]["counted"]) == (0, 1)
    assert body["checks"][-1] == {"rule": "retry", "hit": True, "saw": {"delay": 1.0}}


FIXED = {"max_attempts": 3, "jitter": 0}
VERDICTS = [
    # policy, outcome, ledger, verdict, rule, delay
    (FIXED, {"status": "succeeded", "result": 1}, None, "complete", "succeeded", None),
    (FIXED, SERVER_ERROR, None, "retry", "retry", 1.0),
    (FIXED, SERVER_ERROR, {"attempts": 2}, "retry", "retry", 2.0),
    (FIXED, SERVER_ERROR, {"attempts": 3}, "fail", "attempts_exhausted", None),
    (3, SERVER_ERROR, {"attempts": 3}, "fail", "attempts_exhausted", None),
    (False, SERVER_ERROR, None, "fail", "attempts_exhausted", None),
    ({**FIXED, "retryable": False}, SERVER_ERROR, None, "fail", "not_retryable", None),
    (FIXED, {"status": "failed", "status_code": 404}, None, "fail", "class_default", None),
    (FIXED, {"status": "failed", "class": "budget"}, None, "fail", "never_retried_class", None),
    (FIXED, {"status": "failed", "exception": "ValueError"}, None, "fail", "class_default", None),
    (FIXED, {"status": "failed", "exception": "mylib.Odd"}, None, "retry", "retry", 1.0),
    (FIXED, {"status": "failed", "exit_code": 7}, None, "retry", "retry", 1.0),
    (FIXED, {"status": "failed", "reason": "connection_refused"}, None, "retry", "retry", 1.0),
    (FIXED, {"status": "failed", "status_code": 429, "retry_after": 9}, None, "retry", "retry", 9.0),
    (FIXED, {"status": "failed", "status_code": 429, "retry_after": "1m"}, None, "retry", "retry", 60.0),
    (FIXED, {"status": "not_completed"}, None, "retry", "retry", 1.0),
    (FIXED, {"status": "not_completed"}, {"attempts": 3}, "fail", "attempts_exhausted", None),
    (FIXED, {"status": "snoozed", "after": "30s"}, {"attempts": 3}, "retry", "snoozed", 30.0),
    ({**FIXED, "retry_when": "{{ result.code == 7 }}"}, {"status": "failed", "result": {"code": 7}}, None, "retry", "retry", 1.0),
    ({**FIXED, "retry_when": "{{ result.code == 7 }}"}, {"status": "failed", "result": {"code": 8}}, None, "fail", "retry_when", None),
    ({**FIXED, "retry_when": "{{ status_code >= 500 }}"}, LOST, None, "retry", "retry", 1.0),
    ({**FIXED, "stop_when": "{{ 'quota' in error }}"}, {"status": "failed", "error": "quota spent"}, None, "fail", "stop_when", None),
    ({**FIXED, "stop_when": "{{ attempt >= 2 }}"}, SERVER_ERROR, {"attempts": 2}, "fail", "stop_when", None),
    ({**FIXED, "give_up_after": "10s"}, SERVER_ERROR, {"attempts": 1, "elapsed": 9.5}, "fail", "give_up_after", None),
    ({**FIXED, "give_up_after": "10s"}, SERVER_ERROR, {"attempts": 1, "elapsed": 8}, "retry", "retry", 1.0),
    # What was spent includes the attempt that has just ended: it is not charged twice.
    ({**FIXED, "attempt_cost": 1}, SERVER_ERROR, {"attempts": 1, "cost": 1, "budget": 2}, "retry", "retry", 1.0),
    ({**FIXED, "attempt_cost": 1}, SERVER_ERROR, {"attempts": 1, "cost": 1.5, "budget": 2}, "fail", "budget", None),
    (FIXED, SERVER_ERROR, {"attempts": 1, "cost": 2, "budget": 2}, "fail", "budget", None),
    # A lost worker is forgiven once; whether it was already is read from the classes.
    ({**FIXED, "infra_attempts": 1}, LOST, {"attempts": 3}, "retry", "retry", 2.0),
    ({**FIXED, "infra_attempts": 1}, LOST, {"attempts": 3, "by_class": {"worker_lost": 1}}, "retry", "retry", 2.0),
    ({**FIXED, "infra_attempts": 1}, LOST, {"attempts": 3, "by_class": {"worker_lost": 2}}, "fail", "attempts_exhausted", None),
    ({**FIXED, "rules": [{"on": ["http_503"], "retry": False}]}, SERVER_ERROR, None, "fail", "rule_retry", None),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "outcome", "ledger", "verdict", "rule", "delay"), VERDICTS)
def test_verdicts(capsys, policy, outcome, ledger, verdict, rule, delay):
    code, body, err = asked(capsys, policy, outcome, ledger)
    assert (code, err) == (0, "")
    assert (body["verdict"], body["rule"], body["delay"]) == (verdict, rule, delay)


def test_the_seed_makes_the_draw(capsys):
    policy = {"max_attempts": 3, "initial_delay": 10, "jitter": "full"}
    _, first, _ = asked(capsys, policy, SERVER_ERROR, None, "--seed", "7")
    _, again, _ = asked(capsys, policy, SERVER_ERROR, None, "--seed", "7")
    roll = random.Random(7).random()
    assert first == again
    assert (first["roll"], first["delay"]) == (roll, 10 * roll)
    _, free, _ = asked(capsys, policy, SERVER_ERROR)
    assert free["delay"] == 10 * free["roll"]


def test_a_decorrelated_delay_grows_from_the_previous_one(capsys):
    policy = {"max_attempts": 9, "backoff": "decorrelated", "initial_delay": 1}
    _, body, _ = asked(capsys, policy, SERVER_ERROR, {"attempts": 4, "previous_delay": 20}, "--seed", "1")
    assert body["delay"] == 1 + (60 - 1) * random.Random(1).random()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("policy.yaml", "max_attempts: 7\n"),
        ("policy.json", '{"max_attempts": 7}'),
        ("retry.yaml", "retry: {max_attempts: 7}\n"),
        ("number.json", "7"),
        ("workflow.yaml", "name: w\nworkflow: [{step: a, type: process, command: 'true', retry: 7}]\n"),
    ],
)
def test_a_policy_from_a_file(command, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    for given in (name, f"@{name}"):
        ended = command("decide", "--policy", given, "--outcome", json.dumps(SERVER_ERROR), "--json")
        assert (ended.code, ended.json["max_attempts"]) == (0, 7)


def test_the_policy_of_one_step_of_several(command, tmp_path):
    (tmp_path / "w.yaml").write_text(
        "name: w\ndefaults: {retry: 4}\nworkflow:\n"
        "  - {step: a, type: process, command: 'true'}\n"
        "  - {step: b, type: process, command: 'true', retry: 7}\n"
    )
    question = ("decide", "--policy", "w.yaml", "--outcome", json.dumps(SERVER_ERROR), "--json")
    assert [command(*question, "--step", step).json["max_attempts"] for step in "ab"] == [4, 7]
    unsaid = command(*question)
    assert (unsaid.code, unsaid.err) == (
        2,
        "tenax: w.yaml: the workflow has 2 steps: name the step whose policy decides\n  --step with one of a, b\n",
    )


def test_a_wrong_policy_file_is_shown_its_lines(command, tmp_path):
    (tmp_path / "p.yaml").write_text("max_attempts: 0\nretry_when: '{{ now() }}'\njitter: 2\n")
    ended = command("decide", "--policy", "p.yaml", "--outcome", json.dumps(SERVER_ERROR))
    assert (ended.code, ended.out) == (2, "")
    assert "p.yaml:1:1: max_attempts: " in ended.err
    assert "p.yaml:3:1: jitter: " in ended.err


REFUSED = [
    ('{"max_atempts": 3}', "{}", None, "--policy: max_atempts: unknown key 'max_atempts'; did you mean `max_attempts`?"),
    ('{"max_attempts": 0}', "{}", None, "--policy: max_attempts: max_attempts counts the first attempt too"),
    ('{"max_delay": 1, "initial_delay": 2}', "{}", None, "--policy: max_delay: max_delay (1s) is less than initial_delay (2s)"),
    ("nofile.yaml", "{}", None, "--policy nofile.yaml: neither a file nor a policy"),
    ("@nofile.yaml", "{}", None, "nofile.yaml: there is no such file"),
    ("3", "{}", None, "--outcome: `status` is missing"),
    ("3", "[]", None, "--outcome: expected a JSON object, found a list"),
    ("3", '{"status": "accepted"}', None, "--outcome: status: unknown 'accepted'"),
    ("3", '{"status": "faild"}', None, "--outcome: status: unknown 'faild'; did you mean `failed`?"),
    ("3", '{"status": "failed", "statuscode": 503}', None, "--outcome: unknown key `statuscode`; did you mean `status_code`?"),
    ("3", '{"status": "failed", "class": "transint"}', None, "--outcome: class: unknown 'transint'; did you mean `transient`?"),
    ("3", '{"status": "failed", "status_code": "503"}', None, "--outcome: status_code: expected a whole number, found text"),
    ("3", '{"status": "failed", "retry_after": -1}', None, "--outcome: retry_after: "),
    ("3", '{"status": "failed", "result": NaN}', None, "--outcome: not valid JSON: NaN is not a JSON value"),
    ("3", '{"status": "failed"}', '{"atempts": 1}', "--ledger: unknown key `atempts`; did you mean `attempts`?"),
    ("3", '{"status": "failed"}', '{"attempts": -1}', "--ledger: attempts: expected a whole number from 0, found -1"),
    ("3", '{"status": "failed"}', '{"attempts": true}', "--ledger: attempts: expected a whole number, found a boolean"),
    ("3", '{"status": "failed"}', '{"budget": "much"}', "--ledger: budget: expected a number from 0, found text"),
    ("3", '{"status": "failed"}', '{"by_class": {"lost": 1}}', "--ledger: by_class: unknown 'lost'"),
    ("3", '{"status": "failed"}', '{"by_rule": {"first": 1}}', "--ledger: by_rule: 'first' is no index of a rule"),
    ("3", '{"status": "failed"}', '{"counted": 1, "attempts": 2}', "--ledger: unknown key `attempts`"),
    ("3", '{"status": "failed", "usage": 3}', None, "--outcome: usage: expected an object with cost_usd and tokens"),
    ("3", '{"status": "failed"}', "nonsense", "--ledger: not valid JSON: "),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "outcome", "ledger", "message"), REFUSED)
def test_what_cannot_be_asked(capsys, policy, outcome, ledger, message):
    arguments = [
        "decide",
        "--policy",
        policy,
        "--outcome",
        outcome,
        *(["--ledger", ledger] if ledger else []),
    ]
    code = run_command(arguments)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith(f"tenax: {message}")
    assert "Traceback" not in err


def test_null_is_as_good_as_not_given(capsys):
    _, body, _ = asked(
        capsys,
        3,
        {"status": "failed", "status_code": 503, "class": None, "exit_code": None},
        {"budget": None},
    )
    assert (body["class"], body["failure"]["reason"]) == ("transient", "http_503")


@pytest.mark.parametrize(("ended", "verdict"), [(1, "retry"), (2, "fail")])
def test_a_rule_on_a_class_counts_what_the_classes_say(capsys, ended, verdict):
    policy = {"max_attempts": 5, "rules": [{"on": ["timeout"], "max_attempts": 2}]}
    ledger = {"attempts": 3, "by_class": {"timeout": ended, "transient": 3 - ended}}
    code, answer, _ = asked(capsys, policy, {"status": "failed", "class": "timeout"}, ledger)
    assert (code, answer["verdict"]) == (0, verdict)


RULES = {"max_attempts": 9, "jitter": 0, "rules": [{"on": ["timeout"], "retry": True}, {"when": "failure.exception == 'RuntimeError'", "max_attempts": 3}]}  # fmt: skip
RAISED = {"status": "failed", "exception": "builtins.RuntimeError"}


@pytest.mark.parametrize(
    ("ledger", "rule"),
    [
        # As people give it, with the attempt that has just ended.
        ({"attempts": 5, "by_rule": {"1": 2}}, "retry"),
        ({"attempts": 5, "by_rule": {"1": 3}}, "rule_attempts_exhausted"),
        ({"attempts": 5, "by_rule": {"0": 7, "1": 2}}, "retry"),
        # As a recorded decision has it, without that attempt.
        ({"counted": 4, "by_rule": {"1": 1}}, "retry"),
        ({"counted": 4, "by_rule": {"1": 2}}, "rule_attempts_exhausted"),
        ({"counted": 8, "exempted": 1, "by_rule": {}}, "attempts_exhausted"),
    ],
)
def test_the_ledger_knows_what_ended_in_each_rule(capsys, ledger, rule):
    code, answer, _ = asked(capsys, RULES, RAISED, ledger)
    assert (code, answer["rule"], answer["matched_rule"]) == (0, rule, 1)


def test_what_it_answers_can_be_asked_again(capsys):
    _, first, _ = asked(capsys, RULES, RAISED, {"attempts": 2, "by_rule": {"1": 2}}, "--seed", "1")
    _, again, _ = asked(capsys, RULES, RAISED, first["before"], "--seed", "1")
    assert again == first
    _, after, _ = asked(capsys, RULES, RAISED, first["after"], "--seed", "1")
    assert (after["rule"], after["attempts"]) == ("rule_attempts_exhausted", 3)


def test_a_step_brings_its_name_and_its_until(command, tmp_path):
    step = "{step: poll, type: python, task: 't:t', until: {condition: result.done, delay: 7s}, retry: {stop_when: \"node_id == 'poll'\"}}"
    (tmp_path / "flow.yaml").write_text(f"name: w\nworkflow: [{step}]\n")

    def ask(outcome):
        return command("decide", "--policy", "flow.yaml", "--outcome", outcome, "--json").json

    polled = ask('{"status": "succeeded", "result": {"done": false}}')
    assert (polled["verdict"], polled["rule"], polled["delay"]) == ("retry", "until", 7.0)
    assert ask('{"status": "succeeded", "result": {"done": true}}')["verdict"] == "complete"
    assert ask('{"status": "failed", "status_code": 503}')["rule"] == "stop_when"


@pytest.mark.parametrize("word", ["after", "retry_after"])
def test_a_snooze_says_when_it_wants_to_run_again(capsys, word):
    code, answer, _ = asked(capsys, 3, {"status": "snoozed", word: 5})
    assert (code, answer["verdict"], answer["rule"], answer["delay"]) == (0, "retry", "snoozed", 5.0)
