"""Prepares what pages show of the steps of a workflow: their policies, in words, as a table and drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from tenax.drawing.figures.delay_curve import draw_delay_curve
from tenax.drawing.graph import drawing_of
from tenax.drawing.graph_summary import for_page
from tenax.drawing.graph_words import words_of
from tenax.drawing.links import Target
from tenax.drawing.policy_words import changes_schedule, policy_sentences, policy_words, rule_words
from tenax.drawing.svg import draw_graph
from tenax.model.definition.workflow import COMPENSATION
from tenax.model.durations import duration_fields, format_duration
from tenax.model.policy import Policy, Rule, rule_as_dict
from tenax.policy.plan import Plan, PlannedAction
from tenax.policy.retry.delay_table import delay_table, within_rule
from tenax.policy.retry.resolve import CompiledRule
from tenax.ui.words import query

SHOWN_ATTEMPTS = 20
"""Attempts of a policy that are drawn and listed."""
STEPS_ON_PAGE = 20  # steps of a page of policies
LISTED_STEPS = 200  # steps that the table of a workflow lists
_DURATIONS = duration_fields(Policy) | duration_fields(Rule)
_APART = frozenset(("rules", "vary", "forgives_only_lost"))
"""The fields of a policy that are shown apart from the table, or are not for people."""


@dataclass(frozen=True, slots=True)
class StepSummary:
    """Is a step as the table of a workflow shows it."""

    name: str
    words: str
    needs: Sequence[str]
    policy: str


@dataclass(frozen=True, slots=True)
class RuleInFull:
    name: str
    matches: str
    words: str
    fields: Sequence[tuple[str, str]]
    curve: Markup | None
    """The schedule if every failure matches the rule. None: it is that of the policy, or there is none."""


@dataclass(frozen=True, slots=True)
class PolicyInFull:
    name: str
    """The name of its step."""
    compensates: bool
    words: Sequence[str]
    """Its type and what else there is to say in a word."""
    sentences: Sequence[str]
    curve: Markup
    rows: Sequence[Any]
    fields: Sequence[tuple[str, str, bool]]
    """Each field with its value, and whether that is another one than the default."""
    rules: Sequence[RuleInFull]
    vary: Sequence[Any]


def graph_of(plan: Plan, name: str, version: str) -> Markup:
    """Draws the graph. Each step leads to its policy."""

    def link(target: Target) -> str | None:
        return None if target.step is None else policy_address(name, version, target.step)

    drawing = for_page(drawing_of(plan.workflow, goals=plan.goals))
    return Markup(draw_graph(drawing, link=link))  # noqa: S704 -- the drawing escapes its texts


def policy_address(name: str, version: str, step: str) -> str:
    return f"/workflows/{quote(name, safe='')}/policies{query(version=version, step=step)}#step-{quote(step, safe='')}"


def summaries_of(plan: Plan) -> list[StepSummary]:
    """Returns the steps in the order of the file, at most `LISTED_STEPS`."""
    return [
        StepSummary(
            name=step.name,
            words=", ".join(words_of(step, None, goal=step.name in plan.goals)),
            needs=step.needs,
            policy=policy_words(plan.steps[step.name].policy.policy),
        )
        for step in plan.workflow.steps[:LISTED_STEPS]
    ]


def page_of_step(plan: Plan, step: str) -> int:
    """Returns the page of policies that has a step, from 1."""
    names = [one.name for one in plan.workflow.steps]
    return 1 + names.index(step) // STEPS_ON_PAGE if step in names else 1


def policies_of(plan: Plan, page: int) -> Iterator[PolicyInFull]:
    """Yields the policies of the steps of a page, each followed by that of its compensation."""
    for step in plan.workflow.steps[(page - 1) * STEPS_ON_PAGE : page * STEPS_ON_PAGE]:
        planned = plan.steps[step.name]
        yield _in_full(planned, step.name, tuple(words_of(step, None, goal=step.name in plan.goals)))
        if planned.compensation is not None:
            yield _in_full(planned.compensation, COMPENSATION + step.name, (planned.compensation.step.type,))


def _in_full(action: PlannedAction, name: str, words: Sequence[str]) -> PolicyInFull:
    policy = action.policy.policy
    rows = delay_table(policy, limit=SHOWN_ATTEMPTS)
    return PolicyInFull(
        name=name.removeprefix(COMPENSATION),
        compensates=name.startswith(COMPENSATION),
        words=words,
        sentences=tuple(policy_sentences(policy)),
        curve=_curve(policy),
        rows=rows,
        fields=tuple(_fields_of(policy)),
        rules=tuple(_rule(policy, rule) for rule in action.policy.rules),
        vary=tuple(json.loads(entry) for entry in policy.vary),
    )


def _rule(policy: Policy, rule: CompiledRule) -> RuleInFull:
    within = within_rule(policy, rule)
    differs = changes_schedule(policy, within)
    is_retried = within.retryable and within.max_attempts != 1
    own = rule_as_dict(rule.rule)
    return RuleInFull(
        name=rule.name,
        matches=rule_words(rule),
        words=policy_words(within) if differs else "the same attempts and delays",
        fields=tuple(
            (name, _value(name, value)) for name, value in own.items() if name not in ("on", "when")
        ),
        curve=_curve(within) if differs and is_retried else None,
    )


def _curve(policy: Policy) -> Markup:
    return Markup(draw_delay_curve(delay_table(policy, limit=SHOWN_ATTEMPTS)))  # noqa: S704 -- as above


def _fields_of(policy: Policy) -> Iterator[tuple[str, str, bool]]:
    default = Policy()
    for field in fields(Policy):
        if field.name in _APART:
            continue
        value = getattr(policy, field.name)
        yield field.name, _value(field.name, value), value != getattr(default, field.name)


def _value(name: str, value: Any) -> str:
    """Writes the value of a field as a file has it."""
    if name == "max_attempts" and value is None:
        return "unlimited"
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if name in _DURATIONS:
        return format_duration(value)
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
