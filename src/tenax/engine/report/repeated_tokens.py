"""Handles batches in which a token occurs twice: the first report ends the lease."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.engine.context import EngineContext
from tenax.engine.report.report import report
from tenax.model.wire import Report, ReportAnswer


async def report_in_turn(context: EngineContext, reports: Sequence[Report]) -> list[ReportAnswer]:
    """Decides on the first report of each lease, and then handles the other reports as later ones."""
    if len({one.token for one in reports}) == len(reports):
        return await report(context, reports)
    first: dict[str, int] = {}
    for n, one in enumerate(reports):
        first.setdefault(one.token, n)
    later = sorted(set(range(len(reports))) - set(first.values()))
    answers = dict(
        zip(first.values(), await report(context, [reports[n] for n in first.values()]), strict=True)
    )
    answers |= zip(later, await report_in_turn(context, [reports[n] for n in later]), strict=True)
    return [answers[n] for n in range(len(reports))]
