"""Reads the policy and the outcome for `tenax decide`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from tenax.cli.input.decide_values import (
    Readers,
    one_of,
    read_keys,
    read_object,
    readers_of,
    retry_after,
    usage,
    whole,
)
from tenax.cli.input.inputs import STDIN, read_bytes
from tenax.cli.input.policies import default_retry, policies_of
from tenax.errors import Finding, InvalidDefinition, UsageError
from tenax.model.attempt.outcome import (
    Facts,
    Outcome,
    OutcomeStatus,
)
from tenax.model.definition.workflow import Until
from tenax.model.parse.retry_fields import parse_retry
from tenax.model.policy import Policy
from tenax.model.source.findings import Findings, shorten, suggest
from tenax.model.source.yaml_source import YamlSource, read_source
from tenax.policy.check import load_workflow
from tenax.policy.retry.resolve import PolicyError, resolve_policy
from tenax.sdk.files import decode_text
from tenax.settings import load_settings

# -- the policy


@dataclass(frozen=True, slots=True)
class AskedPolicy:
    """Holds the policy that decides, and the settings that a step of a workflow file adds to it."""

    policy: Policy
    until: Until | None = None
    step: str = ""
    retries_enabled: bool = True


def read_policy(given: str, step: str | None) -> AskedPolicy:
    """Reads a policy from JSON on the command line, from a file with a policy, or from a step of a workflow file."""
    text, filename = _text_of(given)
    try:
        source = read_source(text, filename=filename)
    except InvalidDefinition as error:
        raise _of_policy(error, filename) from None
    data = source.data
    if isinstance(data, dict) and "workflow" in data:
        return _policy_of_step(text, filename, step)
    if step is not None:
        raise UsageError("--step is for a workflow file, and --policy is none")
    if filename is None and isinstance(data, str):
        raise UsageError(
            f"--policy {shorten(given)}: neither a file nor a policy",
            remedy='write the name of a file, or JSON such as {"max_attempts": 3}, 3, true or false',
        )
    path: tuple[str, ...] = ("retry",) if isinstance(data, dict) and set(data) == {"retry"} else ()
    return AskedPolicy(_resolved(source, path))


def _text_of(given: str) -> tuple[str, str | None]:
    """Returns the text of a policy, and the file that has it or None."""
    if given == STDIN:
        return decode_text(read_bytes(given), "<stdin>"), "<stdin>"
    if given.startswith("@"):
        return decode_text(read_bytes(given[1:]), given[1:]), given[1:]
    if _is_file(given):
        return decode_text(read_bytes(given), given), given
    return given, None


def _is_file(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # the text is no possible path, so it is the policy itself
        return False


def _resolved(source: YamlSource, path: tuple[str, ...]) -> Policy:
    findings = Findings(source)
    value = source.data[path[0]] if path else source.data
    patch, wrong = parse_retry(value, path)
    for at, message in wrong:
        findings.add(at, message)
    _refuse(findings, source)
    try:
        return resolve_policy([patch])
    except PolicyError as error:
        for below, message in error.findings:
            findings.add((*path, *below), message)
        _refuse(findings, source)
        raise


def _refuse(findings: Findings, source: YamlSource) -> None:
    try:
        findings.raise_if_any()
    except InvalidDefinition as error:
        raise _of_policy(error, source.filename) from None


def _of_policy(error: InvalidDefinition, filename: str | None) -> InvalidDefinition:
    """Returns the error without lines and columns if there is no file. Its findings then name the flag `--policy`."""
    if filename is not None:
        return error
    return InvalidDefinition([Finding(one.message, path=one.path, file="--policy") for one in error.findings])


def _policy_of_step(text: str, filename: str | None, step: str | None) -> AskedPolicy:
    settings = load_settings()
    server_retry = default_retry(settings)
    workflow = load_workflow(text, filename=filename, server_retry=server_retry)
    policies = policies_of(workflow, server_retry)
    if step is None and len(policies) > 1:
        raise UsageError(
            f"{filename or '--policy'}: the workflow has {len(policies)} steps: name the step whose policy decides",
            remedy=f"--step with one of {', '.join(list(policies)[:20])}",
        )
    if step is not None and step not in policies:
        raise UsageError(
            f"{filename or '--policy'}: there is no step `{shorten(step)}`{suggest(step, policies)}"
        )
    meant = next(one for one in workflow.steps if step in (None, one.name))
    return AskedPolicy(policies[meant.name], meant.until, meant.name, settings.retries_enabled)


# -- the outcome

_ENDS = tuple(status for status in get_args(OutcomeStatus) if status != "accepted")
"""Statuses of outcomes about which something is decided. An accepted attempt has not ended."""


_NO_FACTS = ("status", "result", "after", "usage")
"""Keys of an outcome that are not facts of a failure."""


def read_outcome(given: str) -> Outcome:
    body = read_object(given, "--outcome")
    values = read_keys(body, _OUTCOME, "--outcome")
    if "status" not in values:
        raise UsageError(f"--outcome: `status` is missing: one of {', '.join(_ENDS)}")
    facts = {name: value for name, value in values.items() if name not in _NO_FACTS}
    # For a snooze, `retry_after` can only mean the time until the next run.
    after = values.get("after", values.get("retry_after") if values["status"] == "snoozed" else None)
    return Outcome(
        status=values["status"],
        result=values.get("result"),
        facts=None if values["status"] == "succeeded" else Facts(**facts),
        after=after,
        usage=values.get("usage"),
    )


_OUTCOME: Readers = {
    **readers_of(
        Outcome, integers=whole, special={"status": one_of(_ENDS), "usage": usage}, without=("facts",)
    ),
    **readers_of(
        Facts,
        integers=whole,
        special={"retry_after": retry_after},
        renamed={"failure_class": "class", "message": "error"},
        without=("child",),
    ),
}
