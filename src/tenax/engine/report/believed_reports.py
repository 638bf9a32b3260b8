"""Takes from the reports of workers what the server does not believe, and cuts them to what it keeps."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tenax.model.attempt.belief import believed_facts
from tenax.model.attempt.bounded import ReportLimits, bounded_outcome
from tenax.model.json_text import json_fault
from tenax.model.wire import Report


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
