"""Tests that no file ends the lint with an error: those that fuzzing makes, and the project's own examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.strategies.hostile_strategies import workflow_texts

from tenax.policy.lint.fix import fix_text
from tenax.policy.lint.lint import lint_text
from tenax.policy.lint.rule import RULES

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    path for path in (ROOT / "examples").rglob("*.yaml") if "\nworkflow:" in path.read_text("utf-8")
)
WRONG = [rule.wrong for rule in RULES.values()]


@settings(max_examples=examples(350), deadline=None)
@given(text=workflow_texts() | st.sampled_from(WRONG))
def test_any_file_can_be_looked_over_and_fixed(text):
    found = lint_text(text, filename="any.yaml")
    fixed, _ = fix_text(text, found)
    assert all(one.file == "any.yaml" for one in found)
    assert {one.code for one in lint_text(fixed)} <= {one.code for one in found}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_examples_have_no_finding(example):
    assert [str(one) for one in lint_text(example.read_text("utf-8"), filename=example.name)] == []
