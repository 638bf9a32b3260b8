"""Declares the keys that steps of any type may have: how they are read, their JSON Schema, and their descriptions."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, ConfigDict

from tenax.model.definition.types import STEP_TYPES
from tenax.model.definition.workflow import DEFAULT_PRIORITY, DEFAULT_QUEUE, PRIORITIES, Tolerance, Until
from tenax.model.parse.field_types import (
    ANY,
    DURATION,
    FLAG,
    NAME,
    NAME_SCHEMA,
    TEMPLATE,
    TEXT,
    TEXT_MAPPING,
    TEXT_SCHEMA,
    is_number,
    is_template,
    is_whole,
    refuse_template,
    text,
    whole,
)
from tenax.model.parse.retry_fields import RETRY
from tenax.model.parse.shape import (
    JsonSchema,
    KeysRule,
    Mismatch,
    Shape,
    ShortForms,
    ValueReader,
    any_of,
    declare,
    exclusive,
    faults,
    only_with,
)
from tenax.model.source.findings import shorten

MOST_PARALLEL = 1_000_000
MOST_POLLS = 1_000_000_000
_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%", re.ASCII)
_PERCENTAGE_PATTERN = r"^\s*([0-9]{1,2}(\.[0-9]{1,6})?|100(\.0{1,6})?|0[0-9]{2}(\.[0-9]{1,6})?)\s*%\s*$"
_TOLERANCE: JsonSchema = {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": _PERCENTAGE_PATTERN}]
}
_DONE = Until("true")
"""An `until` that holds for every result. Its limits are the defaults."""
_ON_FAILURE_FORMS = "write continue, {value: ANY} or {step: NAME}"


def _plain_name(value: Any) -> str:
    refuse_template(value)
    return text(value)


def _when(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else text(value)


def _for_each(value: Any) -> Any:
    if not isinstance(value, list) and not is_template(value):
        raise Mismatch("a list, or a template that gives one")
    return value


def _tolerance(value: Any) -> Tolerance:
    refuse_template(value)
    if isinstance(value, str) and (share := _PERCENTAGE.fullmatch(value.strip())) and float(share[1]) <= 100:
        return Tolerance(percent=float(share[1]))
    if is_whole(value) and value >= 0:
        return Tolerance(count=value)
    raise Mismatch("how many items may fail: a whole number from 0, or a percentage from 0% to 100%")


def _max_polls(value: Any) -> int | None:
    if value == "unlimited":
        return None
    refuse_template(value)
    if not is_whole(value):
        raise Mismatch("a whole number from 1, or unlimited")
    if not 1 <= value <= MOST_POLLS:
        raise ValueError(f"must be from 1 to {MOST_POLLS:,}, or unlimited, found {value}")
    return int(value)


class UntilKeys(Shape):
    within = "in `until`"

    condition: str = declare(
        "the condition that the result must meet for the step to be done",
        TEXT,
        needed="what must hold of a result for the step to be done",
        stand_in=_DONE.condition,
    )
    delay: float = declare(
        "the delay before the step runs again", DURATION, default=_DONE.delay, extra={"default": "5s"}
    )
    max_polls: int | None = declare(
        "how often the step may run again",
        ValueReader(
            _max_polls,
            {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST_POLLS}, {"const": "unlimited"}]},
        ),
        default=_DONE.max_polls,
    )
    deadline: float | None = declare("the longest time since the first enqueue", DURATION)


def _expand_until(value: Any) -> Any:
    if isinstance(value, str):
        return {"condition": value}
    if not isinstance(value, dict):
        raise Mismatch("text: a condition, or {condition, delay, max_polls, deadline}")
    return value


def _limit_key(value: Any) -> str:
    if not is_template(value):
        raise ValueError(
            'must be a template, such as "{{ input.customer }}", by which items differ; '
            "steps that share one limit name it by `action`"
        )
    return str(value)


_LIMIT = whole(1, MOST_PARALLEL)
_LIMIT_WORDS = "how many may run at once (with `key` and no `key_limit`: of each key)"


class ConcurrencyKeys(Shape):
    within = "in `concurrency`"
    together: ClassVar[tuple[KeysRule, ...]] = (
        only_with("key_limit", "key", "`key_limit` is for each value of `key`, which is not there"),
    )

    limit: int = declare(_LIMIT_WORDS, _LIMIT, needed=_LIMIT_WORDS, stand_in=1)
    action: str | None = declare(
        "a name. All steps that use this name are counted together, in all workflows. Without it, only this step of this workflow is counted",
        NAME,
    )
    key: str | None = declare(
        "a template. Items for which it gives the same text are counted together. It is evaluated when the step starts, for each item",
        ValueReader(_limit_key, TEMPLATE),
    )
    key_limit: int | None = declare(
        "how many attempts of each key may run at once, beside the `limit` of all", _LIMIT
    )


def _reachable(keys: ConcurrencyKeys | None) -> ConcurrencyKeys | None:
    if keys is not None and keys.key_limit is not None and keys.key_limit > keys.limit:
        message = f"never reached: all keys together may have {keys.limit}, by `limit`"
        raise faults([(("key_limit",), ValueError(message), keys.key_limit)])
    return keys


def _expand_concurrency(value: Any) -> Any:
    refuse_template(value)
    if is_whole(value):
        return {"limit": value}
    if not isinstance(value, dict):
        raise Mismatch("how many may run at once: a whole number, or {limit, action, key, key_limit}")
    return value


class OnFailureKeys(Shape):
    """Declares what replaces a step that has failed. Without a key nothing replaces it, and the steps that need it go on."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})
    within = "in `on_failure`"
    together: ClassVar[tuple[KeysRule, ...]] = (exclusive("value", "step"),)

    value: Any = declare("the result of the step", ANY)
    step: str | None = declare(
        "the step that runs instead, and only then", ValueReader(_plain_name, NAME_SCHEMA)
    )


