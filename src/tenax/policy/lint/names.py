"""Looks at names: inputs that nothing reads, and names that are easily confused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tenax.policy.lint.rule import Fault, rule
from tenax.policy.lint.subject import LintSubject, texts_in

_WORDS_OF_TEMPLATES = frozenset(
    (
        "input",
        "steps",
        "item",
        "items",
        "secret",
        "env",
        "result",
        "error",
        "failure",
        "attempt",
        "execution_id",
        "receipt",
        "loop",
        "true",
        "false",
        "none",
    )
)
_WHOLE_INPUT = re.compile(r"\binput\b(?!\s*[.\[])")


@rule(
    "TX801",
    "warning",
    "an input that nothing reads",
    why="Whoever starts the workflow gives a value that changes nothing. Often a template has a slightly different name.",
    remedy="remove the input, or read it as `{{ input.NAME }}`",
    wrong="name: example\ninput: {day: {type: string}}\nworkflow:\n  - {step: load, type: http, url: 'http://a.test'}",
    right="name: example\ninput: {day: {type: string}}\nworkflow:\n  - {step: load, type: http, url: 'http://a.test/{{ input.day }}'}",
)
def unread_input(subject: LintSubject) -> Iterator[Fault]:
    texts = [
        text
        for key in ("workflow", "outputs", "defaults")
        for _, text in texts_in(subject.raw.get(key))
        if "input" in text
    ]
    if any(_WHOLE_INPUT.search(text) for text in texts):
        return  # the whole input is passed on
    for name in subject.workflow.inputs:
        read = re.compile(rf"\binput\s*(\.\s*{re.escape(name)}\b|\[\s*['\"]{re.escape(name)}['\"])")
        if not any(read.search(text) for text in texts):
            yield ("input", name), f"nothing reads the input {name!r}"


@rule(
    "TX802",
    "warning",
    "a step with the name of a variable",
    why="In templates `item`, `input` or `result` mean something else than the step. Readers mix them up.",
    remedy="give the step a name that says what it does",
    wrong="  - {step: item, type: http, url: 'http://a.test'}",
    right="  - {step: fetch_item, type: http, url: 'http://a.test'}",
)
def shadowing(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if not one.is_compensation and one.step.name.lower() in _WORDS_OF_TEMPLATES:
            yield one.at("step"), f"the step {one.name} has the name of a variable of templates"


@rule(
    "TX803",
    "warning",
    "two steps with nearly the same name",
    why="`load_data` and `load-data` are different steps. Whoever retries one at night may take the other.",
    remedy="give one of them another name",
    wrong="  - {step: load_data, type: http, url: 'http://a.test'}\n  - {step: load-data, type: http, url: 'http://b.test'}",
    right="  - {step: load_orders, type: http, url: 'http://a.test'}\n  - {step: load_items, type: http, url: 'http://b.test'}",
)
def near_namesakes(subject: LintSubject) -> Iterator[Fault]:
    known: dict[str, str] = {}
    for one in subject.steps:
        if one.is_compensation:
            continue
        plain = re.sub(r"[-_.\s]", "", one.step.name).lower()
        if plain in known:
            yield one.at("step"), f"the names {known[plain]!r} and {one.name} are nearly the same"
        known.setdefault(plain, one.step.name)


@rule(
    "TX804",
    "warning",
    "a compensation that is tried once",
    why="A compensation undoes what has happened. If its single attempt fails, the execution stays half undone.",
    remedy="give the compensation a `retry` policy",
    wrong="  - {step: book, type: http, method: PUT, url: 'http://a.test', compensate: {type: http, method: DELETE, url: 'http://a.test'}}",
    right="  - {step: book, type: http, method: PUT, url: 'http://a.test', compensate: {type: http, method: DELETE, url: 'http://a.test', retry: {max_attempts: 10}}}",
)
def single_undo(subject: LintSubject) -> Iterator[Fault]:
    for one in subject.steps:
        if one.is_compensation and one.runs_on_workers and not one.is_retried:
            yield one.path, f"{one.name} is tried once"
