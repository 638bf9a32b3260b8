"""Tests the part of the docs that shows one run."""

from __future__ import annotations

import json

import pytest
from benchmarks.page import BEGIN, END, PAGE, PageError, main, marks_table, read, section, written_into
from benchmarks.report import Figure, Mark, Run

MACHINE = {"cores": 2, "load_average_before": 0.5}
FAST = Figure("latency", "p50", "ms", (2.0, 4.0), Mark("at most", 3))
SLOW = Figure("latency", "p50", "ms", (9.0,), Mark("at most", 3))
IDLE = Figure("idle", "the server", "% of a core", (1.0,))


def run_of(*figures, started="2026-01-01T00:00:00+00:00", machine=MACHINE, **options):
    return Run(started, machine, options, figures)


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_marks_stand_beside_what_was_measured_and_the_command():
    head, _, *rows = cells(marks_table([FAST, IDLE]))
    assert head == ["figure", "mark", "measured", "reached", "command"]
    assert rows == [["latency: p50", "at most 3.00 ms", "3.00 ms", "yes", "`make bench ONLY=latency`"]]


def test_of_a_measure_in_several_results_the_last_one_counts():
    text = section([run_of(SLOW, IDLE), run_of(FAST)])
    assert "9.00 ms" not in text
    assert text.count("make bench ONLY=latency") == 2  # in the marks, and among all figures
    assert "the server" in text


def test_one_machine_is_described_once_with_the_load_of_each_run():
    other = run_of(
        IDLE, started="2026-01-02T00:00:00+00:00", machine={"cores": 2, "load_average_before": 0.7}
    )
    text = section([run_of(FAST), other])
    assert text.count("cores: 2") == 1
    assert "run: 2026-01-01T00:00:00+00:00, load average before 0.5" in text
    assert "run: 2026-01-02T00:00:00+00:00, load average before 0.7" in text


def test_two_machines_are_described_one_after_the_other():
    text = section([run_of(FAST), run_of(IDLE, machine={"cores": 64})])
    assert "cores: 2\n" in text
    assert "cores: 64" in text


def test_plots_that_are_there_are_shown():
    assert "![benchmarks-marks](images/benchmarks-marks.svg)" in section(
        [run_of(FAST)], ["images/benchmarks-marks.svg"]
    )


def test_only_what_is_between_the_comments_is_written_anew():
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    once = written_into(page, "new")
    assert once == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert written_into(once, "new") == once


@pytest.mark.parametrize("page", ["nothing", BEGIN, f"{END}\n{BEGIN}"])
def test_a_page_without_a_place_for_it_is_left_alone(page):
    with pytest.raises(PageError, match="has no place for a run"):
        written_into(page, "new")


def test_the_page_of_the_docs_has_its_place():
    assert written_into(PAGE.read_text(), "new")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no result of the bench"),
        ("[]", "is no result of the bench"),
        ("{}", "is no result of the bench"),
        (json.dumps(run_of(FAST, quick=True).as_dict()), "run with --quick"),
    ],
)
def test_what_is_no_result_is_refused_with_its_file(text, words, tmp_path):
    file = tmp_path / "result.json"
    file.write_text(text)
    with pytest.raises(PageError, match=words) as refused:
        read(file)
    assert str(file) in str(refused.value)


def test_the_command_writes_the_page_with_the_plots_beside_it(tmp_path, monkeypatch, capsys):
    page, result = tmp_path / "benchmarks.md", tmp_path / "result.json"
    page.write_text(f"{BEGIN}{END}")
    result.write_text(json.dumps(run_of(FAST, quick=False).as_dict()))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "benchmarks-marks.svg").touch()
    monkeypatch.setattr("sys.argv", ["page", str(result), "--page", str(page)])
    assert main() == 0
    assert "latency: p50" in page.read_text()
    assert "(images/benchmarks-marks.svg)" in page.read_text()
    monkeypatch.setattr("sys.argv", ["page", str(tmp_path / "none.json"), "--page", str(page)])
    assert main() == 1
    assert "none.json" in capsys.readouterr().err