def _expand_on_failure(value: Any) -> Any:
    if value == "continue":
        return OnFailureKeys.model_construct()
    if not isinstance(value, dict) or not value:
        hint = f"; a step is named by {{step: {shorten(value)}}}" if isinstance(value, str) else ""
        raise ValueError(_ON_FAILURE_FORMS + hint)
    return value


MOST_COST = 1_000_000_000.0
MOST_TOKENS = 2**53
_COST: JsonSchema = {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_COST}


def _cost(value: Any) -> float:
    refuse_template(value)
    if not is_number(value):
        raise Mismatch("an amount in USD, such as 0.5")
    if not 0 < value <= MOST_COST:
        raise ValueError(f"must be more than 0 and at most {MOST_COST:,.0f}, found {value:g}")
    return float(value)


class BudgetKeys(Shape):
    within = "in `budget`"
    together: ClassVar[tuple[KeysRule, ...]] = (
        any_of("cost_usd", "tokens", "a budget needs `cost_usd`, `tokens`, or both"),
    )

    cost_usd: float | None = declare("the most that may be spent, in USD", ValueReader(_cost, _COST))
    tokens: int | None = declare("the most tokens that may be used", whole(1, MOST_TOKENS))


class NextKeys(Shape):
    step: str = declare("the name of the step", TEXT, needed="write {step: NAME}", stand_in="unread")

    @classmethod
    def unknown_key_message(cls, key: str) -> str:
        if key == "when":
            return "`when` stands in the step itself, not in `next`"
        return f"unknown key `{shorten(key)}` in `next`: write {{step: NAME}}"


_NEXT_FORM: JsonSchema = {
    "type": "object",
    "properties": {"step": NAME_SCHEMA},
    "required": ["step"],
    "additionalProperties": False,
}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _step_name(value: Any) -> str:
    if not isinstance(value, str):
        raise Mismatch("text: the name of a step")
    return value


