"""Tests that each rule of the lint finds what its wrong example has, and nothing in the right one."""

from __future__ import annotations

import pytest

from tenax.policy.lint.lint import GROUPS, OWN_CODES, lint_text
from tenax.policy.lint.rule import RULES


def codes(text: str) -> list[str]:
    return [one.code for one in lint_text(text)]


def test_there_are_many_rules_each_in_a_group():
    assert len(RULES) >= 25
    modules = {module.__name__ for module in GROUPS.values()}
    assert {rule.check.__module__ for rule in RULES.values()} == modules
    assert not RULES.keys() & OWN_CODES.keys()


@pytest.mark.parametrize("code", RULES)
def test_a_rule_finds_its_wrong_example_and_nothing_in_its_right_one(code):
    rule = RULES[code]
    found = lint_text(rule.wrong, filename="wrong.yaml")
    assert [one.code for one in found] == [code]
    assert all(one.line and one.column and one.remedy == rule.remedy for one in found)
    assert codes(rule.right) == []
