"""Tests `tenax import` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

SAMPLES = Path(__file__).parents[3] / "dialects" / "samples"


def test_the_workflow_is_on_stdout_and_the_report_on_stderr(command) -> None:
    ended = command("import", str(SAMPLES / "attune/01-seed.yaml"))
    assert ended.code == 0, ended.err
    assert ended.out.startswith("name: flaky_api_call\n")
    assert "max_retries: 3 retries: max_attempts: 4, the first attempt included" in ended.err
    assert "imported flaky_api_call (from attune): " in ended.err


def test_a_file_is_written_and_is_valid(command, tmp_path: Path) -> None:
    ended = command("import", str(SAMPLES / "argyll/01-single.json"), "-o", "out/step.yaml")
    assert (ended.code, ended.out) == (0, "")
    assert "wrote out/step.yaml" in ended.err
    assert command("validate", str(tmp_path / "out/step.yaml")).code == 0


def test_several_workflows_go_into_a_folder(command, tmp_path: Path) -> None:
    files = [str(SAMPLES / name) for name in ("tasker/10-two.yaml", "noetl/10-two.yaml")]
    refused = command("import", *files, "-o", "all.yaml")
    assert refused.code == 2
    assert "the import makes 4 workflows, and a file holds one" in refused.err
    assert command("import", *files, "-o", "all").code == 0
    names = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert names == ["etl.ingest.yaml", "etl.report.yaml", "twin-2.yaml", "twin.yaml"]
    assert [command("validate", str(tmp_path / "all" / name)).code for name in names] == [0, 0, 0, 0]


def test_several_workflows_on_stdout_are_documents(command) -> None:
    ended = command("import", str(SAMPLES / "tasker/10-two.yaml"))
    assert ended.out.count("---\nname: ") == 2


def test_json_has_the_workflows_and_the_report(command) -> None:
    ended = command("import", str(SAMPLES / "kubernetes/01-pi.yaml"), "--json")
    document = json.loads(ended.out)
    assert [(one["name"], one["system"]) for one in document["workflows"]] == [("pi", "kubernetes")]
    assert {entry["kind"] for entry in document["report"]} == {"understood", "changed", "dropped"}
    assert ended.err == ""


def test_a_file_that_is_no_systems_is_refused(command, tmp_path: Path) -> None:
    (tmp_path / "machine.yaml").write_text("StartsAt: A\nState: {A: {}}\n")
    ended = command("import", "machine.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert "machine.yaml:1:1: no system that can be imported writes such a file" in ended.err
    assert "the nearest is a state machine of Step Functions" in ended.err


def test_one_bad_file_of_several_writes_nothing(command, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("hello: world\n")
    ended = command("import", str(SAMPLES / "attune/01-seed.yaml"), "bad.yaml", "-o", "out")
    assert ended.code == 2
    assert not (tmp_path / "out").exists()


def test_from_names_the_system_of_a_short_file(command, tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text("retry: {max_attempts: 7}\n")
    assert command("import", "short.yaml").code == 2
    tasker = command("import", "short.yaml", "--from", "tasker")
    assert tasker.code == 0, tasker.err
    assert "max_attempts: 7" in tasker.out
    unknown = command("import", "short.yaml", "--from", "taskr")
    assert unknown.code == 2
    assert "did you mean `tasker`?" in unknown.err
