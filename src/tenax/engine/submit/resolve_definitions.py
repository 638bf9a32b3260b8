"""Turns a submission into a plan: reads the definition, finds its children, and stores all of them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenax.engine.caches.named_plans import NamedPlan, Stamp
from tenax.engine.context import EngineContext
from tenax.engine.definitions.reading import Definition
from tenax.engine.graph.start_execution import OWN_KEYS
from tenax.engine.packs.binding import bind_actions
from tenax.engine.slices import Sliced
from tenax.engine.submit.declared_schedules import declare_schedule
from tenax.errors import InvalidInput, NotFound, TenaxError, Unreachable, UsageError
from tenax.model.definition.children import ChildReference, child_references, input_problems
from tenax.model.definition.workflow import Workflow
from tenax.model.events import timestamp
from tenax.model.events.audit import NewEntry
from tenax.model.packs.action import BoundAction
from tenax.model.views import StoredWorkflow, SubmissionFault, WorkflowInfo
from tenax.model.wire import Submission
from tenax.policy.plan import Plan, PlannedChild
from tenax.policy.retry.resolve import PolicyError
from tenax.store.audit import insert_entries
from tenax.store.tables import plans
from tenax.store.tables.plans import WorkflowStamp

DEEPEST = 20
"""Levels of child workflows."""


@dataclass(frozen=True, slots=True)
class _DefinitionPlace:
    """A place in a tree of definitions: the files that came with it, its folder, its ancestors, and the plans made so
    far."""

    files: Mapping[str, str]
    folder: str
    trail: Mapping[str, str]
    """The ancestors: the identity of each definition, and the words for it in errors."""
    planned: dict[str, tuple[Plan, int]]
    kept: Mapping[str, PlannedChild] = field(default_factory=dict)
    """The children of a stored definition, as they were when it was stored."""
    rests_on: dict[str, Stamp] = field(default_factory=dict)
    """Each name that was looked up, with its meaning. The whole tree shares one mapping."""

    def below(self, found: _Found) -> _DefinitionPlace:
        trail = {**self.trail, found.identity: found.words}
        if found.identity in self.trail:
            chain = " -> ".join([*self.trail.values(), found.words])
            raise InvalidInput(f"workflows start each other in a circle: {chain}")
        if len(trail) > DEEPEST:
            raise InvalidInput(f"children go down {DEEPEST} levels at most: {' -> '.join(trail.values())}")
        return _DefinitionPlace(found.files, found.folder, trail, self.planned, found.kept, self.rests_on)


@dataclass(frozen=True, slots=True)
class _Found:
    """A definition that a reference led to. A stored one is identified by its content, a file by its path."""

    definition: Definition
    identity: str
    words: str
    files: Mapping[str, str]
    folder: str = ""
    kept: Mapping[str, PlannedChild] = field(default_factory=dict)


async def plans_of(context: EngineContext, submissions: Sequence[Submission]) -> list[tuple[Plan, int]]:
    """Returns the plan of each submission, and its id. The meaning of each name is looked up once for all of them."""
    names = {one.workflow for one in submissions if one.source is None and one.workflow is not None}
    known = await context.named_plans.find(names) if names else {}
    found: list[tuple[Plan, int]] = []
    for one in submissions:
        if one.source is None and one.workflow is not None:
            if one.workflow not in known:
                known[one.workflow] = await _named(context, one.workflow)
            found.append((known[one.workflow].plan, known[one.workflow].plan_id))
        else:
            found.append(await plan_of(context, one))
    return found


def check_submission(submission: Submission) -> None:
    """Raises UsageError if a submission has a key of the server's own, or two starts."""
    check_key(submission)
    if submission.start_at is not None and submission.start_in is not None:
        raise UsageError("`start_at` and `start_in` exclude each other: keep one")


def check_key(submission: Submission) -> None:
    """Raises UsageError if a submission has a key of the server's own."""
    if submission.key is not None and submission.key.startswith(OWN_KEYS):
        raise UsageError(f"a key cannot begin with {OWN_KEYS!r}: such keys are the server's own")


