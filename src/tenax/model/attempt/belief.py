"""Removes from reported failures the facts that only the server can know.

A worker or a callee cannot know of a lost worker, an expired queue entry or a failed child. `infra_attempts` may exempt such a failure,
and `retry_when` may not apply to it, so a report cannot claim it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tenax.model.attempt.bounded import ReportLimits, bounded_outcome
from tenax.model.attempt.outcome import INFRASTRUCTURE, Facts
from tenax.model.attempt.reasons import SERVER_REASONS
from tenax.model.json_text import json_fault
from tenax.model.wire import Report


def believed_facts(facts: Facts) -> Facts:
    """Returns the facts without those that only the server may state: some classes and reasons, and the failure of a child."""
    if facts.child is not None:
        facts = replace(facts, child=None)
    if facts.failure_class in INFRASTRUCTURE:
        return replace(facts, failure_class=None, reason=None)
    if facts.reason in SERVER_REASONS:
        return replace(facts, reason=None)
    return facts


def believed_reports(reports: Sequence[Report], limits: ReportLimits) -> list[Report]:
    """Returns the reports with the facts that the server believes, cut to the limits."""
    return [
        report
        if (outcome := report.outcome).facts is None
        and (outcome.result is None or json_fault(outcome.result) is None)
        else _believed(report, limits)
        for report in reports
    ]


def _believed(report: Report, limits: ReportLimits) -> Report:
    outcome = bounded_outcome(report.outcome, limits)
    if outcome.facts is not None and (facts := believed_facts(outcome.facts)) is not outcome.facts:
        outcome = replace(outcome, facts=facts)
    return report if outcome is report.outcome else replace(report, outcome=outcome)
