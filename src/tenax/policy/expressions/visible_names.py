"""Lists the names that a template or condition may read in its place in the workflow, and checks that it reads no others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from tenax.model.definition.types import SERVER_TYPES
from tenax.model.definition.workflow import Step, Workflow
from tenax.model.source.findings import Path, shorten, suggest
from tenax.policy.expressions.compiler import ExpressionError, compile_expression
from tenax.policy.expressions.conditions import strip_braces
from tenax.policy.expressions.templates import (
    COMPENSATE_VARIABLES,
    FAN_OUT_VARIABLES,
    ONCE_VARIABLES,
    POLLING_VARIABLES,
    SERVER_SPEC_VARIABLES,
    SPEC_VARIABLES,
    TEMPLATE_VARIABLES,
    command_faults,
    compile_template,
    expressions_in,
    keeps_type,
)
from tenax.policy.graph import Ancestry

STEP_FACTS = ("status", "result", "failure", "failures")
"""The fields of `steps.NAME`. `failures` exists only if that step has `for_each`."""

Say = Callable[[Path, str], None]
_Reads = Iterable[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TemplatePlace:
    """Describes the place of a template."""

    name: str
    variables: frozenset[str]
    step: Step | None = None
    """The step that the template belongs to. It may read results of the steps before it. If None, it may read results of all steps."""
    own: bool = False
    """True if the template may also read the results of `step` itself."""
    of_item: bool = False
    """True if the template is rendered for each item of a fan-out."""


OUTPUTS = TemplatePlace("`outputs`", ONCE_VARIABLES)


def keys_place(step: Step) -> TemplatePlace:
    variables = SERVER_SPEC_VARIABLES if step.type in SERVER_TYPES else SPEC_VARIABLES
    if step.until is not None:
        variables |= POLLING_VARIABLES
    return TemplatePlace(
        f"the keys of this {step.type} step", _with_items(variables, step), step, of_item=True
    )


def compensation_place(step: Step) -> TemplatePlace:
    return TemplatePlace(
        "`compensate`", _with_items(COMPENSATE_VARIABLES, step), step, own=True, of_item=True
    )


def concurrency_key_place(step: Step) -> TemplatePlace:
    return TemplatePlace("`concurrency`", _with_items(ONCE_VARIABLES, step), step, of_item=True)


def once_place(step: Step, key: str, *, own: bool = False) -> TemplatePlace:
    return TemplatePlace(f"`{key}`", ONCE_VARIABLES, step, own)


def _with_items(variables: frozenset[str], step: Step) -> frozenset[str]:
    return variables | FAN_OUT_VARIABLES if step.for_each is not None else variables


def why_not_in_reach(name: str, place: TemplatePlace) -> str:
    """Explains why a variable that exists cannot be read in this place."""
    match name:
        case "item" | "index" if place.of_item:
            return f"`{name}` is there only in a step with `for_each`, which this one does not have"
        case "item" | "index":
            return (
                f"`{name}` is there only in the keys of a step's type, in `concurrency` and in `compensate`, "
                f"not in {place.name}: that is found only once"
            )
        case "attempt":
            return (
                "`attempt` is there only in the keys of a step's type and in `compensate`, "
                f"not in {place.name}: that is found only once"
            )
        case "previous":
            return "`previous`, the last result, is there only in the keys of a step with `until`"
        case "result":
            return "`result` is there only in `compensate`; the result of a step is steps.NAME.result"
        case _:
            return (
                f"a secret cannot stand in {place.name}: only workers know secrets, and this the server reads"
            )


class NameCheck:
    """Checks the expressions of one workflow."""

    def __init__(self, workflow: Workflow, inputs: Collection[str], say: Say, *, linked: bool) -> None:
        self._workflow = workflow
        self._steps = {step.name: step for step in workflow.steps}
        self._inputs = inputs
        self._say = say
        self._linked = linked

    def check_template(self, text: str, place: TemplatePlace, path: Path, *, shell: bool = False) -> bool:
        """Checks that a template can be read, and that it reads only visible names. `shell` says that the text goes to the shell."""

        def reads(variables: frozenset[str]) -> _Reads:
            return compile_template(text, variables=variables, shell_at=() if shell else None).reads

        readable = self._check(
            reads, text, place, path, alone=lambda: self._check_alone(text, place, path, shell=shell)
        )
        if readable and shell:
            for fault in command_faults(text, variables=place.variables):
                self._say(path, fault)
        return readable

    def _check_alone(self, text: str, place: TemplatePlace, path: Path, *, shell: bool) -> bool:
        """Checks each `{{ }}` of a text by itself, so that all mistakes are reported at once."""
        parts = expressions_in(text)
        shell_at = () if shell else None

        def reads_of(part: str) -> Callable[[frozenset[str]], _Reads]:
            return lambda variables: compile_template(part, variables=variables, shell_at=shell_at).reads

        found = [self._check(reads_of(part), part, place, path) for part in parts if len(parts) > 1]
        return all(found)

    def check_whole(self, text: str, wanted: str, place: TemplatePlace, path: Path) -> None:
        """Checks a template that must give a value other than text."""
        if self.check_template(text, place, path) and not keeps_type(text):
            self._say(path, f"it must give {wanted}, but with something around its {{{{ }}}} it gives text")

    def check_key(self, text: str, place: TemplatePlace, path: Path) -> None:
        """Checks a template that gives the key of items."""
        if (
            self.check_template(text, place, path)
            and not compile_template(text, variables=place.variables).reads
        ):
            self._say(
                path,
                "it reads nothing, and so is the same for all: a limit that steps share is named by `action`",
            )

    def check_expression(self, text: str, place: TemplatePlace, path: Path) -> None:
        def reads(variables: frozenset[str]) -> _Reads:
            return compile_expression(strip_braces(text), variables=variables).reads

        self._check(reads, text, place, path)

    def _check(
        self,
        reads_with: Callable[[frozenset[str]], _Reads],
        text: str,
        place: TemplatePlace,
        path: Path,
        alone: Callable[[], bool] | None = None,
    ) -> bool:
        """Returns whether the text can be read. `alone` checks the parts of a text that cannot be read as a
        whole."""
        try:
            reads = reads_with(place.variables)
        except ExpressionError as error:
            if alone is not None and not alone():
                return False
            misplaced = _misplaced(reads_with, place)
            for name in misplaced:
                self._say(path, why_not_in_reach(name, place))
            if not misplaced:
                self._say(path, f"{error}{self._hyphen_hint(text)}")
            return False
        for read in sorted(reads):
            self._check_read(read, place, path)
        return True

    def _hyphen_hint(self, text: str) -> str:
        """Explains that `steps.fetch-data` is a subtraction."""
        if "-" not in text:
            return ""
        names = (("steps", name) for name in self._steps if "-" in name)
        inputs = (("input", name) for name in self._inputs if "-" in name)
        for group, name in (*names, *inputs):
            if f"{group}.{name}" in text:
                return f"; a name with - is read as {group}['{name}']"
        return ""

    def _check_read(self, read: tuple[str, ...], place: TemplatePlace, path: Path) -> None:
        match read:
            case ("input", name, *_) if name not in self._inputs:
                known = suggest(name, self._inputs) if self._inputs else "; the workflow declares no inputs"
                self._say(path, f"unknown input `{shorten(name)}`{known}")
            case ("steps",):
                self._say(path, "name the step whose result is meant: steps.NAME.result")
            case ("steps", name, *facts):
                self._check_step_read(name, facts, place, path)
            case _:
                pass

    def _check_step_read(self, name: str, facts: list[str], place: TemplatePlace, path: Path) -> None:
        if name not in self._steps:
            self._say(path, f"unknown step `{shorten(name)}`{suggest(name, self._steps)}")
            return
        if facts and facts[0] not in STEP_FACTS:
            hint = suggest(facts[0], STEP_FACTS)
            self._say(path, f"there is no `steps.{name}.{shorten(facts[0])}`{hint}")
        elif facts[:1] == ["failures"] and self._steps[name].for_each is None:
            self._say(
                path,
                f"`steps.{name}.failures` is there only for a step with `for_each`; write steps.{name}.failure",
            )
        if place.step is not None and self._linked:
            self._check_order(name, place.step, path, own=place.own)

    def _check_order(self, name: str, step: Step, path: Path, *, own: bool) -> None:
        if name in step.needs or (own and name == step.name):
            return
        if name == step.name:
            self._say(path, f"the step `{name}` cannot read its own result: it has none before it has run")
        elif not self._ancestry.runs_before(name, step.name):
            self._say(path, f"the step `{name}` does not run before this one; add it to `needs`")

    @cached_property
    def _ancestry(self) -> Ancestry:
        return Ancestry(self._workflow)


def _misplaced(reads_with: Callable[[frozenset[str]], _Reads], place: TemplatePlace) -> list[str]:
    """Returns the variables that would be visible in another place, if nothing else is wrong."""
    try:
        reads = reads_with(TEMPLATE_VARIABLES)
    except ExpressionError:
        return []
    return sorted({read[0] for read in reads} - place.variables)
