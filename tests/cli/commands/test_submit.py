"""`submit` and `run` of stored workflows, and `submit --many`: straight on the database, and on a server."""

from __future__ import annotations

import json

import pytest

STORED = """
name: nightly
version: "2"
input: {n: {type: integer, required: true}}
workflow: [{step: only, type: process, command: "echo {{ input.n }}"}]
"""
OTHER = "name: other\nworkflow: [{step: only, type: process, command: 'true'}]\n"


@pytest.fixture(params=["database", "server"])
def tenax(request, command, database_url, tmp_path):
    target = (
        {"TENAX_DATABASE_URL": database_url}
        if request.param == "database"
        else {"TENAX_SERVER": request.getfixturevalue("server")}
    )
    (tmp_path / "nightly.yaml").write_text(STORED)
    (tmp_path / "other.yaml").write_text(OTHER)
    run = lambda *arguments, **more: command(*arguments, **{**target, **more})  # noqa: E731
    assert run("store", "nightly.yaml").code == 0
    return run


def lines(*documents: object) -> str:
    return "".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in documents)


def test_a_stored_workflow_is_submitted_by_its_name(tenax):
    for name in ("nightly", "nightly@2"):
        submitted = tenax("submit", name, "--input", "n=3", "--json")
        assert (submitted.code, submitted.err) == (0, "")
        shown = tenax("show", str(submitted.json["id"]), "--json").json
        assert (shown["workflow"], shown["input"]) == ("nightly", {"n": 3})
    wrong = tenax("submit", "nightly")
    assert (wrong.code, wrong.out) == (2, "")
    assert "n" in wrong.err
    again = [tenax("submit", "nightly", "--input", "n=1", "--key", "k", "--json").json for _ in range(2)]
    assert [one["created"] for one in again] == [True, False]


def test_a_file_of_that_name_is_taken_before_a_stored_workflow(tenax, tmp_path):
    (tmp_path / "nightly").write_text(OTHER)
    id_ = tenax("submit", "nightly", "--json").json["id"]
    assert tenax("show", str(id_), "--json").json["workflow"] == "other"


def test_a_name_that_means_nothing_names_both_searches(tenax):
    for command_ in ("submit", "run"):
        ended = tenax(command_, "nigthly")
        assert ended.code == 2
        assert "nigthly: there is no such file, and there is no workflow named 'nigthly'" in ended.err
        assert "tenax workflows" in ended.err
    missing = tenax("submit", "nightly.yml")
    assert missing.err == "tenax: nightly.yml: there is no such file\n"
    assert tenax("submit").err.startswith("tenax: which workflow?\n")


def test_a_stored_workflow_is_run_by_its_name(command, database_url, tmp_path):
    (tmp_path / "nightly.yaml").write_text(STORED)
    assert command("store", "nightly.yaml", TENAX_DATABASE_URL=database_url).code == 0
    ended = command("run", "nightly", "--input", "n=7", "--json", TENAX_DATABASE_URL=database_url)
    assert ended.code == 0, ended.err
    assert ended.json["result"] == {"only": 7}


def test_many_submissions_are_reported_and_safe_to_send_again(tenax, tmp_path):
    (tmp_path / "all.jsonl").write_text(
        lines(*({"workflow": "nightly", "input": {"n": n}, "key": f"k{n}"} for n in range(1200)), "\n")
    )
    first = tenax("submit", "--many", "all.jsonl")
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[0] == "1,200 submissions: 1,200 new"
    with (tmp_path / "all.jsonl").open("a") as file:
        file.write('{"workflow": "nightly", "input": {"n": 1}}')
    again = tenax("submit", "--many", "all.jsonl", "--json").json
    assert (again["submitted"], again["created"]) == (1201, 1)
    assert again["executions"][0] == {"line": 1, "id": 1, "created": False}
    assert again["executions"][-1] == {"line": 1202, "id": again["executions"][-1]["id"], "created": True}
    words = tenax("submit", "--many", "all.jsonl").out.splitlines()[0]
    assert words == "1,201 submissions: 1 new, 1,200 known already by their keys"


