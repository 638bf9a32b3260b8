"""Tests the comments that switch rules of the lint off."""

from __future__ import annotations

from tenax.policy.lint.lint import lint_text

STEP = "  - {step: paid, type: wait, signal: payment}"


def found(*lines: str) -> list[tuple[str, int | None]]:
    text = "\n".join(["name: example", "workflow:", *lines]) + "\n"
    return [(one.code, one.line) for one in lint_text(text)]


def test_a_comment_at_the_line_or_before_it_switches_a_rule_off():
    assert found(STEP) == [("TX306", 3)]
    assert found(f"{STEP}  # tenax: ignore TX306 -- people answer when they can") == []
    assert found("  # tenax: ignore TX306 -- people answer when they can", "", "  # more", STEP) == []


def test_one_comment_may_name_several_rules():
    both = "  - {step: item, type: wait, signal: payment}  # tenax: ignore TX306, TX802 -- it is so"
    assert found(both) == []


def test_a_comment_switches_nothing_else_off():
    comment = "  # tenax: ignore TX101 -- another rule"
    assert found(f"{STEP}{comment}") == [("TX306", 3), ("TX002", 3)]
    assert found(STEP, f"  - {{step: other, type: wait, signal: b}}{comment.replace('101', '306')}") == [
        ("TX306", 3)
    ]


def test_a_comment_without_a_reason_or_with_an_unknown_code_is_reported():
    for comment, words in [
        ("# tenax: ignore TX306", "gives no reason"),
        ("# tenax: ignore TX999 -- why", "there is no rule TX999"),
        ("# tenax: ignore -- why", "names no code"),
    ]:
        text = f"name: example\nworkflow:\n{STEP}  {comment}\n"
        codes = {one.code: one for one in lint_text(text)}
        assert codes.keys() == {"TX001", "TX306"}
        assert words in codes["TX001"].message
        assert codes["TX001"].line == 3
