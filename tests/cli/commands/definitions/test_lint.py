"""Tests `tenax lint` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

WRONG = """\
name: wrong
workflow:
  - step: load
    type: http
    url: http://a.test
    retry: {retryable: false, max_attempts: 5}
  - step: wait
    type: wait
    signal: go
"""
TASKS = """\
from tenax import task


@task(retry={"max_attempts": "unlimited"})
def charge(order: dict) -> str:
    return "paid"
"""
ATTUNE = "ref: core.flaky\nrunner_type: shell\nentry_point: flaky.sh\nmax_retries: 70\n"


def test_findings_have_their_place_and_a_remedy(command, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(WRONG)
    ended = command("lint", "wrong.yaml")
    assert ended.code == 1
    assert ended.out == (
        "wrong.yaml:6:13: TX101 error: 'load' has `max_attempts: 5`, but `retryable: false` ends it at its first failure\n"
        "    remove `retryable: false`, or remove `max_attempts`\n"
        "wrong.yaml:7:5: TX306 warning: 'wait' waits for ever if its signal does not come\n"
        "    set `deadline` for the step or for the workflow\n"
    )
    assert ended.err == "1 error and 1 warning in 1 file\n"


def test_warnings_fail_only_a_strict_run(command, tmp_path: Path) -> None:
    (tmp_path / "waits.yaml").write_text("name: a\nworkflow:\n  - {step: b, type: wait, signal: go}\n")
    assert command("lint", "waits.yaml").code == 0
    assert command("lint", "waits.yaml", "--strict").code == 1


def test_a_folder_is_searched(command, tmp_path: Path) -> None:
    (tmp_path / "flows/deep").mkdir(parents=True)
    (tmp_path / "flows/deep/wrong.yaml").write_text(WRONG)
    (tmp_path / "flows/values.yaml").write_text("some: values\n")
    ended = command("lint", "flows", "--json")
    document = json.loads(ended.out)
    assert (document["files"], document["errors"], document["warnings"]) == (1, 1, 1)
    assert document["findings"][0]["file"] == "flows/deep/wrong.yaml"
    assert ended.code == 1
    empty = command("lint", str(tmp_path / "home"), "--json") if (tmp_path / "home").is_dir() else None
    assert empty is None or empty.code == 2


def test_sarif_names_the_rules_and_the_places(command, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(WRONG)
    document = json.loads(command("lint", "wrong.yaml", "--sarif").out)
    [run] = document["runs"]
    assert document["version"] == "2.1.0"
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert [result["ruleId"] for result in run["results"]] == ["TX101", "TX306"]
    assert {result["ruleId"] for result in run["results"]} <= known
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "wrong.yaml"}, "region": {"startLine": 6, "startColumn": 13}}


def test_fixes_are_written(command, tmp_path: Path) -> None:
    file = tmp_path / "linear.yaml"
    file.write_text(
        "name: a\nworkflow:\n  - step: b\n    type: http\n    url: http://a.test\n    retry:\n      max_attempts: 3\n"
        "      backoff: linear\n      backoff_multiplier: 3\n"
    )
    ended = command("lint", "linear.yaml", "--fix")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "OK: nothing found in 1 file; 1 key without effect removed\n"
    assert "backoff_multiplier" not in file.read_text()
    assert command("validate", "linear.yaml").code == 0


def test_tasks_of_a_module_are_looked_over(command, tmp_path: Path) -> None:
    (tmp_path / "shop_tasks.py").write_text(TASKS)
    ended = command("lint", "shop_tasks")
    assert ended.out.startswith("shop_tasks.py:4: TX102 warning: ")
    refused = command("lint", "no_such_module_anywhere")
    assert refused.code == 2
    assert "no such file and no such module" in refused.err


def test_files_of_other_systems_are_looked_over(command, tmp_path: Path) -> None:
    (tmp_path / "flaky.yaml").write_text(ATTUNE)
    ended = command("lint", "flaky.yaml", "--json")
    assert [one["code"] for one in json.loads(ended.out)["findings"]] == ["TX107"]


def test_an_invalid_file_has_its_errors(command, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: a\nworkflow:\n  - {step: b, type: http}\n")
    ended = command("lint", "bad.yaml")
    assert ended.code == 1
    assert ended.out.startswith("bad.yaml:3:5: TX000 error: ")


def test_validate_and_submit_show_the_findings_as_warnings(command, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(WRONG)
    validated = command("validate", "wrong.yaml")
    assert validated.code == 0
    assert "wrong.yaml:6:13: TX101 error: " in validated.err
    codes = [one["code"] for one in json.loads(command("validate", "wrong.yaml", "--json").out)["warnings"]]
    assert codes == ["TX101", "TX306"]
    submitted = command("submit", "wrong.yaml", TENAX_SERVER="http://127.0.0.1:9")
    assert submitted.code == 3  # there is no server
    assert "TX306 warning" in submitted.err
