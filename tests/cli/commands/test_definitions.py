"""`tenax validate` and `tenax delays`: golden outputs."""

from __future__ import annotations

import json

import pytest

from tenax.model.parse.file_schema import file_schema

GOOD = """
name: nightly
version: 3
defaults: {retry: {max_attempts: 3, jitter: 0}}
workflow:
  - step: fetch
    type: http
    url: http://localhost/
    retry: {initial_delay: 2s, max_delay: 3s, jitter: 0.5}
    next: [load]
  - step: load
    type: process
    command: "true"
    retry: false
  - step: watch
    type: process
    command: "true"
    retry: {max_attempts: unlimited, backoff: fixed, initial_delay: 1m}
"""
BAD = """
name: nightly
workflow:
  - step: fetch
    type: http
    url: http://localhost/
    retry: {max_atempts: 3, initial_delay: soon}
    next: [lod]
  - step: load
    type: process
    command: "true"
    retry: {retry_when: "{{ status >= 500 }}"}
"""


def test_a_good_file(command, tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD)
    ended = command("validate", "good.yaml")
    assert (ended.code, ended.err) == (
        0,
        "good.yaml:18:13: TX102 warning: 'watch' is tried again and again, for ever\n",
    )
    assert ended.out.startswith("OK: nightly, 3 steps, content ")
    body = command("validate", "good.yaml", "--json").json
    assert {name: body[name] for name in ("valid", "errors", "name", "version", "steps")} == {
        "valid": True,
        "errors": [],
        "name": "nightly",
        "version": "3",
        "steps": 3,
    }
    assert len(body["hash"]) == 64


def test_everything_wrong_at_once_each_with_its_place(command, tmp_path):
    (tmp_path / "bad.yaml").write_text(BAD)
    ended = command("validate", "bad.yaml")
    assert (ended.code, ended.err) == (2, "")
    lines = ended.out.splitlines()
    places = [line.split(": ")[:2] for line in lines]
    assert places == [
        ["bad.yaml:7:13", "workflow[0].retry.max_atempts"],
        ["bad.yaml:7:29", "workflow[0].retry.initial_delay"],
        ["bad.yaml:8:12", "workflow[0].next[0]"],
        ["bad.yaml:12:13", "workflow[1].retry.retry_when"],
    ]
    assert "did you mean `max_attempts`?" in lines[0]
    assert "did you mean `load`?" in lines[2]


def test_the_same_as_json(command, tmp_path):
    (tmp_path / "bad.yaml").write_text(BAD)
    ended = command("validate", "bad.yaml", "--json")
    assert (ended.code, ended.err) == (2, "")
    assert ended.json["valid"] is False
    assert [
        (error["file"], error["line"], error["column"], error["path"]) for error in ended.json["errors"]
    ] == [
        ("bad.yaml", 7, 13, "workflow[0].retry.max_atempts"),
        ("bad.yaml", 7, 29, "workflow[0].retry.initial_delay"),
        ("bad.yaml", 8, 12, "workflow[0].next[0]"),
        ("bad.yaml", 12, 13, "workflow[1].retry.retry_when"),
    ]


def test_from_stdin(command):
    assert command("validate", "-", stdin=GOOD).code == 0
    ended = command("validate", "-", stdin=BAD)
    assert (ended.code, ended.out.partition(":")[0]) == (2, "<stdin>")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"a: [", b"- just\n- a list", b"\x00"])
def test_what_is_no_definition_at_all(content, command, tmp_path):
    (tmp_path / "odd.yaml").write_bytes(content)
    ended = command("validate", "odd.yaml")
    assert (ended.code, ended.err) == (2, "")
    assert ended.out.startswith("odd.yaml")


LEAF = "name: leaf\nworkflow: [{step: a, type: process, command: 'true'}]\n"
CALLING = """
name: top
workflow:
  - {step: one, type: workflow, file: child.yaml}
  - {step: two, type: workflow, file: sub/child.yaml}
"""


@pytest.fixture
def family(tmp_path):
    """top.yaml and the two files that it names."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "top.yaml").write_text(CALLING)
    (tmp_path / "child.yaml").write_text(LEAF)
    (tmp_path / "sub" / "child.yaml").write_text(LEAF)
    return tmp_path


def test_children_are_looked_into(command, family):
    fine = command("validate", "top.yaml")
    assert (fine.code, fine.err) == (0, "")
    assert fine.out.endswith(", with 2 files of child workflows\n")
    assert command("validate", "top.yaml", "--json").json["files"] == ["child.yaml", "sub/child.yaml"]
    assert command("validate", "-", stdin=CALLING).code == 0


def test_the_findings_of_all_children_come_together(command, family):
    wrong = LEAF.replace("'true'", '"{{ nonsense }}"')
    (family / "child.yaml").write_text(wrong)
    (family / "sub" / "child.yaml").write_text(wrong)
    ended = command("validate", "top.yaml")
    assert (ended.code, ended.err) == (2, "")
    assert [line.partition(":")[0] for line in ended.out.splitlines()] == ["child.yaml", "sub/child.yaml"]
    body = command("validate", "top.yaml", "--json").json
    assert (body["valid"], body["errors"][1]["file"]) == (False, "sub/child.yaml")


TAKES = """
name: takes
input: {region: {type: string, required: true}}
workflow: [{step: a, type: process, command: 'true'}]
"""
GIVES = """
name: top
workflow:
  - step: one
    type: workflow
    file: sub/child.yaml
    input:
      regoin: north
  - {step: two, type: workflow, file: sub/child.yaml}
  - {step: three, type: workflow, file: sub/child.yaml, input: "{{ steps.one.result }}", needs: [one]}
