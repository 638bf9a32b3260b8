"""Workflows, policies and plans: each content once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tenax.model.definition import Workflow
from tenax.model.json_text import decode, encode
from tenax.model.policy import Policy
from tenax.policy.plan import Child, Plan, restore_plan
from tenax.store.connect import Connection
from tenax.store.statements import sql


async def ensure_plan(tx: Connection, plan: Plan) -> int:
    workflow = plan.workflow
    workflow_id = await tx.fetchval(
        sql("ensure_workflow"),
        plan.workflow_hash,
        workflow.name,
        workflow.version,
        encode(workflow.as_dict()),
    )
    bodies = plan.policy_bodies()
    await tx.execute(sql("ensure_policies"), list(bodies), [encode(body) for body in bodies.values()])
    children = {step: asdict(child) for step, child in plan.children.items()}
    arguments = (plan.hash, workflow_id, encode(plan.policies), encode(children))
    plan_id: int = await tx.fetchval(sql("ensure_plan"), *arguments)
    return plan_id


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan as it is stored. To read it is another matter: it may have been written by another version."""

    workflow: str
    policies: str
    policy_bodies: str
    children: str

    def restore(self) -> Plan:
        bodies = {name: Policy.from_dict(body) for name, body in decode(self.policy_bodies).items()}
        policies = {step: bodies[hash_] for step, hash_ in decode(self.policies).items()}
        return restore_plan(Workflow.from_dict(decode(self.workflow)), policies, _children(self.children))


async def load_plan(tx: Connection, plan_id: int) -> StoredPlan:
    row = await tx.fetchrow(sql("load_plan"), plan_id)
    return StoredPlan(*(row[name] for name in ("workflow", "policies", "policy_bodies", "children")))


async def find_workflow(
    tx: Connection, name: str, version: str | None = None
) -> tuple[Workflow, dict[str, Child]] | None:
    """What was last stored under this name (else submitted), of this version where it is named; and the children it was last planned with."""
    row = await tx.fetchrow(sql("find_named_workflow"), name, version)
    if row is None:
        return None
    return Workflow.from_dict(decode(row["body"])), _children(row["children"])


def _children(text: str | None) -> dict[str, Child]:
    return {step: Child(**child) for step, child in (decode(text) or {}).items()}


async def store_workflow(tx: Connection, content: str) -> bool:
    """What its name means from now on, by the hash of its content. False: it had been stored before."""
    return bool(await tx.fetchval(sql("store_workflow"), content))


async def list_workflows(tx: Connection, name: str | None) -> list[dict[str, Any]]:
    return [dict(row) for row in await tx.fetch(sql("list_workflows"), name)]
