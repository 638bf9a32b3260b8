"""Checks a workflow file with the files of its children, and resolves the policies of its steps."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from tenax.cli.input.inputs import STDIN, STDIN_SHOWN
from tenax.cli.input.policies import default_retry
from tenax.cli.input.unknown_tasks import findings_in_order, unknown_tasks
from tenax.errors import Finding, InvalidDefinition
from tenax.model.definition.children import input_problems
from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.workflow import Workflow
from tenax.model.parse.parse import check_input, draft_workflow
from tenax.model.wire import Submission
from tenax.policy.check import load_workflow
from tenax.sdk.bundle import shown_path
from tenax.settings import Settings


def check_whole(
    source: str, filename: str, files: Mapping[str, str], server_retry: ServerPolicy
) -> tuple[Workflow, dict[str, Workflow]]:
    """Reads the definition and each of its files as a workflow. Raises InvalidDefinition with the findings of all files."""
    workflow = load_workflow(source, filename=filename, server_retry=server_retry)
    workflows: dict[str, Workflow] = {}
    findings: list[Finding] = []
    for key, text in files.items():
        shown = shown_path(filename, key)
        try:
            workflows[key] = load_workflow(text, filename=shown, server_retry=server_retry)
        except InvalidDefinition as error:
            findings += error.findings
    top = posixpath.basename(filename)
    for key, one in {top: workflow, **workflows}.items():
        text, shown = (source, filename) if one is workflow else (files[key], shown_path(filename, key))
        findings += _wrong_inputs(text, shown, key, one, workflows)
    if findings:
        raise InvalidDefinition(findings)
    return workflow, workflows


def check_submission(submission: Submission, settings: Settings) -> None:
    """Checks the definition and the inputs before a database is made or started for them.

    With a server, only the tasks are checked: the server checks the definition, with its own default policy.
    """
    if submission.source is None:  # it names a stored workflow
        return
    source, filename, folder = submission.source, submission.filename or "", submission.base_dir
    on_server = bool(settings.server)
    unknown = (
        unknown_tasks(source, filename, folder, submission.files, installed=not on_server) if folder else []
    )
    try:
        workflow = None if on_server else _checked(submission, settings)
    except InvalidDefinition as error:
        raise InvalidDefinition(findings_in_order(error.findings, unknown)) from None
    if unknown:
        raise InvalidDefinition(unknown)
    if workflow is not None:
        check_input(workflow, submission.input)


def _checked(submission: Submission, settings: Settings) -> Workflow:
    workflow, _ = check_whole(
        submission.source or "", submission.filename or "", submission.files, default_retry(settings)
    )
    return workflow


def _wrong_inputs(
    text: str, filename: str, key: str, workflow: Workflow, children: Mapping[str, Workflow]
) -> Sequence[Finding]:
    """Compares the inputs that the steps of a file give to their children with the inputs that these declare."""
    wrong: dict[int, list[str]] = {}
    for index, step in enumerate(workflow.steps):
        if step.type == "workflow" and "file" in step.spec:
            child = children.get(
                posixpath.normpath(posixpath.join(posixpath.dirname(key), step.spec["file"]))
            )
            wrong[index] = input_problems(step, child) if child is not None else []
    if not any(wrong.values()):
        return ()
    draft = draft_workflow(text, filename=filename)  # reads the text again, for the lines and columns
    for index, problems in wrong.items():
        for problem in problems:
            draft.findings.add((*draft.paths[index], "input"), problem)
    try:
        draft.findings.raise_if_any()
    except InvalidDefinition as error:
        return error.findings
    return ()


def shown_name(file: str) -> str:
    return STDIN_SHOWN if file == STDIN else file