"""


def test_the_inputs_of_children_are_checked(command, family):
    (family / "sub" / "child.yaml").write_text(TAKES)
    (family / "top.yaml").write_text(GIVES)
    ended = command("validate", "top.yaml")
    assert (ended.code, ended.err) == (2, "")
    unknown, missing, nothing = ended.out.splitlines()
    assert unknown.startswith("top.yaml:7:")
    assert "regoin: workflow `takes` has no such input; did you mean `region`?" in unknown
    assert missing.startswith("top.yaml:7:")
    assert "region: workflow `takes` requires it" in missing
    assert nothing.startswith("top.yaml:9:")
    (family / "sub" / "top.yaml").write_text(GIVES.replace("sub/child", "child"))
    (family / "top.yaml").write_text("name: t\nworkflow: [{step: s, type: workflow, file: sub/top.yaml}]\n")
    below = command("validate", "top.yaml")
    assert [line.partition(":")[0] for line in below.out.splitlines()] == ["sub/top.yaml"] * 3


TASKS = """
from tenax import task

raise RuntimeError("this module is never imported here")

@task
def notify(text): ...
"""
MISSPELT = "name: w\nworkflow:\n  - {step: a, type: python, task: orders:notfy, retry: {max_atempts: 2}}\n"


def test_a_task_that_its_module_does_not_define(command, tmp_path):
    (tmp_path / "orders.py").write_text(TASKS)
    (tmp_path / "w.yaml").write_text(MISSPELT)
    ended = command("validate", "w.yaml")
    assert (ended.code, ended.err) == (2, "")
    task, retry = ended.out.splitlines()
    assert task == (
        "w.yaml:3:29: workflow[0].task: the module `orders` (orders.py) has no function `notfy`; "
        "did you mean `notify`?"
    )
    assert retry.startswith("w.yaml:3:57: workflow[0].retry"), "in the order of the file"
    first, _ = command("validate", "w.yaml", "--json").json["errors"]
    assert (first["line"], first["column"], first["path"]) == (3, 29, "workflow[0].task")
    from_stdin = command("validate", "-", stdin=MISSPELT)
    assert from_stdin.out.startswith("<stdin>:3:29: workflow[0].task: the module `orders`")
    (tmp_path / "orders.py").write_text(f"from shop import *\n{TASKS}")
    assert len(command("validate", "w.yaml").out.splitlines()) == 1, "the module may have more names"


def test_a_task_of_a_child_is_checked_in_the_folder_of_the_child(command, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "orders.py").write_text(TASKS)
    (tmp_path / "sub" / "child.yaml").write_text(MISSPELT.replace(", retry: {max_atempts: 2}", ""))
    (tmp_path / "top.yaml").write_text(
        "name: t\nworkflow: [{step: s, type: workflow, file: sub/child.yaml}]\n"
    )
    ended = command("validate", "top.yaml")
    assert ended.code == 2
    assert ended.out.startswith(
        "sub/child.yaml:3:29: workflow[0].task: the module `orders` (sub/orders.py) has"
    )


def test_the_schedule_as_a_table(command, tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD)
    ended = command("delays", "good.yaml", "--limit", "4")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "fetch: 3 attempts, exponential backoff from 2s by 2, at most 3s, jitter 0.5\n"
        "attempt  least  nominal  most  cumulative  at least  at most\n"
        "      1     0s       0s    0s          0s        0s       0s\n"
        "      2     1s       2s    3s          2s        1s       3s\n"
        "      3   1.5s       3s    3s          5s      2.5s       6s\n"
        "\n"
        "load: 1 attempt, no retries\n"
        "attempt  least  nominal  most  cumulative  at least  at most\n"
        "      1     0s       0s    0s          0s        0s       0s\n"
        "\n"
        "watch: unlimited attempts, fixed backoff from 1m, at most 5m, jitter none\n"
        "attempt  least  nominal  most  cumulative  at least  at most\n"
        "      1     0s       0s    0s          0s        0s       0s\n"
        "      2     1m       1m    1m          1m        1m       1m\n"
        "      3     1m       1m    1m          2m        2m       2m\n"
        "      4     1m       1m    1m          3m        3m       3m\n"
        "    ...\n"
    )


def test_the_schedule_as_json(command, tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD)
    body = command("delays", "good.yaml", "--json").json
    fetch = body["steps"]["fetch"]
    assert body["name"] == "nightly"
    assert (fetch["max_attempts"], fetch["more"]) == (3, False)
    assert fetch["attempts"][2] == {
        "attempt": 3,
        "least": 1.5,
        "nominal": 3.0,
        "most": 3.0,
        "cumulative": 5.0,
        "cumulative_least": 2.5,
        "cumulative_most": 6.0,
    }
    assert body["steps"]["watch"]["more"] is True
    assert len(body["steps"]["watch"]["attempts"]) == 20


RULES = """
name: ruled
workflow:
  - step: call
    type: process
    command: "true"
    retry:
      max_attempts: 4
      jitter: 0
      rules:
        - {on: [http_429, timeout], initial_delay: 30s, backoff: fixed, max_attempts: 3}
        - {on: invalid, retry: false}
        - {when: "failure.exit_code == 7", retry: true, max_retry_after: 1m}
        - {on: transient, backoff: none, max_attempts: 9}
