"""The keys that every step has, whatever its type; and the defaults that a workflow sets for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tenax.model.definition import (
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    DEFAULT_TIMEOUT,
    PRIORITIES,
    STEP_TYPES,
    Step,
    StepType,
)
from tenax.model.fields import NOT_YET, Fields
from tenax.model.findings import Findings, Path, shorten, suggest
from tenax.model.policy import Patch
from tenax.model.retry_fields import parse_retry
from tenax.model.step_types import LATER_SPEC_KEYS, LATER_TYPES, SPEC_KEYS, read_spec, refuse_type

STEP_KEYS = (
    "step",
    "type",
    "needs",
    "next",
    "when",
    "goal",
    "timeout",
    "queue",
    "queue_ttl",
    "priority",
    "labels",
    "dependency",
    "retry",
)
LATER_STEP_KEYS = ("for_each", "parallelism", "tolerate", "until", "on_failure", "compensate", "budget")
DEFAULTS_KEYS = ("retry", "timeout", "queue", "queue_ttl", "priority")

_MOST_RETRY_VALUES = 2_000
"""In one `retry`: far beyond what anyone writes, and little enough to look through at once."""


@dataclass(frozen=True, slots=True)
class StepDefaults:
    """What a step gets where it does not say otherwise."""

    retry: Patch | None = None
    timeout: float = DEFAULT_TIMEOUT
    queue: str = DEFAULT_QUEUE
    queue_ttl: float | None = None
    priority: int = DEFAULT_PRIORITY


@dataclass(frozen=True, slots=True)
class Reference:
    """A step named in another's `needs` or `next`, and where."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class StepDraft:
    """A step as it stands in the file, before its references are followed."""

    step: Step
    path: Path
    needs: tuple[Reference, ...]
    next: tuple[Reference, ...]


def read_defaults(fields: Fields) -> StepDefaults:
    """The workflow's `defaults`."""
    fields.refuse_unknown(DEFAULTS_KEYS, within="in `defaults`")
    return StepDefaults(
        retry=read_retry(fields),
        timeout=fields.duration("timeout") or DEFAULT_TIMEOUT,
        queue=fields.name("queue", DEFAULT_QUEUE) or DEFAULT_QUEUE,
        queue_ttl=fields.duration("queue_ttl"),
        priority=fields.whole("priority", PRIORITIES, DEFAULT_PRIORITY),
    )


def read_step(value: Any, path: Path, defaults: StepDefaults, findings: Findings) -> StepDraft | None:
    """One element of `workflow`. None where it has no usable name or type; everything else in it is still checked."""
    if not isinstance(value, dict):
        findings.add(path, "a step is a mapping that begins with `step: NAME`")
        return None
    fields = Fields(value, path, findings)
    if "step" not in fields:
        fields.miss("step", "every step has a name (`step: NAME`)")
    name = fields.name("step")
    step_type = _read_type(fields)
    _refuse_unknown(fields, step_type)
    common = _read_common(fields, defaults)
    needs, following = _read_references(fields, "needs"), _read_references(fields, "next")
    spec = read_spec(step_type, fields) if step_type is not None else _unread_spec(fields)
    if name is None:
        return None
    # A step without a usable type stays in the draft, so that what refers to it is not reported as well.
    step = Step(name=name, type=step_type or "python", spec=spec, **common)
    return StepDraft(step, path, tuple(needs), tuple(following))


def _unread_spec(fields: Fields) -> dict[str, Any]:
    """Of a step whose type is not known, the keys that any type has: their templates can be looked at all the same."""
    return {key: fields.values[key] for keys in SPEC_KEYS.values() for key in keys if key in fields}


def read_retry(fields: Fields) -> Patch | None:
    """One level's `retry`, its findings put in their places."""
    if "retry" not in fields:
        return None
    path = (*fields.path, "retry")
    if fields.findings.source.size(path) > _MOST_RETRY_VALUES:
        fields.report("retry", f"more than {_MOST_RETRY_VALUES:,} values in one policy")
        return None
    patch, wrong = parse_retry(fields.values["retry"], path)
    for place, message in wrong:
        fields.findings.add(place, message)
    return patch