def _expand_next(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise Mismatch("text: the name of a step, or {step: NAME}")
    return {"step": value}


PRIORITY = whole(PRIORITIES[0], PRIORITIES[-1])


class WorkerKeys(Shape):
    """Declares how a step finds a worker, and how long its attempts may take."""

    timeout: float | None = declare(
        "the longest time of one attempt. The server enforces it even if the worker is silent. A workflow step has none by default",
        DURATION,
        extra={"default": "5m"},
    )
    queue: str | None = declare(
        "only workers that serve this queue run the step", NAME, extra={"default": DEFAULT_QUEUE}
    )
    queue_ttl: float | None = declare(
        "the longest time in the queue. After it the attempt has failed with the class `queue_timeout`, or `worker_unavailable` if no live worker is able to run it",
        DURATION,
    )
    priority: int | None = declare(
        "0 to 9; a higher priority runs sooner", PRIORITY, extra={"default": DEFAULT_PRIORITY}
    )
    labels: dict[str, str] = declare(
        "only workers that offer all of these labels run the step", TEXT_MAPPING, default={}
    )
    dependency: str | None = declare(
        "a name for the service that the step talks to (in an http step its host); recorded with failures",
        TEXT,
    )


_FAN_OUT_ONLY = "`{}` is for the items of `for_each`, which this step does not have"


class StepKeys(Shape):
    """Declares the keys that every step may have."""

    together: ClassVar[tuple[KeysRule, ...]] = tuple(
        only_with(key, "for_each", _FAN_OUT_ONLY.format(key)) for key in ("parallelism", "tolerate")
    )

    step: str = declare(
        "the name of the step: letters, digits, `_`, `-`",
        NAME,
        needed="every step has a name (`step: NAME`)",
        stand_in="unread",
    )
    type: Any = declare(
        f"one of {', '.join(f'`{kind}`' for kind in STEP_TYPES)}",
        needed=f"write one of {', '.join(STEP_TYPES)}",
        stand_in=None,
    )
    needs: list[Annotated[str, ValueReader(_step_name, NAME_SCHEMA)]] = declare(
        "the steps that this step waits for: a name or a list", ShortForms(_listed, NAME_SCHEMA), default=[]
    )
    next: list[Annotated[NextKeys, ShortForms(_expand_next, NAME_SCHEMA)]] = declare(
        "the steps that wait for this step: names, or `{step: NAME}`",
        ShortForms(_listed, NAME_SCHEMA, _NEXT_FORM),
        default=[],
    )
    when: str | None = declare(
        "an expression. If it is false, the step is skipped",
        ValueReader(_when, {"anyOf": [TEXT_SCHEMA, {"type": "boolean"}]}),
    )
    for_each: Any = declare(
        "a list, or a template that gives one. Each element becomes a work item",
        ValueReader(_for_each, {"anyOf": [{"type": "array"}, TEMPLATE]}),
        stand_in=[],
    )
    parallelism: int = declare(
        "how many items of a [fan-out](#fan-out) run at once", whole(1, MOST_PARALLEL), default=1
    )
    tolerate: Tolerance | None = declare(
        "how many items of a fan-out may fail: a number, or a share of all",
        ValueReader(_tolerance, _TOLERANCE),
    )
    goal: bool = declare("makes the step a [goal](#the-graph)", FLAG, default=False)
    retry: Any = declare("the [retry policy](policy.md). Without one there is a single attempt", RETRY)
    on_failure: OnFailureKeys | None = declare(
        "[what replaces the step](#on_failure) after it has failed for good",
        ShortForms(_expand_on_failure, {"const": "continue"}),
    )


class BudgetedKeys(Shape):
    """Declares the budget of steps whose attempts may cost something."""

    budget: BudgetKeys | None = declare(
        "the [budget](agents.md#budgets) of each item of the step over all its attempts, or of the child's tree"
    )


class PolledKeys(Shape):
    """Declares the keys of steps that run on a worker and may be repeated."""

    concurrency: ConcurrencyKeys | None = declare(
        "[how many attempts may run at once](#concurrency) in all executions",
        ShortForms(_expand_concurrency, _LIMIT.schema),
        AfterValidator(_reachable),
    )
    until: UntilKeys | None = declare(
        "repeats the step [until a condition holds](#until)",
        ShortForms(_expand_until, TEXT_SCHEMA),
        stand_in={"condition": _DONE.condition},
    )
