"""Reads the steps of a file. Each mapping becomes a `Step`, which still refers to other steps by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tenax.model.definition.types import SERVER_TYPES, STEP_TYPES, StepType
from tenax.model.definition.vary import override_text
from tenax.model.definition.workflow import (
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    DEFAULT_TIMEOUT,
    Budget,
    Concurrency,
    OnFailure,
    Step,
    Until,
)
from tenax.model.parse.drafts import Reference, StepDefaults, StepDraft
from tenax.model.parse.keys.step_keys import BudgetKeys, ConcurrencyKeys, OnFailureKeys
from tenax.model.parse.keys.step_types import LATER_TYPES, OWN_KEYS, unknown_type_message
from tenax.model.parse.overrides import read_override
from tenax.model.parse.retry_fields import parse_retry
from tenax.model.parse.shape import read_mapping
from tenax.model.parse.workflow_file import (
    COMPENSATE_TYPES,
    COMPENSATIONS,
    STEP_KEYS,
    STEPS,
    DefaultsKeys,
    UntypedCompensation,
    UntypedStep,
    keys_of_types,
)
from tenax.model.policy import Patch
from tenax.model.source.findings import Findings, Path

_MOST_RETRY_VALUES = 2_000
"""The most values in one `retry`. This is far more than a policy needs, and few enough to check at once."""


def read_defaults(value: Mapping[str, Any], findings: Findings) -> StepDefaults:
    """Reads the workflow's `defaults`."""
    path: Path = ("defaults",)
    keys, _ = read_mapping(DefaultsKeys, value, path, findings)
    return StepDefaults(
        retry=read_retry(value, path, findings),
        timeout=keys.timeout or DEFAULT_TIMEOUT,
        queue=keys.queue or DEFAULT_QUEUE,
        queue_ttl=keys.queue_ttl,
        priority=DEFAULT_PRIORITY if keys.priority is None else keys.priority,
    )


def read_step(value: Any, path: Path, defaults: StepDefaults, findings: Findings) -> StepDraft | None:
    """Reads one element of `workflow`. Returns None if it has no valid name, but still checks the rest of it."""
    if not isinstance(value, dict):
        findings.add(path, "a step is a mapping that begins with `step: NAME`")
        return None
    step_type = _read_type(value, path, STEP_TYPES, findings)
    keys, wrong = read_mapping(STEPS[step_type] if step_type else UntypedStep, value, path, findings)
    if step_type is None:
        _refuse_unknown(value, path, findings)
    action = _read_action(keys, wrong, value, path, step_type, defaults, findings)
    name = keys.step if "step" not in wrong else None
    on_failure, fallback = _read_on_failure(keys.on_failure, path)
    # A step without a valid type stays in the draft, so that references to it are not reported as well.
    step = Step(
        name=name or "",
        type=step_type or "python",
        when=keys.when,
        goal=keys.goal,
        for_each=keys.for_each,
        parallelism=keys.parallelism,
        tolerate=keys.tolerate,
        until=Until(**dict(until)) if (until := getattr(keys, "until", None)) is not None else None,
        on_failure=on_failure,
        concurrency=_read_concurrency(getattr(keys, "concurrency", None)),
        budget=read_budget(getattr(keys, "budget", None)),
        compensate=_read_compensate(keys, value, (*path, "compensate"), name or "", defaults, findings),
        **action,
    )
    if name is None:
        return None
    needs, following = _references(value, "needs", path), _references(value, "next", path)
    return StepDraft(step, path, needs, following, fallback)


def _read_action(
    keys: Any,
    wrong: set[Any],
    value: Mapping[str, Any],
    path: Path,
    step_type: StepType | None,
    defaults: StepDefaults,
    findings: Findings,
) -> dict[str, Any]:
    """Reads what a step or a compensation does, and where and how often it runs."""
    retry = read_retry(value, path, findings)
    if step_type is None:  # Keeps the keys of any type, so that their templates can still be checked.
        spec = {key: value[key] for key in keys_of_types(STEP_TYPES) if key in value}
    else:
        spec = keys.spec(OWN_KEYS[step_type])
        if wrong.isdisjoint((*OWN_KEYS[step_type].key_names(), None)):
            retry = _read_vary(retry, step_type, spec, (*path, "retry", "vary"), findings)
    timeout = getattr(keys, "timeout", None)
    if step_type in SERVER_TYPES:
        return {"spec": spec, "retry": retry, "timeout": timeout}
    return {
        "spec": spec,
        "retry": retry,
        "timeout": timeout or defaults.timeout,
        "timeout_inherited": step_type == "action" and timeout is None,
        "queue": keys.queue or defaults.queue,
        "queue_ttl": keys.queue_ttl or defaults.queue_ttl,
        "priority": defaults.priority if keys.priority is None else keys.priority,
        "labels": keys.labels,
        "dependency": keys.dependency,
    }


