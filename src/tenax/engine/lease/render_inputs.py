"""Turns leased items into assignments. Inputs are rendered when an attempt is leased, never earlier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.template_scope import step_scope
from tenax.model.attempt.outcome import Facts, Outcome
from tenax.model.changes import StepRow
from tenax.model.json_text import decode
from tenax.model.wire import Assignment, Report
from tenax.policy.expressions.compiler import EvaluationError
from tenax.policy.expressions.meter import Meter, WorkBudget
from tenax.policy.plan import Plan
from tenax.policy.receipt import receipt
from tenax.store.connect import Connection
from tenax.store.live.checkpoints import load_checkpoints
from tenax.store.rows import LeasedItem
from tenax.store.tables.steps import StepKey

_log = structlog.get_logger("tenax.assign")


SHORT_BATCH = 8_000_000
"""Bytes of inputs and results that are read together for the items of one claim."""
SHORT_VALUE = 1_000_000
"""Bytes of one of these values."""


_NONE: Mapping[int, str | None] = {}


async def _checkpoints(tx: Connection, items: Sequence[LeasedItem], most: int) -> Mapping[int, str | None]:
    """Returns the checkpoints of earlier attempts. First attempts have none, and are not looked up."""
    later = [item for item in items if item.attempt > 1]
    return await load_checkpoints(tx, later, most) if later else _NONE


@dataclass(frozen=True, slots=True)
class _Needs:
    """Holds the data that a batch of items needs: results of steps (and whether they are final), and inputs of executions."""

    steps: Mapping[StepKey, bool]
    inputs: AbstractSet[int]

    @classmethod
    def of(cls, items: Sequence[LeasedItem], plans: Mapping[int, Plan]) -> _Needs:
        steps: dict[StepKey, bool] = {}
        inputs: set[int] = set()
        for item in items:
            if item.plan_id not in plans:
                continue
            plan = plans[item.plan_id]
            action = plan.action(item.step, compensates=item.compensates)
            for name in action.reads:
                steps[item.execution_id, name] = plan.steps[name].is_final
            if action.reads_input:
                inputs.add(item.execution_id)
        return cls(steps, inputs)


def _is_missing(
    plan: Plan, item: LeasedItem, steps: AbstractSet[StepKey], inputs: Mapping[int, dict[str, Any]]
) -> bool:
    """Returns whether an item needs one of these steps, or an input that is missing in these inputs."""
    action = plan.action(item.step, compensates=item.compensates)
    return any((item.execution_id, name) in steps for name in action.reads) or (
        action.reads_input and item.execution_id not in inputs
    )


@dataclass(frozen=True, slots=True)
class InputRenderer:
    """Renders a batch of leased items, with the data that they need."""

    secret: bytes
    callback_base: str | None
    plans: Mapping[int, Plan]
    steps: Mapping[int, dict[str, Any]]
    inputs: Mapping[int, dict[str, Any]]
    budget: WorkBudget
    """The budget of each rendering."""
    checkpoints: Mapping[int, str | None]
    """The checkpoints of earlier attempts, by item."""

    @classmethod
    async def prepare(
        cls, tx: Connection, context: EngineContext, items: Sequence[LeasedItem]
    ) -> InputRenderer:
        """Makes a renderer with everything that these items need, however large it is."""
        plans = await context.plans.load(tx, {item.plan_id for item in items})
        needs = _Needs.of(items, plans)
        results = (
            await context.results.load(tx, needs.steps, context.settings.max_rendered) if needs.steps else {}
        )
        inputs = await context.input_cache.load(tx, needs.inputs) if needs.inputs else {}
        checkpoints = await _checkpoints(tx, items, context.settings.max_checkpoint * len(items))
        return cls._of(context, plans, results, inputs, checkpoints)

    @classmethod
    async def prepare_shortly(
        cls, tx: Connection, context: EngineContext, items: Sequence[LeasedItem]
    ) -> tuple[InputRenderer, AbstractSet[int]]:
        """Makes a renderer with the small data that these items need. Also returns the items that it cannot
        render: they need a plan that is not in memory, or something large."""
        wanted = {item.plan_id for item in items}
        plans = {id_: plan for id_ in wanted if (plan := context.plans.use(id_)) is not None}
        needs = _Needs.of(items, plans)
        values = len(needs.steps) + len(needs.inputs)
        most = min(SHORT_VALUE, SHORT_BATCH // max(1, values), context.settings.max_rendered)
        results = await context.results.load(tx, needs.steps, most) if needs.steps else {}
        inputs = await context.input_cache.load_small(tx, needs.inputs, most) if needs.inputs else {}
        missing = {key for key, row in results.items() if row.left_out is not None}
        checkpoints = await _checkpoints(tx, items, SHORT_BATCH)
        assigning = cls._of(context, plans, results, inputs, checkpoints)
        if not missing and not checkpoints and len(inputs) == len(needs.inputs) and len(plans) == len(wanted):
            return assigning, frozenset()
        return assigning, {
            item.id
            for item in items
            if item.plan_id not in plans
            or _is_missing(plans[item.plan_id], item, missing, inputs)
            or checkpoints.get(item.id, "") is None
        }

    @classmethod
    def _of(
        cls,
        context: EngineContext,
        plans: Mapping[int, Plan],
        results: Mapping[StepKey, StepRow],
        inputs: Mapping[int, dict[str, Any]],
        checkpoints: Mapping[int, str | None],
    ) -> InputRenderer:
        steps: dict[int, dict[str, Any]] = {}
        for (execution_id, step), row in results.items():
            steps.setdefault(execution_id, {})[step] = step_scope(row)
        return cls(
            context.secret, context.callback_base, plans, steps, inputs, context.rendering, checkpoints
        )

    @classmethod
    def at_hand(cls, context: EngineContext, item: LeasedItem) -> InputRenderer | None:
        """Makes a renderer for the first attempt of a step that reads no other step. Returns None if the database must
        be read."""
        plan, inputs = context.plans.known(item.plan_id), context.input_cache.recall(item.execution_id)
        if plan is None or item.attempt > 1 or (inputs is None and plan.steps[item.step].reads_input):
            return None
        known = {item.execution_id: inputs or {}}
        plans = {item.plan_id: plan}
        return cls(context.secret, context.callback_base, plans, {}, known, context.rendering, _NONE)

    def make(self, item: LeasedItem) -> Assignment | Report:
        """Returns the assignment, or a report of the failure if its inputs cannot be rendered."""
        try:
            return self._assignment(item)
        except EvaluationError as error:
            return _unrendered(item, error)
        except Exception as error:  # noqa: BLE001 -- the item is leased: the error must end this attempt, and only this one
            _log.exception("a leased item cannot be made an assignment", item_id=item.id)
            return _unrendered(item, error)

    def _assignment(self, item: LeasedItem) -> Assignment:
        plan = self.plans[item.plan_id]
        action = plan.action(item.step, compensates=item.compensates)
        template = action.specs[decode(item.vary)["entry"] if item.vary is not None else 0]
        if template.is_static:
            rendered = template.render({})
        else:
            rendered = template.render(self._scope(item), Meter(*self.budget))
        key = receipt(self.secret, item.execution_id, item.id)
        # By position: keyword arguments would take three times as long, and this runs for each attempt.
        return Assignment(
            item.execution_id,
            item.id,
            item.attempt,
            item.lease_token,
            item.step,
            action.step.type,
            rendered.value,
            item.timeout,
            key,
            plan.workflow.name,
            item.max_attempts,
            item.base_dir,
            action.step.dependency,
            rendered.secrets,
            item.item_no,
            self._callback(item, key) if "async" in action.step.spec else None,
            item.compensates,
            item.is_retry,
            self.checkpoints.get(item.id) if self.checkpoints else None,
        )

    def _scope(self, item: LeasedItem) -> dict[str, Any]:
        scope = {
            "input": self.inputs.get(item.execution_id, {}),
            "steps": self.steps.get(item.execution_id, {}),
            "execution_id": item.execution_id,
            "attempt": item.attempt,
            "item": decode(item.element),
            "index": item.item_no,
        }
        scope["result" if item.compensates else "previous"] = decode(item.previous)
        return scope

    def _callback(self, item: LeasedItem, key: str) -> str:
        """Returns the URL to which the callee posts its outcome. The receipt in it authorizes the callee."""
        if self.callback_base is None:
            raise NoCallback(
                "an async step needs an address at which it can be called back, and nothing listens here: "
                "run it with `tenax run` or a server (`tenax up`), or set `callback_url`"
            )
        query = {"step": item.step} | ({"item": item.item_no} if item.item_no is not None else {})
        path = f"/v1/callbacks/{item.execution_id}/{item.id}/{item.attempt}/{key}"
        return f"{self.callback_base.rstrip('/')}{path}?{urlencode(query)}"


class NoCallback(EvaluationError):
    """Says that no server can be called back."""


def _unrendered(item: LeasedItem, error: Exception) -> Report:
    reason = "no_callback_url" if isinstance(error, NoCallback) else "template_error"
    words = str(error) if isinstance(error, EvaluationError) else f"{type(error).__name__}: {error}"
    facts = Facts(failure_class="invalid", reason=reason, message=words)
    outcome = Outcome("failed", facts=facts)
    return Report(item.execution_id, item.id, item.attempt, item.lease_token, outcome, item.step)