def test_lines_without_a_workflow_take_that_of_the_command(tenax):
    text = lines(
        {"input": {"n": 1}}, {"workflow": "nightly", "input": {"n": 2}}, {"input": {"n": 3}, "key": None}
    )
    for name in ("nightly", "nightly.yaml"):
        answer = tenax("submit", name, "--many", "-", "--json", stdin=text)
        assert answer.code == 0, answer.err
        assert answer.json["created"] == 3
    found = tenax("list", "--filter", "input.n=1,3", "--json").json
    assert len(found) == 4


def test_wrong_lines_are_named_and_nothing_is_sent(tenax):
    text = lines(
        {"workflow": "nightly", "input": {"n": 1}, "key": "a"},
        "no json\n",
        "[1]\n",
        {"workflow": "nightly", "inputs": {}},
        {"workflow": 3},
        {"input": {}},
        {"workflow": "nightly", "input": {"n": 2}, "key": "a"},
        {"workflow": "nightly", "key": "x" * 300},
    )
    ended = tenax("submit", "--many", "-", stdin=text)
    assert (ended.code, ended.out) == (2, "")
    head, *said = ended.err.splitlines()
    assert head == "tenax: /dev/stdin: 7 lines are wrong, and nothing was submitted"
    for line, words in zip(
        said,
        ("line 2: not valid JSON", "line 3: expected an object", "line 4: there is no key `inputs`; did you mean `input`?",
         "line 5: `workflow` is text, found a number", "line 6: which workflow?", "line 7: it has the key of line 1: 'a'",
         "line 8: Expected `str` of length <= "), strict=True):  # fmt: skip
        assert line.strip().startswith(words)
    assert tenax("list", "--json").json == []


def test_lines_that_the_server_finds_wrong_are_named_before_any_is_sent(tenax):
    good = [{"workflow": "nightly", "input": {"n": n}} for n in range(1001)]
    text = lines(*good, {"workflow": "nightly", "input": {"n": "x"}}, {"workflow": "none"}, {"workflow": "nightly", "input": {"n": 1}, "key": "tenax:1"})  # fmt: skip
    ended = tenax("submit", "--many", "-", stdin=text)
    assert ended.code == 2
    head, *said = ended.err.splitlines()
    assert head == "tenax: /dev/stdin: 3 lines are wrong, and nothing was submitted"
    assert [line.split(":")[0].strip() for line in said] == ["line 1002", "line 1003", "line 1004"]
    assert "no workflow named 'none'" in said[1]
    assert tenax("list", "--json").json == []


def test_flags_that_do_not_go_together(tenax):
    assert "stdin can be only one" in tenax("submit", "-", "--many", "-").err
    assert "leave out --input and --key" in tenax("submit", "--many", "-", "--key", "k").err
    assert "there is no submission in it" in tenax("submit", "--many", "-", stdin="\n\n").err


def test_an_interrupted_run_says_how_far_it_came(command, tmp_path):
    from tenax.cli.commands.executions.submit_many import _at_line
    from tenax.cli.input.many import Line
    from tenax.errors import Unreachable
    from tenax.model.wire import Submission, Submitted

    keyed = [Line(n, Submission(workflow="a", key=f"k{n}")) for n in range(1, 5)]
    sent = [(keyed[0], Submitted(1, created=True)), (keyed[1], Submitted(2, created=True))]
    error = _at_line(Unreachable("the server is gone"), keyed[2:], sent, keyed)
    assert error.message == "lines 3 to 4: the server is gone; 2 submissions before them are in"
    assert error.remedy == "run the same command again: lines whose key is known start nothing new"
    plain = [Line(1, Submission(workflow="a"))]
    error = _at_line(Unreachable("the server is gone"), plain, [], plain)
    assert "none before them was sent" in error.message
    assert (error.remedy or "").startswith("send the lines from 1 on again")