def _read_vary(
    retry: Patch | None, step_type: StepType, spec: dict[str, Any], path: Path, findings: Findings
) -> Patch | None:
    """Reads the entries of `vary` like the step's own keys. For example, numbers in `headers` become text."""
    if not isinstance(retry, dict) or "vary" not in retry:
        return retry
    entries = [
        read_override(step_type, spec, json.loads(text), (*path, index), findings)
        for index, text in enumerate(retry["vary"])
    ]
    return {**retry, "vary": [override_text(entry) for entry in entries]}


def _read_compensate(
    keys: Any, value: Mapping[str, Any], path: Path, name: str, defaults: StepDefaults, findings: Findings
) -> Step | None:
    """Reads the compensation of a step, which gets the step's name."""
    if getattr(keys, "compensate", None) is None:
        return None
    own = value["compensate"]
    step_type = _read_type(own, path, COMPENSATE_TYPES, findings)
    shape = COMPENSATIONS[step_type] if step_type else UntypedCompensation
    undo, wrong = read_mapping(shape, own, path, findings)
    if step_type is None:
        _refuse_unknown_in_compensate(own, path, findings)
    action = _read_action(undo, wrong, own, path, step_type, defaults, findings)
    return Step(name=name, type=step_type or "python", **action)


def read_retry(value: Mapping[str, Any], path: Path, findings: Findings) -> Patch | None:
    """Reads the `retry` of one level, and adds the places to its findings."""
    if "retry" not in value:
        return None
    path = (*path, "retry")
    if findings.source.size(path) > _MOST_RETRY_VALUES:
        findings.add(path, f"more than {_MOST_RETRY_VALUES:,} values in one policy")
        return None
    patch, wrong = parse_retry(value["retry"], path)
    for place, message in wrong:
        findings.add(place, message)
    return patch


def _read_type(
    value: Mapping[str, Any], path: Path, known: tuple[StepType, ...], findings: Findings
) -> StepType | None:
    given = value.get("type")
    if (
        "type" not in value
    ):  # if `action` does not name it, the declaration of `type` reports that it is missing
        return "action" if "action" in value else None
    if not isinstance(given, str):
        findings.mismatch("text", given, (*path, "type"))
    elif given in known:
        return given
    elif given in STEP_TYPES:
        findings.add(
            (*path, "type"), f"a compensation is an action for a worker: write one of {', '.join(known)}"
        )
    else:
        findings.add(
            (*path, "type"), unknown_type_message(given, known) if given.strip() else "must not be empty"
        )
    return None


def _refuse_unknown(value: Mapping[str, Any], path: Path, findings: Findings) -> None:
    """Reports the keys of a step of unknown type that no type has. If a later version has the type, most keys are accepted."""
    later = value.get("type") in LATER_TYPES
    known = () if later else (*STEP_KEYS, *keys_of_types(STEP_TYPES))
    for key in value:
        if not later and key not in known:
            findings.add((*path, key), UntypedStep.unknown_key_message(key))


def _refuse_unknown_in_compensate(value: Mapping[str, Any], path: Path, findings: Findings) -> None:
    for key in value:
        if key not in UntypedCompensation.known() or key == "async":
            findings.add((*path, key), UntypedCompensation.unknown_key_message(key))


def _read_on_failure(keys: OnFailureKeys | None, path: Path) -> tuple[OnFailure | None, Reference | None]:
    """Returns what replaces a failed step. If that is a step, also returns the reference to it."""
    if keys is None:
        return None, None
    if "value" in keys.model_fields_set:
        return OnFailure("value", value=keys.value), None
    if keys.step is None:
        return OnFailure("continue"), None
    return OnFailure("step", step=keys.step), Reference(keys.step, (*path, "on_failure", "step"))


def _read_concurrency(keys: ConcurrencyKeys | None) -> Concurrency | None:
    """Reads a limit on concurrency. If there is a `key` and no `key_limit`, the limit is for each value of the key."""
    if keys is None:
        return None
    if keys.key is not None and keys.key_limit is None:
        return Concurrency(action=keys.action, key=keys.key, key_limit=keys.limit)
    return Concurrency(keys.limit, keys.action, keys.key, keys.key_limit)


def read_budget(keys: BudgetKeys | None) -> Budget | None:
    return None if keys is None else Budget(keys.cost_usd, keys.tokens)


def _references(value: Mapping[str, Any], key: str, path: Path) -> tuple[Reference, ...]:
    """Returns the names of steps in `needs` or `next`, each with its place. Wrong values were reported before."""
    given = value.get(key, [])
    references: list[Reference] = []
    for index, element in enumerate(given if isinstance(given, list) else [given]):
        name, place = element, (*path, key, index) if isinstance(given, list) else (*path, key)
        if key == "next" and isinstance(element, dict):
            name, place = element.get("step"), (*place, "step")
        if isinstance(name, str) and (name.strip() or key == "needs"):
            references.append(Reference(name, place))
    return tuple(references)
