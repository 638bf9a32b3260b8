"""Checks the recorded history against all laws."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.since import parse_since
from tenax.cli.output import print_json, say
from tenax.drawing.fleet_words import counted
from tenax.drawing.text_lines import one_line
from tenax.policy.laws.law import MOST_VIOLATIONS

VIOLATED = 1
_CLEAR_LINE = "\r\x1b[K"

Report = dict[str, Any]


def verify(
    execution_id: Annotated[
        int | None, Parameter(name="ID", help="The number of an execution. [all executions]")
    ] = None,
    /,
    *,
    since: Annotated[
        str | None,
        Parameter(
            help="Only executions that were open since then: a duration back from now (2h) or a time (RFC 3339)."
        ),
    ] = None,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> int:
    """Check the recorded history: make every decision again, and compare every row with its events.

    It only reads, and may run beside servers and workers. The exit code is 1 if something breaks a law.
    """
    report = run_async(_verified(where, execution_id, parse_since(since)))
    if json:
        print_json(report)
    else:
        say("\n".join(_lines(report)))
    return VIOLATED if report["violations"] else 0


async def _verified(where: TargetFlags, execution_id: int | None, since: datetime | None) -> Report:
    report: Report = {
        "checked": Counter(executions=0, events=0, decisions=0),
        "violations": [],
        "not_shown": 0,
        "other_versions": Counter(),
    }
    progress = _Progress()
    async with open_backend(where.settings()) as backend:
        after: int | None = 0
        while after is not None:
            page = await backend.verify(execution_id, after=after, since=since)
            _include(report, page)
            after = page["next"]
            progress.show(report)
    progress.clear()
    return report


def _include(report: Report, page: Report) -> None:
    """Adds a page to the report. The report keeps a bounded number of violations."""
    report["checked"].update(page["checked"])
    report["other_versions"].update(page["other_versions"])
    room = MOST_VIOLATIONS - len(report["violations"])
    report["violations"] += page["violations"][:room]
    report["not_shown"] += page["not_shown"] + len(page["violations"][room:])


class _Progress:
    """Shows the progress of the check in one line of the terminal."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, report: Report) -> None:
        if sys.stderr.isatty():
            found = len(report["violations"]) + report["not_shown"]
            print(
                f"{_CLEAR_LINE}{_checked(report)}; violations: {found:,}", end="", file=sys.stderr, flush=True
            )
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


def _checked(report: Report) -> str:
    counts = report["checked"]
    words = (counted(counts[f"{what}s"], what) for what in ("execution", "event", "decision"))
    return f"checked: {', '.join(words)}"


def _lines(report: Report) -> list[str]:
    lines = [_line(violation) for violation in report["violations"]]
    if report["not_shown"]:
        lines.append(f"and {report['not_shown']:,} more violations")
    if lines:
        lines.append("")
    lines.append(_checked(report))
    for version, count in sorted(report["other_versions"].items()):
        lines.append(f"not made again: {count:,} decisions of version {version} of the decider")
    total = len(report["violations"]) + report["not_shown"]
    lines.append(
        "no violation" if not total else f"violations: {total:,} (docs/guarantees.md lists the laws)"
    )
    return lines


def _line(violation: Report) -> str:
    """Describes a violation: its place, the law, and what is wrong."""
    where = f"execution {violation['execution']}"
    if violation["step"] is not None:
        where += f", step {violation['step']}"
    if violation["item"] is not None:
        where += f"[{violation['item']}]"
    if violation["attempt"] is not None:
        where += f", attempt {violation['attempt']}"
    events = violation["events"]
    named = f" (event{'s' if len(events) > 1 else ''} {', '.join(map(str, events))})" if events else ""
    return f"{where}: {violation['law']}: {one_line(violation['message'], 500)}{named}"
