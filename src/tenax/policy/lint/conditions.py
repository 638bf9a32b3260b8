"""Looks at conditions and at the rules of a policy: those that are always the same, and those that never match."""

from __future__ import annotations

from collections.abc import Iterator

from tenax.model.source.findings import Path
from tenax.policy.expressions.compiler import ExpressionError
from tenax.policy.expressions.conditions import compile_condition
from tenax.policy.expressions.templates import compile_template
from tenax.policy.expressions.values import EvaluationError, truth_value
from tenax.policy.lint.finding import Removal
from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintedStep, LintSubject


@rule(
    "TX401",
    "warning",
    "a condition that is always the same",
    why="A condition that reads nothing gives the same answer for every failure.",
    remedy="remove it, or let it read what it should look at",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, stop_when: '1 > 2'}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, stop_when: 'status_code == 404'}}",
)
def constant(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        for path, text in _conditions(one):
            answer = _constant_value(text)
            if answer is not None:
                yield path, f"`{text.strip()}` of {one.name} is always {str(answer).lower()}"


@rule(
    "TX402",
    "warning",
    "a rule that never matches",
    why="The first rule that matches decides. What an earlier rule takes never reaches a later one.",
    remedy="put the special rule before the general one, or remove it",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 9, rules: [{on: [http_409, http_429], retry: true}, {on: [http_429], initial_delay: 1m}]}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 9, rules: [{on: [http_429], initial_delay: 1m}, {on: [http_409, http_429], retry: true}]}}",
)
def shadowed(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        taken: dict[str, int] = {}
        for index, own in enumerate(one.policy.rules):
            if own.on and all(name in taken for name in own.on):
                first = min(taken[name] for name in own.on)
                yield (
                    one.policy_path("rules", index),
                    f"rule {index} of {one.name} never matches: rule {first} takes {_listed(own.on)} before it",
                )
            for name in own.on:
                taken.setdefault(name, index)


@rule(
    "TX403",
    "error",
    "a failure that is both retried and never retried",
    why="`never_on` is looked at before `retry_on`, so the entry in `retry_on` has no effect.",
    remedy="remove it from one of the two lists",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, retry_on: [http_409, timeout], never_on: [http_409]}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, retry_on: [timeout], never_on: [http_409]}}",
)
def contradicting_lists(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        for index, name in enumerate(one.policy.retry_on):
            if name in one.policy.never_on:
                yield (
                    one.policy_path("retry_on", index),
                    f"`{name}` of {one.name} is in `never_on` too, which comes first",
                )


@rule(
    "TX404",
    "error",
    "a rule for what `never_on` refuses",
    why="`never_on` ends the step, whatever a rule says about delays and attempts.",
    remedy="remove the name from `never_on`, or the rule",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 5, never_on: [http_429], rules: [{on: [http_429], initial_delay: 1m}]}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 5, never_on: [http_404], rules: [{on: [http_429], initial_delay: 1m}]}}",
)
def refused_rule(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        for index, own in enumerate(one.policy.rules):
            if own.on and own.retry is not False and set(own.on) <= set(one.policy.never_on):
                yield (
                    one.policy_path("rules", index),
                    f"rule {index} of {one.name} has no effect: `never_on` has {_listed(own.on)}",
                )


@rule(
    "TX405",
    "warning",
    "lists that `retry_when` overrules",
    why="`retry_when` decides instead of the class and of `retry_on`. Where both are given, `retry_on` has no effect.",
    remedy="remove `retry_on`, or write its names into `retry_when`",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, retry_when: 'status_code == 503', retry_on: [http_409]}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, retry_when: 'status_code in [409, 503]'}}",
)
def overruled(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.policy.retry_when is not None and one.policy.retry_on and "retry_on" in one.given:
            path = one.policy_path("retry_on")
            yield path, f"`retry_on` of {one.name} has no effect beside `retry_when`"


@rule(
    "TX406",
    "warning",
    "a status code where there is none",
    why="Only `http` steps have a status code. Elsewhere it is None, and a comparison with a number is false.",
    remedy="compare `failure.reason`, `failure.exit_code` or `error`",
    wrong="  - {step: load, type: process, command: ['true'], retry: {max_attempts: 3, retry_when: 'status_code >= 500'}}",
    right="  - {step: load, type: process, command: ['true'], retry: {max_attempts: 3, retry_when: 'failure.exit_code == 75'}}",
)
def no_status_code(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.step.type not in ("process", "agent"):
            continue
        for path, text in _conditions(one):
            if any(read[:1] == ("status_code",) for read in _reads(text)):
                yield path, f"{one.name} is a {one.step.type} step, which has no `status_code`"


@rule(
    "TX407",
    "warning",
    "a name twice in one list",
    why="The second has no effect.",
    remedy="remove one of them",
    wrong="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, retry_on: [http_409, http_409]}}",
    right="  - {step: load, type: http, url: 'http://a.test', retry: {max_attempts: 3, retry_on: [http_409]}}",
)
def twice(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        lists: list[tuple[Path, tuple[str, ...]]] = [
            (("retry_on",), one.policy.retry_on),
            (("never_on",), one.policy.never_on),
        ]
        lists += [(("rules", index, "on"), own.on) for index, own in enumerate(one.policy.rules)]
        for keys, names in lists:
            for index, name in enumerate(names):
                if name in names[:index]:
                    path = one.policy_path(*keys, index)
                    yield path, f"`{name}` stands twice in `{keys[-1]}` of {one.name}", Removal(path)


def _conditions(one: LintedStep) -> Iterator[tuple[Path, str]]:
    """Yields the conditions of a step, each with its place."""
    for name in ("retry_when", "stop_when"):
        text = getattr(one.policy, name)
        if text is not None and name in one.given:
            yield one.policy_path(name), text
    for index, own in enumerate(one.policy.rules):
        if own.when is not None:
            yield one.policy_path("rules", index, "when"), own.when
    if one.step.when is not None:
        yield one.at("when"), one.step.when
    if one.step.until is not None:
        yield one.at("until"), one.step.until.condition


def _constant_value(text: str) -> bool | None:
    """Returns the value of a condition that reads nothing. Returns None for others."""
    braced = text if text.strip().startswith("{{") else f"{{{{ {text} }}}}"
    try:
        template = compile_template(braced, variables=frozenset())
        return truth_value(template.render({}).value) if template.is_static else _of_expression(text)
    except (ExpressionError, EvaluationError):
        return None


def _of_expression(text: str) -> bool | None:
    try:
        condition = compile_condition(text)
        return None if condition.reads else condition.holds({})
    except (ExpressionError, EvaluationError):
        return None


def _reads(text: str) -> frozenset[tuple[str, ...]]:
    try:
        return compile_condition(text).reads
    except ExpressionError:
        return frozenset()


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
