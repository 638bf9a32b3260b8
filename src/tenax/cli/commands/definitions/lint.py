"""Finds likely mistakes in workflow files, Python tasks and files of other systems."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

from cyclopts import Parameter

from tenax.cli.flags import Json
from tenax.cli.input.policies import default_retry
from tenax.cli.lint.sarif import sarif
from tenax.cli.lint.sources import LintSource, sources_of
from tenax.cli.output import print_json, say
from tenax.errors import UsageError
from tenax.model.definition.tiers import ServerPolicy
from tenax.policy.lint.finding import LintFinding
from tenax.policy.lint.fix import fix_text
from tenax.policy.lint.lint import lint_text

FOUND = 1
"""The exit code if there is an error."""


def lint(
    file: Annotated[
        str,
        Parameter(
            name="FILE",
            help="A workflow file, a file of another system, a folder, or a module with Python tasks; - is stdin.",
        ),
    ],
    /,
    *files: Annotated[str, Parameter(help="More of them.")],
    strict: Annotated[bool, Parameter(negative="", help="The exit code is 1 for warnings too.")] = False,
    fix: Annotated[
        bool, Parameter(negative="", help="Remove keys without effect from the files, where that is certain.")
    ] = False,
    json: Json = False,
    sarif: Annotated[
        bool, Parameter(negative="", help="Print the findings as SARIF, for code hosts and editors.")
    ] = False,
) -> int:
    """Find likely mistakes in workflow files that are valid: retries that never happen, items that are all retried at the same
    instant, secrets in plain text, and more.

    Each finding has the code of a rule, its place, a sentence and a remedy. A comment at its line switches a rule off:
    `# tenax: ignore TX101 -- why`. The exit code is 1 if there is an error.
    """
    if json and sarif:
        raise UsageError("--json and --sarif exclude each other")
    server_retry = default_retry()
    sources = [source for name in (file, *files) for source in sources_of(name)]
    fixed = _fix(sources, server_retry) if fix else 0
    found = [finding for source in sources for finding in _look_at(source, server_retry)]
    errors = sum(one.severity == "error" for one in found)
    _print(found, len(sources), errors, fixed, json=json, as_sarif=sarif)
    return FOUND if errors or (strict and found) else 0


def _look_at(source: LintSource, server_retry: ServerPolicy) -> Iterator[LintFinding]:
    for finding in lint_text(source.text, filename=source.shown, server_retry=server_retry):
        if (
            source.line is None or finding.fix is None
        ):  # a translation has all fields, those without effect too
            yield source.placed(finding)


def _fix(sources: Sequence[LintSource], server_retry: ServerPolicy) -> int:
    """Writes the fixes of workflow files. Returns their number."""
    total = 0
    for source in sources:
        if source.path is None:
            continue
        text, done = fix_text(source.text, lint_text(source.text, server_retry=server_retry))
        if done:
            source.path.write_text(text, "utf-8")
            source.text = text
            total += done
    return total


def _print(
    found: Sequence[LintFinding], files: int, errors: int, fixed: int, *, json: bool, as_sarif: bool
) -> None:
    if as_sarif:
        print_json(sarif(found))
        return
    warnings = len(found) - errors
    if json:
        findings = [one.as_dict() for one in found]
        print_json(
            {"findings": findings, "files": files, "errors": errors, "warnings": warnings, "fixed": fixed}
        )
        return
    for one in found:
        say(f"{one}\n    {one.remedy}")
    words = f"{_count(errors, 'error')} and {_count(warnings, 'warning')} in {_count(files, 'file')}"
    more = f"; {_count(fixed, 'key')} without effect removed" if fixed else ""
    nothing = f"OK: nothing found in {_count(files, 'file')}"
    say(f"{words if found else nothing}{more}", stream=sys.stderr)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
