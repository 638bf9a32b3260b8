"""Tests that the generated parts of the docs match the code."""

from __future__ import annotations

import re
from pathlib import Path

import generate
import pytest
from generators import dashboard, diagrams
from generators import limits as limits_tables

import tenax
from tenax.model.attempt.reasons import is_known_reason


@pytest.mark.parametrize("page", generate.pages(), ids=lambda page: str(page.relative_to(generate.ROOT)))
def test_every_generated_block_is_current(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == generate.rendered(text), "run `make docs`"


def test_every_block_there_is_stands_in_some_page() -> None:
    assert generate.used(page.read_text("utf-8") for page in generate.pages()) == set(generate.BLOCKS)


def test_the_dashboard_is_current() -> None:
    assert generate.DASHBOARD.read_text("utf-8") == dashboard.dashboard(), "run `make docs`"


@pytest.mark.parametrize("name", diagrams.PICTURES)
def test_every_picture_is_current(name: str) -> None:
    assert (generate.IMAGES / name).read_text("utf-8") == diagrams.PICTURES[name](), "run `make docs`"


def test_the_recorded_run_is_the_one_in_the_readme() -> None:
    readme = (generate.ROOT / "README.md").read_text("utf-8").splitlines()
    assert [line for line in diagrams.recorded_lines() if line not in readme] == []


def test_an_old_block_is_noticed() -> None:
    text = "before\n<!-- generated: rule-fields -->\nold\n<!-- end -->\nafter\n"
    assert "`max_attempts`" in generate.rendered(text)
    assert "old" not in generate.rendered(text)


def test_every_setting_that_is_a_limit_stands_in_the_table_of_limits() -> None:
    limits = set(limits_tables.settings_that_are_limits())
    assert {
        "max_body",
        "head_timeout",
        "input_time",
        "plan_memory",
        "expression_work",
        "aside_memory",
    } <= limits
    assert limits - limits_tables.settings_in_table() == set()


def test_the_table_of_limits_shows_the_defaults_of_the_settings() -> None:
    shown = limits_tables.limits()
    assert "| body | 16MB | `max_body` |" in shown
    assert "| 2,000,000, and 1,000 for each item | `expression_work` |" in shown
    assert "| levels of a result | 500 | fixed |" in shown


def test_every_reason_that_the_code_gives_is_published() -> None:
    given = (
        r'failure_class="\w+",\s+reason="(\w+)"',
        r'"class": "\w+",\s+"reason": "(\w+)"',
        r'refused\(\s*"\w+",\s+"(\w+)"',
    )
    sources = [path.read_text("utf-8") for path in Path(tenax.__file__).parent.rglob("*.py")]
    found = {name for source in sources for pattern in given for name in re.findall(pattern, source)}
    assert {"unknown_handler", "cancelled_on_request", "invalid_result"} <= found
    assert {name for name in found if not is_known_reason(name)} == set()
