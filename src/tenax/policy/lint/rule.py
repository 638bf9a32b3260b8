"""Keeps the rules of the lint: each is declared once, with its code, its words, and an example of what is wrong and what is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tenax.model.source.findings import Path
from tenax.policy.lint.finding import Removal, Severity
from tenax.policy.lint.subject import LintSubject

Fault = tuple[Path, str] | tuple[Path, str, Removal]
"""The place and the sentence, and perhaps a certain fix."""
Check = Callable[[LintSubject], Iterator[Fault]]
C = TypeVar("C", bound=Check)


@dataclass(frozen=True, slots=True)
class LintRule:
    """Is one rule. `wrong` and `right` are whole files: the rule finds something in the first and nothing in the second."""

    code: str
    severity: Severity
    title: str
    why: str
    remedy: str
    wrong: str
    right: str
    check: Check


RULES: dict[str, LintRule] = {}
"""All rules by their codes."""


def rule(
    code: str, severity: Severity, title: str, *, why: str, remedy: str, wrong: str, right: str
) -> Callable[[C], C]:
    """Declares the decorated function as the check of a rule."""

    def declare(check: C) -> C:
        assert code not in RULES, f"two rules have the code {code}"
        RULES[code] = LintRule(code, severity, title, why, remedy, _file(wrong), _file(right), check)
        return check

    return declare


def _file(text: str) -> str:
    """Returns an example as a whole file. An example that begins with a step gets a head."""
    text = text.strip("\n")
    head = "" if text.startswith("name:") else "name: example\nworkflow:\n"
    return f"{head}{text}\n"