def _read_common(fields: Fields, defaults: StepDefaults) -> dict[str, Any]:
    return {
        "when": _read_when(fields),
        "goal": fields.flag("goal", default=False),
        "timeout": fields.duration("timeout") or defaults.timeout,
        "queue": fields.name("queue", defaults.queue),
        "queue_ttl": fields.duration("queue_ttl") or defaults.queue_ttl,
        "priority": fields.whole("priority", PRIORITIES, defaults.priority),
        "labels": fields.text_mapping("labels"),
        "dependency": fields.text("dependency"),
        "retry": read_retry(fields),
    }


def _read_when(fields: Fields) -> str | None:
    given = fields.values.get("when")
    if isinstance(given, bool):
        return "true" if given else "false"
    return fields.text("when")


def _read_type(fields: Fields) -> StepType | None:
    if "type" not in fields:
        fields.miss("type", f"write one of {', '.join(STEP_TYPES)}")
        return None
    name = fields.text("type")
    for step_type in STEP_TYPES:
        if name == step_type:
            return step_type
    if name is not None:
        fields.report("type", refuse_type(name, STEP_TYPES))
    return None


def _refuse_unknown(fields: Fields, step_type: StepType | None) -> None:
    if step_type is not None:
        _refuse_foreign(fields, step_type)
    elif fields.values.get("type") in LATER_TYPES:
        for key in LATER_STEP_KEYS:
            if key in fields:
                fields.report(key, f"`{key}` {NOT_YET}")
    else:
        every = (*STEP_KEYS, *(key for keys in SPEC_KEYS.values() for key in keys))
        fields.refuse_unknown(every, within="in a step", later=(*LATER_STEP_KEYS, *LATER_SPEC_KEYS["http"]))


def _refuse_foreign(fields: Fields, step_type: StepType) -> None:
    known = (*STEP_KEYS, *SPEC_KEYS[step_type])
    later = (*LATER_STEP_KEYS, *LATER_SPEC_KEYS[step_type])
    for key in fields.values:
        if key in known:
            continue
        owners = [other for other, keys in SPEC_KEYS.items() if key in keys]
        if key in later:
            fields.report(key, f"`{key}` {NOT_YET}")
        elif owners:
            fields.report(key, f"`{key}` belongs to {' and '.join(owners)} steps; this one is {step_type}")
        else:
            hint = suggest(key, (*known, *later))
            fields.report(
                key, f"unknown key `{shorten(key)}` in {_article(step_type)} {step_type} step{hint}"
            )


def _article(word: str) -> str:
    return "an" if word == "http" else "a"


def _read_references(fields: Fields, key: str) -> list[Reference]:
    """Names of steps: one or a list; `next` takes `{step: NAME}` for each too."""
    if key not in fields:
        return []
    given = fields.values[key]
    references: list[Reference] = []
    for index, element in enumerate(given if isinstance(given, list) else [given]):
        below: tuple[int, ...] = (index,) if isinstance(given, list) else ()
        if key == "next" and isinstance(element, dict):
            references.extend(
                _read_next_mapping(Fields(element, (*fields.path, key, *below), fields.findings))
            )
        elif isinstance(element, str):
            references.append(Reference(element, (*fields.path, key, *below)))
        else:
            wanted = (
                "text: the name of a step" if key == "needs" else "text: the name of a step, or {step: NAME}"
            )
            fields.expect(wanted, key, *below)
    return references


def _read_next_mapping(fields: Fields) -> list[Reference]:
    for key in fields.values:
        if key == "when":
            fields.report(key, "`when` stands in the step itself, not in `next`")
        elif key != "step":
            fields.report(key, f"unknown key `{shorten(key)}` in `next`: write {{step: NAME}}")
    if "step" not in fields:
        fields.miss("step", "write {step: NAME}")
    name = fields.text("step")
    return [Reference(name, (*fields.path, "step"))] if name is not None else []
