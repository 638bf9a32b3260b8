"""The keys that every step has, whatever its type; and the defaults that a workflow sets for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tenax.model.definition.vary import override_text, read_override
from tenax.model.definition.workflow import (
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    DEFAULT_TIMEOUT,
    PRIORITIES,
    SERVER_TYPES,
    STEP_TYPES,
    Step,
    StepType,
)
from tenax.model.parse.drafts import Reference, StepDefaults, StepDraft
from tenax.model.parse.fields import Fields
from tenax.model.parse.findings import NOT_YET, Findings, Path, shorten, suggest
from tenax.model.parse.retry_fields import parse_retry
from tenax.model.parse.step_extras import read_concurrency, read_fan_out, read_on_failure, read_until
from tenax.model.parse.step_types import LATER_TYPES, SPEC_KEYS, read_spec, refuse_type
from tenax.model.policy import Patch

WORKER_KEYS = ("timeout", "queue", "queue_ttl", "priority", "labels", "dependency")
"""How a worker is found, and how long it may take."""
STEP_KEYS = (
    "step",
    "type",
    "needs",
    "next",
    "when",
    "for_each",
    "parallelism",
    "tolerate",
    "goal",
    *WORKER_KEYS,
    "concurrency",
    "retry",
    "until",
    "on_failure",
    "compensate",
)
LATER_STEP_KEYS = ("budget",)
DEFAULTS_KEYS = ("retry", "timeout", "queue", "queue_ttl", "priority")
COMPENSATE_KEYS = ("type", *WORKER_KEYS, "retry")
COMPENSATE_TYPES: tuple[StepType, ...] = tuple(name for name in STEP_TYPES if name not in SERVER_TYPES)

_MOST_RETRY_VALUES = 2_000
"""In one `retry`: far beyond what anyone writes, and little enough to look through at once."""


def refused_keys(step_type: StepType) -> dict[str, str]:
    """The keys of every step that one of this type cannot have, and why."""
    if step_type not in SERVER_TYPES:
        return {}
    why = "the server itself carries it out, without a worker"
    refused = dict.fromkeys((*WORKER_KEYS, "concurrency", "until"), why)
    if step_type == "workflow":
        del refused["timeout"]
    else:
        refused["compensate"] = "it does nothing that could be undone"
    if step_type == "wait":
        refused["timeout"] += "; how long it waits at most is its `deadline`"
    return refused


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
    step_type = _read_type(fields, STEP_TYPES)
    _refuse_unknown(fields, step_type)
    action = _read_action(fields, step_type, defaults)
    on_failure, fallback = read_on_failure(fields)
    needs, following = _read_references(fields, "needs"), _read_references(fields, "next")
    # A step without a usable type stays in the draft, so that what refers to it is not reported as well.
    step = Step(
        name=name or "",
        type=step_type or "python",
        when=_read_when(fields),
        goal=fields.flag("goal", default=False),
        until=read_until(fields),
        on_failure=on_failure,
        compensate=_read_compensate(fields, name or "", step_type, defaults),
        concurrency=read_concurrency(fields) if step_type not in SERVER_TYPES else None,
        **action,
        **read_fan_out(fields),
    )
    if name is None:
        return None
    return StepDraft(step, path, tuple(needs), tuple(following), fallback)


def _read_action(fields: Fields, step_type: StepType | None, defaults: StepDefaults) -> dict[str, Any]:
    """What it does, where and how often: the same for a step and for a compensation."""
    found = len(fields.findings)
    spec = read_spec(step_type, fields) if step_type is not None else _unread_spec(fields)
    sound = len(fields.findings) == found
    retry = read_retry(fields)
    if step_type is not None and sound:
        retry = _read_vary(fields, retry, step_type, spec)
    if step_type in SERVER_TYPES:
        timeout = fields.duration("timeout") if step_type == "workflow" else None
        return {"spec": spec, "retry": retry, "timeout": timeout}
    return {
        "spec": spec,
        "retry": retry,
        "timeout": fields.duration("timeout") or defaults.timeout,
        "queue": fields.name("queue", defaults.queue),
        "queue_ttl": fields.duration("queue_ttl") or defaults.queue_ttl,
        "priority": fields.whole("priority", PRIORITIES, defaults.priority),
        "labels": fields.text_mapping("labels"),
        "dependency": fields.text("dependency"),
    }


def _read_vary(
    fields: Fields, retry: Patch | None, step_type: StepType, spec: dict[str, Any]
) -> Patch | None:
    """Each entry in the form of the step's own keys: numbers in `headers` are text there too."""
    if not isinstance(retry, dict) or "vary" not in retry:
        return retry
    path = (*fields.path, "retry", "vary")
    entries = [
        read_override(step_type, spec, json.loads(text), (*path, index), fields.findings)
        for index, text in enumerate(retry["vary"])
    ]
    return {**retry, "vary": [override_text(entry) for entry in entries]}


