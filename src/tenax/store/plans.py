"""Workflows, policies and plans: each content once."""

from __future__ import annotations

from tenax.model.definition import Workflow
from tenax.model.policy import Policy
from tenax.policy.plan import Plan, restore_plan
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
    plan_id: int = await tx.fetchval(sql("ensure_plan"), plan.hash, workflow_id, encode(plan.policies))
    return plan_id


async def load_plan(tx: Connection, plan_id: int) -> Plan:
    row = await tx.fetchrow(sql("load_plan"), plan_id)
    bodies = {name: Policy.from_dict(body) for name, body in decode(row["policy_bodies"]).items()}
    policies = {step: bodies[hash_] for step, hash_ in decode(row["policies"]).items()}
    return restore_plan(Workflow.from_dict(decode(row["workflow"])), policies)


async def find_workflow(tx: Connection, name: str) -> Workflow | None:
    """The newest definition under this name."""
    body = await tx.fetchval(sql("find_workflow"), name)
    return None if body is None else Workflow.from_dict(decode(body))
