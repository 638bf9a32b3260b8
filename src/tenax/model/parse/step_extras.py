"""The keys of a step that say how often it runs, how many at once and what follows a failure."""

from __future__ import annotations

import re
from typing import Any

from tenax.model.definition.workflow import Concurrency, OnFailure, Tolerance, Until
from tenax.model.parse.drafts import Reference
from tenax.model.parse.fields import Fields, is_template
from tenax.model.parse.findings import shorten

MOST_PARALLEL = 1_000_000
MOST_POLLS = 1_000_000_000
CONCURRENCY_KEYS = ("limit", "action", "key", "key_limit")
UNTIL_KEYS = ("condition", "delay", "max_polls", "deadline")
ON_FAILURE_KEYS = ("value", "step")

_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%", re.ASCII)
_DONE = Until("true")
"""Holds of every result; and its limits are the defaults."""
_FAN_OUT_ONLY = ("parallelism", "tolerate")
_ON_FAILURE_FORMS = "write continue, {value: ANY} or {step: NAME}"


def read_fan_out(fields: Fields) -> dict[str, Any]:
    """`for_each` and what goes with it. One that is wrong reads as an empty list: the step is a fan-out all the same."""
    if "for_each" not in fields:
        for key in _FAN_OUT_ONLY:
            if key in fields:
                fields.report(key, f"`{key}` is for the items of `for_each`, which this step does not have")
        return {}
    return {
        "for_each": _read_for_each(fields),
        "parallelism": fields.whole("parallelism", range(1, MOST_PARALLEL + 1), 1),
        "tolerate": _read_tolerance(fields),
    }


def _read_for_each(fields: Fields) -> list[Any] | str:
    given = fields.values["for_each"]
    if isinstance(given, list) or (isinstance(given, str) and is_template(given)):
        return given
    fields.expect("a list, or a template that gives one", "for_each")
    return []


def _read_tolerance(fields: Fields) -> Tolerance | None:
    if "tolerate" not in fields or fields.refuse_template("tolerate"):
        return None
    given = fields.values["tolerate"]
    if isinstance(given, str) and (share := _PERCENTAGE.fullmatch(given.strip())) and float(share[1]) <= 100:
        return Tolerance(percent=float(share[1]))
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return Tolerance(count=given)
    fields.expect(
        "how many items may fail: a whole number from 0, or a percentage from 0% to 100%", "tolerate"
    )
    return None


def read_concurrency(fields: Fields) -> Concurrency | None:
    """A number, or a mapping. A limit that is wrong reads as 1, so that the template beside it is looked at."""
    if "concurrency" not in fields:
        return None
    given = fields.values["concurrency"]
    if isinstance(given, int) and not isinstance(given, bool):
        return Concurrency(limit=_read_limit(fields, "concurrency"))
    if not isinstance(given, dict):
        if not fields.refuse_template("concurrency"):
            fields.expect(
                "how many may run at once: a whole number, or {limit, action, key, key_limit}", "concurrency"
            )
        return None
    own = Fields(given, (*fields.path, "concurrency"), fields.findings)
    return _read_concurrency_mapping(own)


def _read_concurrency_mapping(fields: Fields) -> Concurrency:
    found = len(fields.findings)
    fields.refuse_unknown(CONCURRENCY_KEYS, within="in `concurrency`")
    if "limit" not in fields:
        fields.miss("limit", "how many may run at once (with `key` and no `key_limit`: of each key)")
    limit, action, key = _read_limit(fields, "limit"), fields.name("action"), _read_key(fields)
    if "key_limit" not in fields:
        if key is None:
            return Concurrency(limit, action)
        return Concurrency(action=action, key=key, key_limit=limit)
    if "key" not in fields:
        fields.report("key_limit", "`key_limit` is for each value of `key`, which is not there")
    key_limit = _read_limit(fields, "key_limit")
    if len(fields.findings) == found and key_limit > limit:
        fields.report("key_limit", f"never reached: all keys together may have {limit}, by `limit`")
    return Concurrency(limit, action, key, key_limit)


def _read_limit(fields: Fields, key: str) -> int:
    return fields.whole(key, range(1, MOST_PARALLEL + 1), 1)


def _read_key(fields: Fields) -> str | None:
    given = fields.values.get("key")
    if "key" not in fields or (isinstance(given, str) and is_template(given)):
        return given
    fields.report(
        "key",
        'must be a template, such as "{{ input.customer }}", by which items differ; '
        "steps that share one limit name it by `action`",
    )
    return None


def read_until(fields: Fields) -> Until | None:
    """A condition, or a mapping with its limits. One that is wrong reads as one that always holds."""
    if "until" not in fields:
        return None
    if not isinstance(fields.values["until"], dict):
        if not isinstance(fields.values["until"], str):
            fields.expect("text: a condition, or {condition, delay, max_polls, deadline}", "until")
            return _DONE
        return Until(fields.text("until") or _DONE.condition)
    own = Fields(fields.values["until"], (*fields.path, "until"), fields.findings)
    own.refuse_unknown(UNTIL_KEYS, within="in `until`")
    if "condition" not in own:
        own.miss("condition", "what must hold of a result for the step to be done")
    return Until(
        condition=own.text("condition") or _DONE.condition,
        delay=own.duration("delay") or _DONE.delay,
        max_polls=_read_max_polls(own),
        deadline=own.duration("deadline"),
    )


def _read_max_polls(fields: Fields) -> int | None:
    given = fields.values.get("max_polls", _DONE.max_polls)
    if given == "unlimited":
        return None
    if isinstance(given, bool) or not isinstance(given, int):
        if not fields.refuse_template("max_polls"):
            fields.expect("a whole number from 1, or unlimited", "max_polls")
    elif given not in range(1, MOST_POLLS + 1):
        fields.report("max_polls", f"must be from 1 to {MOST_POLLS:,}, or unlimited, found {given}")
    else:
        return given
    return _DONE.max_polls


def read_on_failure(fields: Fields) -> tuple[OnFailure | None, Reference | None]:
    """What comes in the place of a failed step; and, where that is a step, the reference to it."""
    if "on_failure" not in fields:
        return None, None
    given, path = fields.values["on_failure"], (*fields.path, "on_failure")
    if given == "continue":
        return OnFailure("continue"), None
    if not isinstance(given, dict):
        hint = f"; a step is named by {{step: {shorten(given)}}}" if isinstance(given, str) else ""
        fields.report("on_failure", f"{_ON_FAILURE_FORMS}{hint}")
        return None, None
    own = Fields(given, path, fields.findings)
    own.refuse_unknown(ON_FAILURE_KEYS, within="in `on_failure`")
    if "value" in own and "step" in own:
        own.report("step", "`value` and `step` exclude each other: keep one")
    if "value" in own:
        return OnFailure("value", value=given["value"]), None
    if not given:
        own.findings.add(path, _ON_FAILURE_FORMS)
    if own.refuse_template("step") or (name := own.text("step")) is None:
        return None, None
    return OnFailure("step", step=name), Reference(name, (*path, "step"))