"""


def test_the_schedule_of_each_rule(command, tmp_path):
    (tmp_path / "ruled.yaml").write_text(RULES)
    ended = command("delays", "ruled.yaml", "--limit", "2")
    assert (ended.code, ended.err) == (0, "")
    _, _, rules = ended.out.partition("    ...\n\n")
    assert rules == (
        "call, rules[0] (on http_429, timeout): 3 attempts, fixed backoff from 30s, at most 5m, jitter none\n"
        "attempt  least  nominal  most  cumulative  at least  at most\n"
        "      1     0s       0s    0s          0s        0s       0s\n"
        "      2    30s      30s   30s         30s       30s      30s\n"
        "    ...\n"
        "\n"
        "call, rules[1] (on invalid): 1 attempt, no retries\n"
        "\n"
        "call, rules[2] (when failure.exit_code == 7): the same attempts and delays\n"
        "\n"
        "call, rules[3] (on transient): 4 attempts, no delays\n"
        "attempt  least  nominal  most  cumulative  at least  at most\n"
        "      1     0s       0s    0s          0s        0s       0s\n"
        "      2     0s       0s    0s          0s        0s       0s\n"
        "    ...\n"
    )


def test_the_schedule_of_each_rule_as_json(command, tmp_path):
    (tmp_path / "ruled.yaml").write_text(RULES)
    rules = command("delays", "ruled.yaml", "--json").json["steps"]["call"]["rules"]
    assert [(one["rule"], one["max_attempts"], len(one["attempts"]), one["more"]) for one in rules] == [
        ("rules[0]", 3, 3, False),
        ("rules[1]", 4, 1, False),
        ("rules[2]", 4, 4, False),
        ("rules[3]", 4, 4, False),
    ]
    assert rules[0]["on"] == ["http_429", "timeout"]
    assert rules[0]["attempts"][2]["cumulative"] == 60.0


def test_the_schedule_of_a_wrong_file(command, tmp_path):
    (tmp_path / "bad.yaml").write_text(BAD)
    ended = command("delays", "bad.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("tenax: the definition has 4 errors:\nbad.yaml:7:13: ")


def test_the_servers_default_policy_counts(command, tmp_path):
    (tmp_path / "w.yaml").write_text("name: w\nworkflow: [{step: a, type: process, command: 'true'}]\n")
    attempts = command("delays", "w.yaml", "--json", TENAX_RETRY='{"max_attempts": 4}').json["steps"]["a"][
        "attempts"
    ]
    assert len(attempts) == 4
    wrong = command("delays", "w.yaml", TENAX_RETRY='{"max_atempts": 4}')
    assert wrong.code == 2
    assert "TENAX_RETRY" in wrong.err
    assert "did you mean `max_attempts`?" in wrong.err


def test_the_schema_is_printed_or_written_to_a_file(command, tmp_path):
    printed = command("schema")
    assert (printed.code, printed.err) == (0, "")
    assert json.loads(printed.out) == file_schema()
    written = command("schema", "--output", str(tmp_path / "tenax.schema.json"))
    assert (written.code, written.out) == (0, f"wrote {tmp_path / 'tenax.schema.json'}\n")
    assert json.loads((tmp_path / "tenax.schema.json").read_text()) == file_schema()


def test_a_schema_that_cannot_be_written(command, tmp_path):
    refused = command("schema", "--output", str(tmp_path / "none" / "s.json"))
    assert (refused.code, refused.out) == (2, "")
    assert "cannot write" in refused.err