async def find_faults(context: EngineContext, submissions: Sequence[Submission]) -> list[SubmissionFault]:
    """Checks submissions and starts nothing. Returns a fault for each wrong one. Those that are alike are resolved
    once."""
    known: dict[Any, Plan | TenaxError] = {}
    faults: list[SubmissionFault] = []
    async for place, one in Sliced(enumerate(submissions)):
        try:
            check_submission(one)
            plan = await _plan_or_error(context, one, known)
            await context.reading.check(plan.workflow, one.input)
        except Unreachable:
            raise
        except TenaxError as error:
            faults.append(SubmissionFault(place=place, error=error.message))
    return faults


async def _plan_or_error(
    context: EngineContext, one: Submission, known: dict[Any, Plan | TenaxError]
) -> Plan:
    definition = (one.source, one.workflow, one.filename, tuple(one.files.items()))
    if definition not in known:
        try:
            [(known[definition], _)] = await plans_of(context, [one])
        except Unreachable:
            raise
        except TenaxError as error:
            known[definition] = error
    found = known[definition]
    if isinstance(found, TenaxError):
        raise found
    return found


async def plan_of(context: EngineContext, submission: Submission) -> tuple[Plan, int]:
    """Returns the plan of a submission that brings its source, and its id.

    Children are resolved now: a running execution keeps its version.
    """
    if submission.source is None:
        raise UsageError(
            "a submission needs the `source` of a definition, or the name of a stored `workflow`"
        )
    files = {posixpath.normpath(path): text for path, text in submission.files.items()}
    definition = await context.reading.read(submission.source, submission.filename)
    words = f"file {submission.filename or definition.workflow.name}"
    found = _Found(definition, words, words, files)
    return await _planned(context, found.definition, _DefinitionPlace({}, "", {}, {}).below(found))


async def _named(context: EngineContext, name: str) -> NamedPlan:
    """Makes the plan of the definition that a name means now, and keeps it for the next submission."""
    found, stamp = await _stored(context, name)
    place = _DefinitionPlace({}, "", {}, {}).below(found)
    place.rests_on[name] = stamp
    plan, plan_id = await _planned(context, found.definition, place)
    entry = NamedPlan(plan, plan_id, place.rests_on)
    context.named_plans.keep(name, entry)
    return entry


async def store_workflow(
    context: EngineContext, source: str, filename: str | None, files: Mapping[str, str] | None, actor: str
) -> StoredWorkflow:
    """Stores a definition without running it. Its name means this definition from now on."""
    plan, _ = await plan_of(context, Submission(source=source, filename=filename, files=dict(files or {})))
    workflow = plan.workflow
    if workflow.schedule is not None:
        await context.reading.check(workflow, workflow.schedule.input)
    async with context.transaction() as tx:
        created = await plans.store_workflow(tx, plan.workflow_hash)
        stored = {"version": workflow.version, "hash": plan.workflow_hash}
        entry = NewEntry(actor, "workflow_store", "workflow", workflow.name, data=stored)
        await insert_entries(tx, [entry])
        due_in = await declare_schedule(tx, workflow, actor)
    if due_in is not None:
        context.notifier.announce(due_in=due_in)
    return StoredWorkflow(
        name=workflow.name, version=workflow.version, hash=plan.workflow_hash, created=created
    )


async def list_workflows(context: EngineContext, name: str | None) -> list[WorkflowInfo]:
    async with context.transaction() as tx:
        found = await plans.list_workflows(tx, name)
    return [
        WorkflowInfo(
            name=row["name"],
            version=row["version"],
            hash=row["hash"],
            created_at=timestamp(row["created_at"]),
            paused_by=row["paused_by"],
            paused_why=row["paused_why"],
        )
        for row in found
    ]


async def is_called_back(context: EngineContext, plan_id: int) -> bool:
    """Returns whether a step of the plan or of its children is async. Such a step needs a server that can be called
    back."""
    async with context.transaction() as tx:
        seen, pending = {plan_id}, [plan_id]
        for one in pending:
            plan = await context.plans.one(tx, one)
            if any("async" in planned.step.spec for planned in plan.steps.values()):
                return True
            fresh = {child.plan_id for child in plan.children.values()} - seen
            seen |= fresh
            pending += sorted(fresh)
    return False