def _read_compensate(
    fields: Fields, name: str, of_type: StepType | None, defaults: StepDefaults
) -> Step | None:
    """An action by the name of the step that it undoes."""
    if "compensate" not in fields or (of_type is not None and "compensate" in refused_keys(of_type)):
        return None
    own = fields.below("compensate")
    if own is None:
        return None
    step_type = _read_type(own, COMPENSATE_TYPES)
    _refuse_in_compensate(own, step_type)
    return Step(name=name, type=step_type or "python", **_read_action(own, step_type, defaults))


def _refuse_in_compensate(fields: Fields, step_type: StepType | None) -> None:
    if step_type is not None:
        specs = tuple(key for key in SPEC_KEYS[step_type] if key != "async")
    else:
        specs = _spec_keys(STEP_TYPES)
    known = (*COMPENSATE_KEYS, *specs)
    for key in fields.values:
        if key == "async":
            fields.report(key, "a compensation cannot be async: what undoes must have ended with its answer")
        elif key in STEP_KEYS and key not in known:
            fields.report(
                key, f"`{key}` cannot stand in `compensate`: it is one action, and no step of the graph"
            )
        elif key not in known:
            fields.report(key, f"unknown key `{shorten(key)}` in `compensate`{suggest(key, known)}")


def _spec_keys(types: Sequence[StepType]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for name in types for key in SPEC_KEYS[name]))


def _unread_spec(fields: Fields) -> dict[str, Any]:
    """Of a step whose type is not known, the keys that any type has: their templates can be looked at all the same."""
    return {key: fields.values[key] for key in _spec_keys(STEP_TYPES) if key in fields}


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


def _read_when(fields: Fields) -> str | None:
    given = fields.values.get("when")
    if isinstance(given, bool):
        return "true" if given else "false"
    return fields.text("when")


def _read_type(fields: Fields, known: tuple[StepType, ...]) -> StepType | None:
    if "type" not in fields:
        fields.miss("type", f"write one of {', '.join(known)}")
        return None
    name = fields.text("type")
    for step_type in known:
        if name == step_type:
            return step_type
    if name in STEP_TYPES:
        fields.report("type", f"a compensation is an action for a worker: write one of {', '.join(known)}")
    elif name is not None:
        fields.report("type", refuse_type(name, known))
    return None


def _refuse_unknown(fields: Fields, step_type: StepType | None) -> None:
    if step_type is not None:
        _refuse_foreign(fields, step_type)
    elif fields.values.get("type") in LATER_TYPES:
        for key in LATER_STEP_KEYS:
            if key in fields:
                fields.report(key, f"`{key}` {NOT_YET}")
    else:
        every = (*STEP_KEYS, *_spec_keys(STEP_TYPES))
        fields.refuse_unknown(every, within="in a step", later=LATER_STEP_KEYS)


def _refuse_foreign(fields: Fields, step_type: StepType) -> None:
    refused = refused_keys(step_type)
    known = (*(key for key in STEP_KEYS if key not in refused), *SPEC_KEYS[step_type])
    for key in fields.values:
        if key in known:
            continue
        owners = [other for other, keys in SPEC_KEYS.items() if key in keys]
        if key in LATER_STEP_KEYS:
            fields.report(key, f"`{key}` {NOT_YET}")
        elif key in refused:
            fields.report(key, f"`{key}` cannot stand in a {step_type} step: {refused[key]}")
        elif owners:
            fields.report(key, f"`{key}` belongs to {' and '.join(owners)} steps; this one is {step_type}")
        else:
            hint = suggest(key, (*known, *LATER_STEP_KEYS))
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
