"""The second look at a definition: its conditions, its templates and the policies they resolve to.

`tenax.model.parse` reads the file but cannot know what an expression means; this adds what it finds to the same list, so
that the author of a file sees everything at once, each with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from tenax.model.definition import Step, Workflow
from tenax.model.fields import NOT_YET
from tenax.model.findings import Path, shorten, suggest
from tenax.model.parse import Draft, draft_workflow
from tenax.model.policy import Patch
from tenax.policy.conditions import compile_condition, strip_braces
from tenax.policy.expressions import ExpressionError, compile_expression
from tenax.policy.graph import Ancestry
from tenax.policy.resolve import PolicyError, resolve_policy
from tenax.policy.templates import TEMPLATE_VARIABLES, compile_template

SPEC_VARIABLES = TEMPLATE_VARIABLES - {"item", "index"}
"""`item` and `index` come with `for_each`, which this version does not have."""
STEP_WHEN_VARIABLES = SPEC_VARIABLES - {"attempt", "secret"}
OUTPUT_VARIABLES = STEP_WHEN_VARIABLES
STEP_FACTS = ("status", "result", "failure")
"""What `steps.NAME` holds."""
MOST_EXPRESSIONS = 50_000
"""In one definition: each is compiled, so a file of nothing else must not hold the server up."""

_Reads = Iterable[tuple[str, ...]]


def load_workflow(
    text: str | bytes, *, filename: str | None = None, server_retry: Patch | None = None
) -> Workflow:
    """A definition, checked as a whole. InvalidDefinition carries every finding of the file."""
    draft = draft_workflow(text, filename=filename)
    _Check(draft, server_retry).run()
    return draft.accept()


class _Check:
    """One pass over a draft."""

    def __init__(self, draft: Draft, server_retry: Patch | None) -> None:
        self._workflow = draft.workflow
        self._findings = draft.findings
        self._paths = dict(zip((step.name for step in draft.workflow.steps), draft.paths, strict=True))
        self._linked = draft.linked
        self._server_retry = server_retry
        self._said: set[tuple[Path, str]] = set()
        self._expressions = 0
        declared = draft.findings.source.data.get("input")
        # As declared, not as accepted: an input with a wrong schema is not unknown as well.
        self._inputs: list[str] = list(declared) if isinstance(declared, dict) else []

    def run(self) -> None:
        self._check_unread_conditions(("defaults", "retry"), self._workflow.retry)
        for step in self._workflow.steps:
            path = self._paths[step.name]
            self._check_policy(step, path)
            if step.when is not None:
                self._check_when(step.when, step, (*path, "when"))
            for below, text in _texts(step.spec, ()):
                self._check_template(text, SPEC_VARIABLES, (*path, *below), step)
            if step.dependency is not None:
                self._refuse_template(step.dependency, (*path, "dependency"))
        for below, text in _texts(self._workflow.outputs, ()):
            self._check_template(text, OUTPUT_VARIABLES, ("outputs", *below), None)

    def _say(self, path: Path, message: str) -> None:
        """Once: what many steps inherit from `defaults` is one mistake."""
        if (path, message) not in self._said:
            self._said.add((path, message))
            self._findings.add(path, message)

    def _spend(self, path: Path, count: int) -> None:
        before, self._expressions = self._expressions, self._expressions + count
        if self._expressions > MOST_EXPRESSIONS >= before:
            self._say(path, f"more than {MOST_EXPRESSIONS:,} templates and conditions in one definition")
        if self._expressions > MOST_EXPRESSIONS:
            self._findings.refuse()

    def _check_policy(self, step: Step, path: Path) -> None:
        levels = [step.retry, self._workflow.retry, self._server_retry]
        if isinstance(step.retry, dict):
            self._spend((*path, "retry"), 1 + len(step.retry.get("rules", ())))
        self._check_unread_conditions((*path, "retry"), step.retry)
        try:
            resolve_policy(levels)
        except PolicyError as error:
            for below, message in error.findings:
                self._say(self._origin(step, path, below), message)

    def _check_unread_conditions(self, path: Path, patch: Patch | None) -> None:
        """The conditions of a policy that has other mistakes and was therefore not taken over."""
        given = self._findings.source.value(path)
        if patch is not None or not isinstance(given, dict):
            return
        rules = given.get("rules")
        listed = enumerate(rules) if isinstance(rules, list) else ()
        conditions = [
            *(((name,), given.get(name)) for name in ("retry_when", "stop_when")),
            *(
                (("rules", index, "when"), rule.get("when"))
                for index, rule in listed
                if isinstance(rule, dict)
            ),
        ]
        for below, text in conditions:
            if isinstance(text, str) and text.strip():
                self._check_condition(text, (*path, *below))

    def _check_condition(self, text: str, path: Path) -> None:
        self._spend(path, 1)
        try:
            compile_condition(text)
        except ExpressionError as error:
            self._say(path, str(error))

    def _origin(self, step: Step, path: Path, below: Path) -> Path:
        """Where a part of the resolved policy was written: in the step, or in the defaults."""
        for level, place in ((step.retry, (*path, "retry")), (self._workflow.retry, ("defaults", "retry"))):
            if isinstance(level, dict) and below[0] in level:
                return (*place, *below)
            if isinstance(level, dict) and below[0] == "max_delay" and "initial_delay" in level:
                return (*place, "initial_delay")
        return path

    def _check_when(self, text: str, step: Step, path: Path) -> None:
        def compile_when() -> _Reads:
            return compile_expression(strip_braces(text), variables=STEP_WHEN_VARIABLES).reads

        self._spend(path, 1)
        self._check_expression(compile_when, text, path, step)

    def _check_template(self, text: str, variables: frozenset[str], path: Path, step: Step | None) -> None:
        def compile_text() -> _Reads:
            return compile_template(text, variables=variables).reads

        self._spend(path, text.count("{{"))
        self._check_expression(compile_text, text, path, step)

    def _check_expression(
        self, compiled: Callable[[], _Reads], text: str, path: Path, step: Step | None
    ) -> None:
        try:
            reads = compiled()
        except ExpressionError as error:
            self._say(path, f"{error}{self._hyphen_hint(text)}")
            return
        for read in sorted(reads):
            self._check_read(read, path, step)

    def _hyphen_hint(self, text: str) -> str:
        """`steps.fetch-data` is a subtraction."""
        if "-" not in text:
            return ""
        names = (("steps", step.name) for step in self._workflow.steps if "-" in step.name)
        inputs = (("input", name) for name in self._inputs if "-" in name)
        for group, name in (*names, *inputs):
            if f"{group}.{name}" in text:
                return f"; a name with - is read as {group}['{name}']"
        return ""

    def _check_read(self, read: tuple[str, ...], path: Path, step: Step | None) -> None:
        match read:
            case ("input", name, *_) if name not in self._inputs:
                known = suggest(name, self._inputs) if self._inputs else "; the workflow declares no inputs"
                self._say(path, f"unknown input `{shorten(name)}`{known}")
            case ("steps",):
                self._say(path, "name the step whose result is meant: steps.NAME.result")
            case ("steps", name, *facts):
                self._check_step_read(name, facts, path, step)
            case _:
                pass

    def _check_step_read(self, name: str, facts: list[str], path: Path, step: Step | None) -> None:
        if name not in self._paths:
            self._say(path, f"unknown step `{shorten(name)}`{suggest(name, self._paths)}")
            return
        if facts and facts[0] not in STEP_FACTS:
            fact = f"`steps.{name}.{shorten(facts[0])}`"
            unknown = (
                f"{fact} {NOT_YET}"
                if facts[0] == "failures"
                else f"there is no {fact}{suggest(facts[0], STEP_FACTS)}"
            )
            self._say(path, unknown)
        if step is None or not self._linked or name in step.needs:
            return
        if name == step.name:
            self._say(path, f"the step `{name}` cannot read its own result: it has none before it has run")
        elif not self._ancestry.runs_before(name, step.name):
            self._say(path, f"the step `{name}` does not run before this one; add it to `needs`")

    @cached_property
    def _ancestry(self) -> Ancestry:
        return Ancestry(self._workflow)

    def _refuse_template(self, text: str, path: Path) -> None:
        if "{{" in text:
            self._say(path, "a template cannot stand here: the value must be known before the step is queued")


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every text with a template in it. The nesting is bounded: the file was."""
    if isinstance(value, str):
        if "{{" in value or "{%" in value or "{#" in value:
            yield path, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, (*path, index))
