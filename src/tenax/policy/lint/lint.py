"""Looks a workflow file over with all rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tenax.errors import InvalidDefinition
from tenax.model.definition.tiers import ServerPolicy
from tenax.model.parse.parse import DefinitionLimits
from tenax.model.source.findings import format_path, shorten
from tenax.policy.check import check_draft
from tenax.policy.lint import actions, attempts, budgets, conditions, deadlines, delays, fan_outs, names
from tenax.policy.lint.finding import LintFinding
from tenax.policy.lint.rule import RULES, LintRule
from tenax.policy.lint.subject import LintSubject
from tenax.policy.lint.suppressions import MISTAKE, UNUSED, apply, read_suppressions

__all__ = ["GROUPS", "INVALID", "MOST_FINDINGS", "lint_text"]

INVALID = "TX000"
"""The code of what makes a file invalid: such a file cannot be looked over further."""
MOST_FINDINGS = 500
"""Findings of one file after which it is looked over no further."""
GROUPS = {
    "Attempts": attempts,
    "Delays": delays,
    "Times": deadlines,
    "Conditions and rules": conditions,
    "What a step does": actions,
    "Fan-outs": fan_outs,
    "Budgets": budgets,
    "Names": names,
}
"""The rules by their subject, for the docs."""
_LONGEST_MESSAGE = 600


def lint_text(
    text: str | bytes,
    *,
    filename: str | None = None,
    server_retry: ServerPolicy = None,
    limits: DefinitionLimits | None = None,
) -> list[LintFinding]:
    """Returns the findings of a file in the order of its lines. A file that is not valid has its errors, with the code TX000."""
    try:
        draft = check_draft(text, filename=filename, server_retry=server_retry, limits=limits)
        workflow = draft.accept()
    except InvalidDefinition as error:
        return [
            LintFinding(INVALID, "error", one.message, "mend the file; `tenax validate` says the same", one.path, one.file, one.line, one.column)
            for one in error.findings
        ]  # fmt: skip
    subject = LintSubject(workflow, draft.findings.source, draft.paths, server_retry)
    content = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    suppressions = read_suppressions(content, RULES)
    found = apply(_findings(subject, filename), suppressions, filename)
    return sorted(found, key=lambda one: (one.line or 0, one.column or 0, one.code))


def _findings(subject: LintSubject, filename: str | None) -> Sequence[LintFinding]:
    found: list[LintFinding] = []
    seen: set[tuple[str, int | None, int | None, str]] = set()
    for rule in RULES.values():
        for finding in _of_rule(rule, subject, filename):
            key = (finding.code, finding.line, finding.column, finding.path)
            if key in seen:  # several steps take a field from the defaults
                continue
            seen.add(key)
            found.append(finding)
            if len(found) >= MOST_FINDINGS:
                return found
    return found


def _of_rule(rule: LintRule, subject: LintSubject, filename: str | None) -> Iterator[LintFinding]:
    for path, message, *fixes in rule.check(subject):
        line, column = subject.source.place(path) or (None, None)
        yield LintFinding(
            rule.code,
            rule.severity,
            shorten(message, _LONGEST_MESSAGE),
            rule.remedy,
            format_path(path),
            filename,
            line,
            column,
            fixes[0] if fixes else None,
        )


OWN_CODES = {
    INVALID: "the file is not valid",
    MISTAKE: "a comment of the lint that cannot be read, or gives no reason",
    UNUSED: "a comment that switches off what finds nothing",
}
"""The codes of what is not a rule."""
