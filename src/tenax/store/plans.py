"""Workflows, policies and plans: each content once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tenax.model.definition import Workflow
from tenax.model.policy import Policy
from tenax.policy.plan import Child, Plan, restore_plan
from tenax.store.connect import Connection
from tenax.store.json_text import decode, encode
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


async def load_plan(tx: Connection, plan_id: int) -> Plan:
    row = await tx.fetchrow(sql("load_plan"), plan_id)
    bodies = {name: Policy.from_dict(body) for name, body in decode(row["policy_bodies"]).items()}
    policies = {step: bodies[hash_] for step, hash_ in decode(row["policies"]).items()}
    return restore_plan(Workflow.from_dict(decode(row["workflow"])), policies, _children(row["children"]))


async def find_workflow(
    tx: Connection, name: str, version: str | None = None
) -> tuple[Workflow, dict[str, Child]] | None:
    """The newest definition under this name, and of this version where it is named; and the children it was last planned with."""
    row = await tx.fetchrow(sql("find_named_workflow"), name, version)
    if row is None:
        return None
    return Workflow.from_dict(decode(row["body"])), _children(row["children"])


def _children(text: str | None) -> dict[str, Child]:
    return {step: Child(**child) for step, child in (decode(text) or {}).items()}


async def list_workflows(tx: Connection, name: str | None) -> list[dict[str, Any]]:
    return [dict(row) for row in await tx.fetch(sql("list_workflows"), name)]
