"""Leased items become assignments: inputs are rendered as the attempt is leased, never earlier."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from tenax.engine.core import Core
from tenax.engine.progress import step_scope
from tenax.model.outcome import Facts, Outcome
from tenax.model.wire import Assignment, Report, SecretSlot
from tenax.policy.expressions import EvaluationError
from tenax.policy.plan import Plan
from tenax.store.connect import Connection
from tenax.store.json_text import decode
from tenax.store.rows import LeasedItem
from tenax.store.steps import load_step_results

_log = structlog.get_logger("tenax.assign")


@dataclass(frozen=True, slots=True)
class Assigning:
    """All that a batch of leased items needs to be rendered, read in the transaction that leased them."""

    secret: bytes
    plans: Mapping[int, Plan]
    steps: Mapping[int, dict[str, Any]]

    @classmethod
    async def prepare(cls, tx: Connection, core: Core, items: Sequence[LeasedItem]) -> Assigning:
        plans = await core.plans.load(tx, {item.plan_id for item in items})
        keys = {
            (item.execution_id, name) for item in items for name in plans[item.plan_id].steps[item.step].reads
        }
        steps: dict[int, dict[str, Any]] = {}
        for (execution_id, step), row in (await load_step_results(tx, sorted(keys)) if keys else {}).items():
            steps.setdefault(execution_id, {})[step] = step_scope(row)
        return cls(core.secret, plans, steps)

    def make(self, item: LeasedItem) -> Assignment | Report:
        """The assignment; or, where its inputs cannot be rendered, the failure that the attempt ends in."""
        try:
            return self._assignment(item)
        except EvaluationError as error:
            return _unrendered(item, str(error))
        except Exception as error:  # noqa: BLE001 -- it is leased already: whatever went wrong must end this attempt, and only it
            _log.exception("a leased item cannot be made an assignment", item_id=item.id)
            return _unrendered(item, f"{type(error).__name__}: {error}")

    def _assignment(self, item: LeasedItem) -> Assignment:
        plan = self.plans[item.plan_id]
        planned = plan.steps[item.step]
        spec: dict[str, Any] = dict(planned.step.spec)
        secrets: tuple[SecretSlot, ...] = ()
        if not planned.spec.is_static:
            rendered = planned.spec.render(self._scope(item))
            spec, secrets = rendered.value, rendered.secrets
        return Assignment(
            execution_id=item.execution_id,
            item_id=item.id,
            attempt=item.attempt,
            token=str(item.lease_token),
            step=item.step,
            runtime=planned.step.type,
            spec=spec,
            timeout=item.timeout,
            receipt=receipt(self.secret, item.id),
            workflow=plan.workflow.name,
            max_attempts=item.max_attempts,
            base_dir=item.base_dir,
            dependency=planned.step.dependency,
            secrets=secrets,
            is_retry=item.is_retry,
        )

    def _scope(self, item: LeasedItem) -> dict[str, Any]:
        return {
            "input": decode(item.input) or {},
            "steps": self.steps.get(item.execution_id, {}),
            "execution_id": item.execution_id,
            "attempt": item.attempt,
        }


def receipt(secret: bytes, item_id: int) -> str:
    """The item's receipt token: the same over all its attempts, and not to be guessed."""
    return hashlib.blake2b(b"item %d" % item_id, key=secret, digest_size=16).hexdigest()


def _unrendered(item: LeasedItem, message: str) -> Report:
    facts = Facts(failure_class="invalid", reason="template_error", message=message)
    outcome = Outcome("failed", facts=facts)
    return Report(item.execution_id, item.id, item.attempt, str(item.lease_token), outcome, item.step)
