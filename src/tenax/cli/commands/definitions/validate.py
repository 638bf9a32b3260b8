"""Checks a workflow file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tenax.cli.errors import USAGE
from tenax.cli.flags import Json
from tenax.cli.input.check_definition import check_whole, shown_name
from tenax.cli.input.inputs import STDIN, definition_of, read_bytes
from tenax.cli.input.policies import default_retry
from tenax.cli.input.unknown_tasks import findings_in_order, unknown_tasks
from tenax.cli.lint.warn import say_warnings
from tenax.cli.output import print_json, say
from tenax.errors import Finding, InvalidDefinition
from tenax.model.definition.children import child_references
from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.parse import workflow_hash
from tenax.policy.check import load_workflow
from tenax.policy.lint.lint import lint_text
from tenax.sdk.bundle import bundle
from tenax.sdk.files import folder_of

File = Annotated[str, Parameter(help="The workflow file; - is stdin.")]


def validate(file: File, /, *, json: Json = False) -> int:
    """Check a workflow file: its keys, graph, templates, conditions and policies, and the files of its child workflows.
    The functions of Python steps are checked if their module is there: it is looked at, and not imported. What `tenax lint`
    finds is shown as warnings. The exit code is 2 if there is an error.
    """
    try:
        content, server_retry = read_bytes(file), default_retry()
        workflow, children = _checked(content, file, server_retry)
    except InvalidDefinition as error:
        if json:
            print_json({"valid": False, "errors": [finding.as_dict() for finding in error.findings]})
        else:
            say("\n".join(str(finding) for finding in error.findings))
        return USAGE
    identity = workflow_hash(workflow)
    findings = lint_text(content, filename=shown_name(file), server_retry=server_retry)
    if json:
        summary = {
            "name": workflow.name,
            "version": workflow.version,
            "hash": identity,
            "steps": len(workflow.steps),
            "files": list(children),
        }
        warnings = [finding.as_dict() for finding in findings]
        print_json({"valid": True, "errors": [], **summary, "warnings": warnings})
    else:
        count, below = len(workflow.steps), len(children)
        also = f", with {below} file{'s' if below != 1 else ''} of child workflows" if below else ""
        say(f"OK: {workflow.name}, {count} step{'s' if count != 1 else ''}, content {identity[:12]}{also}")
        say_warnings(findings)
    return 0


def _checked(content: bytes, file: str, server_retry: ServerPolicy) -> tuple[Workflow, Mapping[str, str]]:
    """Returns the workflow of a file, and the texts of the files that its steps name by `file:`."""
    files: Mapping[str, str] = {}
    found: Sequence[Finding] = ()
    try:
        workflow = load_workflow(content, filename=shown_name(file), server_retry=server_retry)
        if any(reference.kind == "file" for reference in child_references(workflow)):
            definition = definition_of(content, file)
            files = bundle(definition)
            check_whole(definition.text, definition.filename, files, server_retry)
    except InvalidDefinition as error:
        found = error.findings
    folder = str(Path.cwd()) if file == STDIN else folder_of(file)
    unknown = unknown_tasks(content, shown_name(file), folder, files, installed=True)
    if found or unknown:
        raise InvalidDefinition(findings_in_order(found, unknown))
    return workflow, files
