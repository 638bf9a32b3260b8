"""Tests that fixes remove keys without effect, and change nothing else."""

from __future__ import annotations

import pytest
import yaml

from tenax.policy.lint.fix import fix_text
from tenax.policy.lint.lint import lint_text
from tenax.policy.lint.rule import RULES

BLOCK = """\
name: example
workflow:
  - step: load          # a comment that stays
    type: http
    url: http://a.test
    retry:
      max_attempts: 4
      backoff: linear
      backoff_multiplier: 3   # goes
      retry_on:
        - http_409
        - http_409
"""


def test_keys_in_lines_of_their_own_are_removed():
    text, done = fix_text(BLOCK, lint_text(BLOCK))
    lines = BLOCK.splitlines(keepends=True)
    assert done == 2
    assert text == "".join(lines[:8] + lines[9:11])


@pytest.mark.parametrize(
    "code", [rule.code for rule in RULES.values() if any(one.fix for one in lint_text(rule.wrong))]
)
def test_a_fix_leaves_nothing_to_find(code):
    wrong = RULES[code].wrong
    text, done = fix_text(wrong, lint_text(wrong))
    assert done >= 1
    assert lint_text(text) == []
    before, after = yaml.safe_load(wrong), yaml.safe_load(text)
    assert before["workflow"][0].keys() == after["workflow"][0].keys()


def test_what_is_not_certain_is_left():
    text = BLOCK.replace(
        "backoff_multiplier: 3   # goes", "backoff_multiplier: &three 3\n      max_snoozes: *three"
    )
    fixed, done = fix_text(text, [one for one in lint_text(text) if one.code == "TX203"])
    assert (fixed, done) == (text, 0)
