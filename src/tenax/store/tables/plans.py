"""Stores workflows, policies and plans. Each content is stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tenax.model.definition.workflow import Workflow
from tenax.model.json_text import decode, encode
from tenax.model.packs.action import BoundAction
from tenax.model.policy import Policy
from tenax.policy.plan import Plan, PlannedChild, restore_plan
from tenax.store.connect import Connection
from tenax.store.statements import sql


class Texts(NamedTuple):
    """A workflow and its policies as they are stored."""

    workflow: str
    policies: Mapping[str, str]
    """The policies by hash."""

    @classmethod
    def of(cls, plan: Plan) -> Texts:
        bodies = plan.policy_bodies()
        return cls(encode(plan.workflow.as_dict()), {name: encode(body) for name, body in bodies.items()})

    def of_bound(self, plan: Plan) -> Texts:
        """Returns the texts of a plan of this workflow whose policies have the levels of its actions."""
        bodies = plan.policy_bodies()
        policies = {name: self.policies.get(name) or encode(body) for name, body in bodies.items()}
        return Texts(self.workflow, policies)


async def ensure_plan(tx: Connection, plan: Plan, texts: Texts | None = None) -> int:
    """Stores a plan and everything that it refers to. `texts` are the encoded contents, if the caller has them."""
    workflow, texts = plan.workflow, texts or Texts.of(plan)
    workflow_id = await tx.fetchval(
        sql("ensure_workflow"), plan.workflow_hash, workflow.name, workflow.version, texts.workflow
    )
    await tx.execute(sql("ensure_policies"), list(texts.policies), list(texts.policies.values()))
    children = {step: child.as_dict() for step, child in plan.children.items()}
    actions = encode(_stored_actions(plan.bound)) if plan.bound else None
    arguments = (
        plan.hash,
        workflow_id,
        encode(plan.policies),
        encode(children),
        actions,
        list(plan.packs) or None,
    )
    plan_id: int = await tx.fetchval(sql("ensure_plan"), *arguments)
    return plan_id


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """Is a plan as it is stored. If another version wrote it, it may be unreadable."""

    workflow: str
    policies: str
    policy_bodies: str
    children: str
    actions: str | None

    def restore(self) -> Plan:
        bodies = {name: Policy.from_dict(body) for name, body in decode(self.policy_bodies).items()}
        policies = {step: bodies[hash_] for step, hash_ in decode(self.policies).items()}
        return restore_plan(
            Workflow.from_dict(decode(self.workflow)),
            policies,
            stored_children(self.children),
            bound_actions(self.actions),
        )


async def load_plan(tx: Connection, plan_id: int) -> StoredPlan:
    row = await tx.fetchrow(sql("load_plan"), plan_id)
    return StoredPlan(
        *(row[name] for name in ("workflow", "policies", "policy_bodies", "children", "actions"))
    )


class WorkflowStamp(NamedTuple):
    """Holds the meaning of a name at one moment: its definition, and the newest plan of that definition, whose children are used."""

    workflow_id: int
    plan_id: int | None


class NamedWorkflow(NamedTuple):
    body: str
    hash: str
    children: dict[str, PlannedChild]
    """The children of its newest plan."""
    stamp: WorkflowStamp


async def find_workflow(tx: Connection, name: str) -> NamedWorkflow | None:
    """Returns the definition that was last stored, or else last submitted, under this name. `name@version` names a
    version too."""
    row = await tx.fetchrow(sql("find_named_workflow"), *split_name(name))
    if row is None:
        return None
    stamp = WorkflowStamp(row["workflow_id"], row["plan_id"])
    return NamedWorkflow(row["body"], row["hash"], stored_children(row["children"]), stamp)


async def find_current_workflows(tx: Connection, names: Sequence[str]) -> list[WorkflowStamp | None]:
    """Returns the meaning of each of these names now, or None for an unknown name."""
    labels = [split_name(name) for name in names]
    rows = await tx.fetch(
        sql("find_current_workflows"), [label for label, _ in labels], [version for _, version in labels]
    )
    found = {row["place"] - 1: WorkflowStamp(row["workflow_id"], row["plan_id"]) for row in rows}
    return [found.get(place) for place in range(len(names))]


def split_name(name: str) -> tuple[str, str | None]:
    """Splits `name@version`. The version is None if none is given."""
    label, _, version = name.partition("@")
    return label, version or None


def stored_children(text: str | None) -> dict[str, PlannedChild]:
    return {step: PlannedChild.from_dict(child) for step, child in (decode(text) or {}).items()}


def _stored_actions(bound: Mapping[str, BoundAction]) -> dict[str, Any]:
    """Returns the stored form: each action once, and for each name the number of its action."""
    numbers: dict[tuple[str, str], int] = {}
    listed: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for name, action in bound.items():
        key = (action.hash, action.ref)
        if key not in numbers:
            numbers[key] = len(listed)
            listed.append(action.as_dict())
        places[name] = numbers[key]
    return {"actions": listed, "steps": places}


def bound_actions(text: str | None) -> dict[str, BoundAction]:
    """Reads the stored actions of a plan."""
    if text is None:
        return {}
    stored = decode(text)
    actions = [BoundAction.from_dict(body) for body in stored["actions"]]
    return {name: actions[number] for name, number in stored["steps"].items()}


async def store_workflow(tx: Connection, content: str) -> bool:
    """Makes the content with this hash the meaning of its name. Returns False if it had been stored before."""
    return bool(await tx.fetchval(sql("store_workflow"), content))


async def list_workflows(tx: Connection, name: str | None) -> list[dict[str, Any]]:
    return [dict(row) for row in await tx.fetch(sql("list_workflows"), name)]
