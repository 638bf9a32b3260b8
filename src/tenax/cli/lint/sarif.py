"""Writes findings of the lint in SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenax import __version__
from tenax.policy.lint.finding import LintFinding
from tenax.policy.lint.lint import OWN_CODES
from tenax.policy.lint.rule import RULES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Sequence[LintFinding]) -> dict[str, Any]:
    driver = {"name": "tenax lint", "version": __version__, "rules": _rules()}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(one) for one in findings]}],
    }


def _rules() -> list[dict[str, Any]]:
    found = [
        {
            "id": rule.code,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.why},
            "help": {"text": rule.remedy},
            "defaultConfiguration": {"level": rule.severity},
        }
        for rule in RULES.values()
    ]
    own = [{"id": code, "shortDescription": {"text": words}} for code, words in OWN_CODES.items()]
    return [*own, *found]


def _result(one: LintFinding) -> dict[str, Any]:
    region = {"startLine": one.line, "startColumn": one.column}
    place: dict[str, Any] = {"artifactLocation": {"uri": one.file or "-"}}
    if one.line is not None:
        place["region"] = {name: value for name, value in region.items() if value is not None}
    return {
        "ruleId": one.code,
        "level": one.severity,
        "message": {"text": f"{one.message}. {one.remedy}"},
        "locations": [{"physicalLocation": place}],
    }
