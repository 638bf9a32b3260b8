"""Look at a workflow file: is it right, and what do its policies mean in time?"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.errors import USAGE
from tenax.cli.flags import Json
from tenax.cli.input.inputs import STDIN, STDIN_SHOWN, definition_of, read_bytes
from tenax.cli.input.policies import default_retry, policies_of
from tenax.cli.output import json_document, new_table, print_json, printable, say, show
from tenax.errors import Finding, InvalidDefinition, UsageError
from tenax.model.definition.children import child_references, input_problems
from tenax.model.definition.workflow import Workflow
from tenax.model.durations import format_duration
from tenax.model.parse.file_schema import file_schema
from tenax.model.parse.parse import draft_workflow, workflow_hash
from tenax.model.policy import Patch, Policy
from tenax.policy.check import load_workflow
from tenax.policy.retry.delay_table import DelayRow, delay_table
from tenax.sdk.bundle import bundle, shown_path

File = Annotated[str, Parameter(help="The workflow file; - is stdin.")]
MOST_ROWS = 10_000


def validate(file: File, /, *, json: Json = False) -> int:
    """Check a workflow file: its keys, graph, templates, conditions and policies, and the files of its child workflows.
    Exit code 2 where something is wrong.
    """
    server_retry = default_retry()
    try:
        workflow, children = _checked(file, server_retry)
    except InvalidDefinition as error:
        if json:
            print_json({"valid": False, "errors": [finding.as_dict() for finding in error.findings]})
        else:
            say("\n".join(str(finding) for finding in error.findings))
        return USAGE
    identity = workflow_hash(workflow)
    if json:
        summary = {
            "name": workflow.name,
            "version": workflow.version,
            "hash": identity,
            "steps": len(workflow.steps),
            "files": list(children),
        }
        print_json({"valid": True, "errors": [], **summary})
    else:
        count, below = len(workflow.steps), len(children)
        also = f", with {below} file{'s' if below != 1 else ''} of child workflows" if below else ""
        say(f"OK: {workflow.name}, {count} step{'s' if count != 1 else ''}, content {identity[:12]}{also}")
    return 0


def _checked(file: str, server_retry: Patch | None) -> tuple[Workflow, Mapping[str, Workflow]]:
    """The workflow of a file, and those that its steps name by `file:`."""
    content = read_bytes(file)
    workflow = load_workflow(content, filename=shown_name(file), server_retry=server_retry)
    if not any(reference.kind == "file" for reference in child_references(workflow)):
        return workflow, {}
    definition = definition_of(content, file)
    return check_whole(definition.text, definition.filename, bundle(definition), server_retry)


def check_whole(
    source: str, filename: str, files: Mapping[str, str], server_retry: Patch | None
) -> tuple[Workflow, dict[str, Workflow]]:
    """The definition and each of its files as a workflow. InvalidDefinition carries the findings of all files."""
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


def _wrong_inputs(
    text: str, filename: str, key: str, workflow: Workflow, children: Mapping[str, Workflow]
) -> Sequence[Finding]:
    """What the steps of one file give to the children they name by `file:`, against what those declare."""
    wrong: dict[int, list[str]] = {}
    for index, step in enumerate(workflow.steps):
        if step.type == "workflow" and "file" in step.spec:
            child = children.get(
                posixpath.normpath(posixpath.join(posixpath.dirname(key), step.spec["file"]))
            )
            wrong[index] = input_problems(step, child) if child is not None else []
    if not any(wrong.values()):
        return ()
    draft = draft_workflow(text, filename=filename)  # anew, for the places
    for index, problems in wrong.items():
        for problem in problems:
            draft.findings.add((*draft.paths[index], "input"), problem)
    try:
        draft.findings.refuse()
    except InvalidDefinition as error:
        return error.findings
    return ()


def schema(
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Write it to this file. [stdout]")
    ] = None,
) -> None:
    """Print the JSON Schema (2020-12) of workflow files. Editors complete and check files by it; see docs/cli.md."""
    if output is None:
        print_json(file_schema())
        return
    try:
        output.write_text(json_document(file_schema()) + "\n", "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from None
    say(f"wrote {output}")


def delays(
    file: File,
    /,
    *,
    limit: Annotated[int, Parameter(help="At most so many attempts of each step. [20]")] = 20,
    json: Json = False,
) -> None:
    """Print, for each step, its attempts if all fail: the delay before each, at least, nominally and at most."""
    if not 1 <= limit <= MOST_ROWS:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MOST_ROWS}")
    server_retry = default_retry()
    workflow = load_workflow(read_bytes(file), filename=shown_name(file), server_retry=server_retry)
    policies = policies_of(workflow, server_retry)
    if json:
        steps = {
            name: _as_json(policy, delay_table(policy, limit=limit)) for name, policy in policies.items()
        }
        print_json({"name": workflow.name, "steps": steps})
        return
    for index, (name, policy) in enumerate(policies.items()):
        if index:
            say("")
        say(f"{name}: {policy_words(policy)}")
        show(_table(delay_table(policy, limit=limit)))


def shown_name(file: str) -> str:
    return STDIN_SHOWN if file == STDIN else file


def policy_words(policy: Policy) -> str:
    """A policy in one line."""
    if not policy.retryable or policy.max_attempts == 1:
        return "1 attempt, no retries"
    attempts = "unlimited attempts" if policy.max_attempts is None else f"{policy.max_attempts} attempts"
    parts = [attempts, f"{policy.backoff} backoff from {format_duration(policy.initial_delay)}"]
    if policy.backoff == "exponential":
        parts[-1] += f" by {policy.backoff_multiplier:g}"
    parts += [f"at most {format_duration(policy.max_delay)}", f"jitter {_jitter(policy)}"]
    if policy.give_up_after is not None:
        parts.append(f"given up after {format_duration(policy.give_up_after)}")
    if policy.rules:
        parts.append(f"{len(policy.rules)} rule{'s' if len(policy.rules) != 1 else ''} of its own not shown")
    return printable(", ".join(parts))


def _jitter(policy: Policy) -> str:
    if policy.backoff == "decorrelated":
        return "of its own"
    return (
        policy.jitter
        if isinstance(policy.jitter, str)
        else (f"{policy.jitter:g}" if policy.jitter else "none")
    )


def _as_json(policy: Policy, rows: list[DelayRow]) -> dict[str, Any]:
    listed = [
        {
            "attempt": row.attempt,
            "least": row.least,
            "nominal": row.nominal,
            "most": row.most,
            "cumulative": row.cumulative_nominal,
            "cumulative_least": row.cumulative_least,
            "cumulative_most": row.cumulative_most,
        }
        for row in rows
    ]
    return {
        "max_attempts": policy.max_attempts,
        "attempts": listed,
        "more": rows[-1].more,
        "policy": policy.as_dict(),
    }


def _table(rows: list[DelayRow]) -> Any:
    titles = ("attempt", "least", "nominal", "most", "cumulative", "at least", "at most")
    table = new_table(*titles, right=titles)
    for row in rows:
        times = (
            row.least,
            row.nominal,
            row.most,
            row.cumulative_nominal,
            row.cumulative_least,
            row.cumulative_most,
        )
        table.add_row(str(row.attempt), *(format_duration(seconds) for seconds in times))
    if rows[-1].more:
        table.add_row("...", *("" for _ in titles[1:]))
    return table