async def _planned(
    context: EngineContext, definition: Definition, place: _DefinitionPlace
) -> tuple[Plan, int]:
    plan, workflow = definition.plan, definition.workflow
    if plan is None:
        children = {
            reference.step: await _child(context, workflow, reference, place)
            for reference in child_references(workflow)
        }
        bound = await bind_actions(context, workflow, place.rests_on)
        plan = await make_bound_plan(context, definition, children, bound)
    texts = definition.texts
    return plan, await context.plan_id(plan, texts.of_bound(plan) if texts and plan.bound else texts)


async def make_bound_plan(
    context: EngineContext,
    definition: Definition,
    children: Mapping[str, PlannedChild],
    bound: Mapping[str, BoundAction],
) -> Plan:
    """Makes the plan of a definition with its children and actions. Raises InvalidInput if a policy is wrong together with
    that of its action."""
    try:
        return await context.reading.plan(definition, children, bound)
    except PolicyError as error:
        name = definition.workflow.name
        raise InvalidInput(f"a `retry` of workflow {name} does not fit that of its action: {error}") from None


async def _child(
    context: EngineContext, parent: Workflow, reference: ChildReference, place: _DefinitionPlace
) -> PlannedChild:
    if reference.kind == "file" and reference.step in place.kept:
        kept = place.kept[reference.step]
        return await _bound_again(context, kept, place) if kept.packs else kept
    if reference.kind == "workflow":
        found, stamp = await _stored(context, reference.text)
        place.rests_on[reference.text], folder = stamp, ""
    else:
        found = await _file(context, parent, reference, place)
        folder = posixpath.relpath(found.folder or ".", place.folder or ".")
    below = place.below(found)
    if found.identity not in place.planned:
        place.planned[found.identity] = await _planned(context, found.definition, below)
    plan, plan_id = place.planned[found.identity]
    [step] = [step for step in parent.steps if step.name == reference.step]
    if problems := input_problems(step, plan.workflow):
        raise InvalidInput(f"step {step.name} of workflow {parent.name}: `input`: {'; '.join(problems)}")
    return PlannedChild(plan_id, plan.hash, None if folder in ("", ".") else folder, plan.packs)


async def _bound_again(context: EngineContext, kept: PlannedChild, place: _DefinitionPlace) -> PlannedChild:
    """Returns a child that was kept with a stored definition, with the actions of packs that its names mean now."""
    async with context.transaction() as tx:
        before = await context.plans.one(tx, kept.plan_id)
    words = f"file {before.workflow.name}"
    definition = Definition(before.workflow, before.workflow_hash)
    found = _Found(definition, f"plan {kept.plan_id}", words, {}, kept=before.children)
    plan, plan_id = await _planned(context, definition, place.below(found))
    return PlannedChild(plan_id, plan.hash, kept.folder, plan.packs)


async def _file(
    context: EngineContext, parent: Workflow, reference: ChildReference, place: _DefinitionPlace
) -> _Found:
    path = posixpath.normpath(posixpath.join(place.folder, reference.text))
    source = place.files.get(path)
    if source is None:
        raise InvalidInput(
            f"step {reference.step} of workflow {parent.name} starts the file {reference.text!r}, which was not given along",
            remedy="submit with `tenax run` or `tenax submit`, which send such files, or add it to `files`",
        )
    words = f"file {path}"
    definition = await context.reading.read(source, path)
    return _Found(definition, words, words, place.files, posixpath.dirname(path))


async def _stored(context: EngineContext, name: str) -> tuple[_Found, WorkflowStamp]:
    """Finds the definition that `name` or `name@version` means now."""
    async with context.transaction() as tx:
        found = await plans.find_workflow(tx, name)
    if found is None:
        label, version = plans.split_name(name)
        raise NotFound(
            f"there is no workflow named {label!r}" + (f" with version {version!r}" if version else ""),
            remedy="`tenax workflows` lists what is stored; `tenax store FILE` stores a definition",
        )
    definition = await context.reading.restore(found.body, found.hash)
    identity = f"workflow {found.hash}"
    return _Found(definition, identity, f"workflow {name}", {}, kept=found.children), found.stamp
