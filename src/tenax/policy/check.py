"""Checks a definition a second time: its conditions, its templates and the policies they resolve to.

`tenax.model.parse.parse` reads the file but cannot know what an expression means. This module adds its findings to the
same list, so that the author of a file sees everything at once, each with its line.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.workflow import Step, Workflow
from tenax.model.parse.overrides import read_override
from tenax.model.parse.parse import DefinitionLimits, Draft, draft_workflow
from tenax.model.policy import Patch, Policy
from tenax.model.source.findings import Findings, Path
from tenax.policy.expressions.compiler import ExpressionError, compile_expression
from tenax.policy.expressions.conditions import compile_condition, strip_braces, unknown_fields
from tenax.policy.expressions.templates import SHELL_TEXT, UNTIL_VARIABLES
from tenax.policy.expressions.visible_names import (
    OUTPUTS,
    NameCheck,
    Say,
    TemplatePlace,
    compensation_place,
    concurrency_key_place,
    keys_place,
    once_place,
)
from tenax.policy.retry.resolve import PolicyError, levels_of, resolve_policy

MOST_EXPRESSIONS = 50_000
"""The most expressions in one definition. Each is compiled, so a file full of them must not block the server."""


MOST_EXPRESSIONS_OF_STEP = 2_000
"""The most expressions in one step. They are compiled together whenever its plan is loaded."""
_DEFAULT_LIMITS = DefinitionLimits()


def load_workflow(
    text: str | bytes,
    *,
    filename: str | None = None,
    server_retry: ServerPolicy = None,
    limits: DefinitionLimits = _DEFAULT_LIMITS,
) -> Workflow:
    """Loads a definition and checks it as a whole. Raises InvalidDefinition with every finding of the file."""
    return check_draft(text, filename=filename, server_retry=server_retry, limits=limits).accept()


def check_draft(
    text: str | bytes,
    *,
    filename: str | None = None,
    server_retry: ServerPolicy = None,
    limits: DefinitionLimits | None = None,
) -> Draft:
    """Reads a definition with the places of its keys, and adds the findings about it as a whole."""
    draft = draft_workflow(text, filename=filename, limits=limits or _DEFAULT_LIMITS)
    _Check(draft, server_retry).run()
    return draft


class _Check:
    """Checks one draft in one pass."""

    def __init__(self, draft: Draft, server_retry: ServerPolicy) -> None:
        self._workflow = draft.workflow
        self._findings = draft.findings
        self._paths = draft.paths
        self._server_retry = server_retry
        self._sound = not len(draft.findings)
        self._said: set[tuple[Path, str]] = set()
        self._expressions = 0
        declared = draft.findings.source.data.get("input")
        # The declared inputs are used, and not the accepted ones. So an input with a wrong schema is not also reported as unknown.
        inputs: list[str] = list(declared) if isinstance(declared, dict) else []
        self._reach = NameCheck(draft.workflow, inputs, self._say, linked=draft.linked)

    def run(self) -> None:
        self._check_unread_conditions(("defaults", "retry"), self._workflow.retry)
        if isinstance(self._workflow.retry, dict):
            self._check_failure_fields(self._workflow.retry, ("defaults", "retry"))
        for step, path in zip(self._workflow.steps, self._paths, strict=True):
            self._check_step(step, path)
        self._check_texts(self._workflow.outputs, OUTPUTS, ("outputs",))

    def _check_step(self, step: Step, path: Path) -> None:
        before = self._expressions
        self._check_parts(step, path)
        if self._expressions - before > MOST_EXPRESSIONS_OF_STEP:
            self._say(path, f"more than {MOST_EXPRESSIONS_OF_STEP:,} templates and conditions in one step")

    def _check_parts(self, step: Step, path: Path) -> None:
        self._check_action(step, keys_place(step), path)
        if step.compensate is not None:
            self._check_action(step.compensate, compensation_place(step), (*path, "compensate"))
        if step.when is not None:
            self._spend((*path, "when"), 1)
            self._reach.check_expression(step.when, once_place(step, "when"), (*path, "when"))
        if step.until is not None:
            self._check_until(step.until.condition, (*path, "until"))
        self._check_for_each(step, path)
        self._check_concurrency(step, path)
        if step.on_failure is not None and step.on_failure.action == "value":
            place = once_place(step, "on_failure", own=True)
            self._check_texts(step.on_failure.value, place, (*path, "on_failure", "value"))

    def _check_action(self, action: Step, place: TemplatePlace, path: Path) -> None:
        """Checks the action of a step or of a compensation, and its policy."""
        policy = self._check_policy(action, path)
        if policy is not None:
            self._check_vary(action, policy, place, path)
        self._check_texts(action.spec, place, path, shell_at=SHELL_TEXT.get(action.type))
        given = action.spec.get("input") if action.type == "workflow" else None
        if isinstance(given, str):
            self._reach.check_whole(given, "a mapping of inputs", place, (*path, "input"))
        params = action.spec.get("params") if action.type == "action" else None
        if isinstance(params, str):
            self._reach.check_whole(params, "a mapping of parameters", place, (*path, "params"))
        if action.dependency is not None:
            self._refuse_template(action.dependency, (*path, "dependency"))

    def _check_for_each(self, step: Step, path: Path) -> None:
        place, below = once_place(step, "for_each"), (*path, "for_each")
        self._check_texts(step.for_each, place, below)
        if isinstance(step.for_each, str):
            self._reach.check_whole(step.for_each, "a list", place, below)

    def _check_concurrency(self, step: Step, path: Path) -> None:
        if step.concurrency is not None and step.concurrency.key is not None:
            key, below = step.concurrency.key, (*path, "concurrency", "key")
            self._spend(below, key.count("{{"))
            self._reach.check_key(key, concurrency_key_place(step), below)

    def _check_until(self, condition: str, path: Path) -> None:
        self._spend(path, 1)
        nested = isinstance(self._findings.source.value(path), dict)
        try:
            compile_expression(strip_braces(condition), variables=UNTIL_VARIABLES)
        except ExpressionError as error:
            self._say((*path, "condition") if nested else path, str(error))

    def _check_texts(
        self, value: Any, place: TemplatePlace, path: Path, *, shell_at: tuple[str] | None = None
    ) -> None:
        shell = None if shell_at is None else (*path, *shell_at)
        for below, text in _texts(value, path):
            self._spend(below, text.count("{{"))
            self._reach.check_template(text, place, below, shell=below == shell)

    def _say(self, path: Path, message: str) -> None:
        """Reports a message once. A mistake in `defaults` would otherwise be reported for every step that inherits it."""
        if (path, message) not in self._said:
            self._said.add((path, message))
            self._findings.add(path, message)

    def _spend(self, path: Path, count: int) -> None:
        before, self._expressions = self._expressions, self._expressions + count
        if self._expressions > MOST_EXPRESSIONS >= before:
            self._say(path, f"more than {MOST_EXPRESSIONS:,} templates and conditions in one definition")
        if self._expressions > MOST_EXPRESSIONS:
            self._findings.raise_if_any()

    def _check_policy(self, action: Step, path: Path) -> Policy | None:
        levels = levels_of(action, self._workflow, self._server_retry)
        if isinstance(action.retry, dict):
            self._spend((*path, "retry"), 1 + len(action.retry.get("rules", ())))
        self._check_unread_conditions((*path, "retry"), action.retry)
        if isinstance(action.retry, dict):
            self._check_failure_fields(action.retry, (*path, "retry"))
        try:
            return resolve_policy(levels)
        except PolicyError as error:
            for below, message in error.findings:
                self._say(self._origin(action, path, below), message)
            return None

    def _check_vary(self, action: Step, policy: Policy, place: TemplatePlace, path: Path) -> None:
        """Checks the entries of `vary` that the step inherits. Its own entries were checked when they were read."""
        inherited = not (isinstance(action.retry, dict) and "vary" in action.retry)
        for index, text in enumerate(policy.vary):
            origin = self._origin(action, path, ("vary", index))
            override = json.loads(text)
            if inherited and self._sound:
                self._check_inherited(action, override, origin)
            self._check_texts(override, place, origin, shell_at=SHELL_TEXT.get(action.type))

    def _check_inherited(self, action: Step, override: dict[str, Any], path: Path) -> None:
        findings = _InheritedFindings(self._findings, self._say)
        read = read_override(action.type, action.spec, override, path, findings)
        if not findings.any_reported and read != override:
            self._say(path, f"above the steps an entry is taken as it stands: write it as {json.dumps(read)}")

    def _check_unread_conditions(self, path: Path, patch: Patch | None) -> None:
        """Checks the conditions of a policy that was rejected for other mistakes."""
        given = self._findings.source.value(path)
        if patch is not None or not isinstance(given, dict):
            return
        for below, text in conditions_of(given):
            self._check_condition(text, (*path, *below))

    def _check_failure_fields(self, patch: Mapping[str, Any], path: Path) -> None:
        """Reports unknown fields of `failure`. They would be None for every failure, so that the condition
        would not mean what it says."""
        for below, text in conditions_of(patch):
            with contextlib.suppress(
                ExpressionError
            ):  # an expression that cannot be compiled is reported with the policy
                for fault in unknown_fields(compile_condition(text)):
                    self._say((*path, *below), fault)

    def _check_condition(self, text: str, path: Path) -> None:
        self._spend(path, 1)
        try:
            for fault in unknown_fields(compile_condition(text)):
                self._say(path, fault)
        except ExpressionError as error:
            self._say(path, str(error))

    def _origin(self, action: Step, path: Path, below: Path) -> Path:
        """Returns the place where a part of the resolved policy was written: in the step, or in the defaults."""
        for level, place in ((action.retry, (*path, "retry")), (self._workflow.retry, ("defaults", "retry"))):
            if isinstance(level, dict) and below[0] in level:
                return (*place, *below)
            if isinstance(level, dict) and below[0] == "max_delay" and "initial_delay" in level:
                return (*place, "initial_delay")
        return path

    def _refuse_template(self, text: str, path: Path) -> None:
        if "{{" in text:
            self._say(path, "a template cannot stand here: the value must be known before the step is queued")


class _InheritedFindings(Findings):
    """Collects findings about inherited values. Each is reported once, with the way to correct it."""

    def __init__(self, findings: Findings, say: Say) -> None:
        super().__init__(findings.source)
        self._tell = say
        self.any_reported = False

    def add(self, path: Path, message: str) -> None:
        self.any_reported = True
        self._tell(path, f"{message}; a step without it says `retry: {{vary: []}}`")


def conditions_of(patch: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yields the conditions of one level's policy, which may be wrong in any other way."""
    rules = patch.get("rules")
    listed: list[tuple[Path, Any]] = [((name,), patch.get(name)) for name in ("retry_when", "stop_when")]
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        listed.append((("rules", index, "when"), rule.get("when") if isinstance(rule, Mapping) else None))
    yield from ((path, text) for path, text in listed if isinstance(text, str) and text.strip())


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yields every text that contains a template. The file was read with bounded nesting."""
    if isinstance(value, str):
        if "{{" in value or "{%" in value or "{#" in value:
            yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, (*path, index))
