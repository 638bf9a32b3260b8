"""Reads definitions and checks inputs that others have sent. Work that is provably short is done at once; all other
work goes to a reader process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import pickle
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenax.engine.caches.weighted_cache import BYTES_OF_PLAN, BYTES_OF_STEP, WeightedCache, weight_of_plan
from tenax.engine.definitions.reader_processes import OutOfMemory, ReaderProcesses, TaskNotDone, TooDeep
from tenax.engine.slices import give_way_after, in_slices
from tenax.errors import Finding, InvalidDefinition, InvalidInput, TooLarge
from tenax.model.definition.children import child_references
from tenax.model.definition.tiers import ServerPolicy
from tenax.model.definition.workflow import Input, Workflow
from tenax.model.inputs.inputs import DefinitionLimits, check_input, fill_in, is_checked_shortly
from tenax.model.inputs.schema_cost import NotAtOnce
from tenax.model.json_text import decode, encode, json_fault, most_values
from tenax.model.packs.action import BoundAction
from tenax.model.parse.parse import workflow_hash
from tenax.model.parse.workflow_file import build_validators
from tenax.model.policy import Policy
from tenax.model.views import ImportedFile, LintReport
from tenax.policy.check import load_workflow
from tenax.policy.packs.bind import action_references
from tenax.policy.packs.resolve_policies import resolving
from tenax.policy.plan import Plan, PlannedChild, make_plan, planning
from tenax.settings import Settings
from tenax.store.tables.plans import StoredPlan, Texts, bound_actions, stored_children

READ_AT_ONCE = 4_000
"""Characters of a definition that is read at once. That takes about 10 ms."""
RESTORED_AT_ONCE = 20_000
"""Characters of a stored definition that is read at once. Its canonical form is several times as long as its source."""
RARELY = 10_000
"""New objects between two runs of the garbage collector, in a process that is told to collect rarely."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Is a definition. It has a plan if the plan depends on nothing else, as for most definitions, which have neither children
    nor actions of packs."""

    workflow: Workflow
    hash: str
    plan: Plan | None = None
    policies: Mapping[str, Policy] | None = None
    """The resolved policies, if they were resolved together with the definition."""
    texts: Texts | None = None


_Key = tuple[str, str | None]


class Reading:
    """Reads definitions and makes plans. Each server process has one."""

    def __init__(self, settings: Settings, server_retry: ServerPolicy, most: int) -> None:
        """`most` is the limit of the definitions in memory, in estimated bytes."""
        self.reader_processes = ReaderProcesses(settings.aside_processes, settings.aside_memory)
        self._settings = settings
        self.server_retry = server_retry
        self._kept: WeightedCache[_Key, tuple[Definition, int]] = WeightedCache(most, _weight)
        self._under_way: dict[_Key, asyncio.Future[Definition]] = {}
        self._one_at_a_time = asyncio.Lock()
        build_validators()  # loaded here, and not on the event loop at the first submission

    # -- definitions

    async def read(self, source: str, filename: str | None) -> Definition:
        """Reads a definition. A definition that was read before comes from memory."""
        key = (source, filename)
        found = self._kept.use(key)
        if found is not None:
            return found[0]
        if _is_small(source):
            try:
                return self._keep(key, self._read_at_once(source, filename))
            except NotAtOnce:
                pass
        if key not in self._under_way:
            reading = self._under_way[key] = asyncio.ensure_future(self._read_in_process(key))
            reading.add_done_callback(
                lambda done: done.cancelled() or done.exception()
            )  # the request that waited for it may be gone
        return await asyncio.shield(self._under_way[key])

    async def translate(self, source: str, filename: str | None, system: str | None) -> ImportedFile:
        """Translates a file of another system, within the bounds of definitions."""
        self._refuse_large(source, filename)
        seconds = self._settings.definition_time
        try:
            [part] = await self.reader_processes.run("translate", source, filename, system, seconds=seconds)
        except TaskNotDone as bound:
            raise self._unread(filename, bound) from None
        found: ImportedFile = pickle.loads(part)  # noqa: S301 -- our own process wrote it
        return found

    async def lint(self, source: str, filename: str | None) -> LintReport:
        """Looks a definition over with the rules of the lint, within the bounds of definitions."""
        self._refuse_large(source, filename)
        arguments = (source, filename, self.server_retry, self._limits)
        try:
            [part] = await self.reader_processes.run(
                "lint", *arguments, seconds=self._settings.definition_time
            )
        except TaskNotDone as bound:
            raise self._unread(filename, bound) from None
        found: LintReport = pickle.loads(part)  # noqa: S301 -- our own process wrote it
        return found

    async def restore(self, body: str, content: str) -> Definition:
        """Reads a stored definition. `content` is its hash."""
        if len(body) <= RESTORED_AT_ONCE:
            workflow = Workflow.from_dict(decode(body))
            return Definition(workflow, content)
        return await self._take_in("restore", body, self.server_retry)

    async def restore_plan(self, stored: StoredPlan) -> Plan:
        if len(stored.workflow) + len(stored.policy_bodies) <= 2 * RESTORED_AT_ONCE:
            return stored.restore()
        definition = await self._take_in(
            "restore_plan", stored.workflow, stored.policies, stored.policy_bodies
        )
        bound = bound_actions(stored.actions)
        return await self.plan(definition, stored_children(stored.children), bound, restores=True)

    async def plan(
        self,
        definition: Definition,
        children: Mapping[str, PlannedChild],
        bound: Mapping[str, BoundAction] | None = None,
        *,
        restores: bool = False,
    ) -> Plan:
        """Makes the plan of a definition. A large plan is made in slices, one plan after the other.

        `restores` says that the policies of the definition are final, with the levels of its actions.
        """
        if definition.policies is None:
            return make_plan(definition.workflow, self.server_retry, children, bound)
        async with self._one_at_a_time:
            with _no_collections():
                return await in_slices(self._planning(definition, children, bound or {}, restores=restores))

    def _planning(
        self,
        definition: Definition,
        children: Mapping[str, PlannedChild],
        bound: Mapping[str, BoundAction],
        *,
        restores: bool,
    ) -> Generator[None, None, Plan]:
        workflow, policies = definition.workflow, definition.policies or {}
        if bound and not restores:
            policies = yield from resolving(workflow, policies, self.server_retry, bound)
        return (yield from planning(workflow, policies, children, definition.hash, bound))

    def _read_at_once(self, source: str, filename: str | None) -> Definition:
        limits = replace(self._limits, at_once=True)
        workflow = load_workflow(source, filename=filename, server_retry=self.server_retry, limits=limits)
        if _depends_on_others(workflow):
            return Definition(workflow, workflow_hash(workflow))
        plan = make_plan(workflow, self.server_retry)
        return Definition(workflow, plan.workflow_hash, plan)

    async def _read_in_process(self, key: _Key) -> Definition:
        source, filename = key
        try:
            self._refuse_large(source, filename)
            definition = await self._take_in("read", source, filename, self.server_retry, self._limits)
            if not _depends_on_others(definition.workflow):
                definition = replace(definition, plan=await self.plan(definition, {}))
            return self._keep(key, definition)
        except TaskNotDone as bound:
            raise self._unread(filename, bound) from None
        finally:
            del self._under_way[key]

    async def _take_in(self, task: str, *arguments: Any) -> Definition:
        parts = await self.reader_processes.run(task, *arguments, seconds=self._settings.definition_time)
        async with self._one_at_a_time:
            with _no_collections():
                return await in_slices(_assemble(parts))

    def _refuse_large(self, source: str, filename: str | None) -> None:
        most = self._settings.max_definition
        if len(source) > most or len(source.encode("utf-8", "replace")) > most:
            message = f"larger than {most:,} bytes (`max_definition`): a definition holds steps, not data; pass data as input"
            raise InvalidDefinition([Finding(message, file=filename)])

    def _unread(self, filename: str | None, bound: TaskNotDone) -> InvalidDefinition:
        seconds = f"it could not be read within {self._settings.definition_time:g} s of processor time (`definition_time`)"
        why = self._bound_words(bound) or seconds
        return InvalidDefinition([Finding(f"{why}: split it up, or simplify its schemas", file=filename)])

    def _bound_words(self, bound: TaskNotDone) -> str | None:
        """Returns the words for the bound that was exceeded."""
        match bound:
            case OutOfMemory():
                return f"it takes more memory than its process has: {self._settings.aside_memory:,} bytes (`aside_memory`)"
            case TooDeep():
                return "it is nested too deeply"
            case _:
                return None

    def _keep(self, key: _Key, definition: Definition) -> Definition:
        self._kept.keep(key, (definition, len(key[0])))
        return definition

    @property
    def weight(self) -> int:
        """Estimated bytes that the definitions in memory take."""
        return self._kept.weight

    @property
    def _limits(self) -> DefinitionLimits:
        return DefinitionLimits(self._settings.max_steps, self._settings.max_schema)

    # -- values

    async def check_values(self, text: bytes) -> None:
        """Refuses JSON with so many values that reading it would block the event loop."""
        most = self._settings.max_values
        if len(text) <= 2 * most:
            return
        await give_way_after(len(text))
        if most_values(text) <= most:
            await give_way_after(len(text))
            return
        with contextlib.suppress(TaskNotDone):
            [found] = await self.reader_processes.run("count_values", text, seconds=self._settings.input_time)
            if pickle.loads(found) <= most:  # noqa: S301 -- our own process wrote it
                return
        raise TooLarge(
            f"the server takes JSON of at most {most:,} values in one request (max_values)",
            remedy="send less at once, pass a reference to large data, or raise TENAX_MAX_VALUES on the server",
        )

    # -- inputs

    def checks_shortly(self, workflow: Workflow, given: Mapping[str, Any]) -> bool:
        """Returns whether `check` gives its answer at once."""
        return is_checked_shortly(workflow.inputs, given)

    async def check(self, workflow: Workflow, given: Mapping[str, Any]) -> dict[str, Any]:
        """Checks the inputs of an execution, and returns the inputs that it starts with. Raises InvalidInput with what
        does not fit."""
        if is_checked_shortly(workflow.inputs, given):
            return check_input(workflow, given)
        text = encode(given)
        most, seconds = self._settings.max_input, self._settings.input_time
        if len(text) > most:
            message = f"the input of workflow `{workflow.name}` has more than {most:,} bytes (`max_input`)"
            raise InvalidInput(message, remedy="pass a reference to large data instead")
        if (fault := json_fault(given)) is not None:  # `encode` would change such a value silently
            raise InvalidInput(f"the input does not fit workflow `{workflow.name}`:\n  {fault}")
        inputs: dict[str, Input] = dict(workflow.inputs)
        try:
            await self.reader_processes.run("check_input", workflow.name, inputs, text, seconds=seconds)
        except TaskNotDone as bound:
            slow = f"its check was ended after {seconds:g} s of processor time (`input_time`): a pattern or a `$ref` in the schemas takes too long on it"
            raise InvalidInput(
                f"the input does not fit workflow `{workflow.name}`:\n  {self._bound_words(bound) or slow}",
                remedy="simplify the `pattern`, `anyOf` and `$ref` of the workflow's input schemas, or send less",
            ) from None
        return fill_in(workflow.inputs, given)


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Switches off garbage collection while a large plan is made.

    A collection would visit a million objects, none of them in a cycle, and block the event loop. A server collects rarely, and its later
    collections skip these objects. Other processes visit them once.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_threshold()[0] >= RARELY:
            gc.freeze()
        elif enabled:
            gc.collect()  # here, and not in the middle of a report
        if enabled:
            gc.enable()


def _depends_on_others(workflow: Workflow) -> bool:
    """Returns whether the plan depends on other definitions, or on what is installed."""
    return bool(child_references(workflow)) or next(action_references(workflow), None) is not None


def _is_small(source: str) -> bool:
    """Returns whether the text of a definition is small. Aliases could still make the definition large."""
    return len(source) <= READ_AT_ONCE and not ("&" in source and "*" in source)


def _weight(kept: tuple[Definition, int]) -> int:
    definition, size = kept
    if definition.texts is not None:  # a large definition: its values are not encoded again for this
        size += sum(map(len, definition.texts.policies.values())) + 5 * len(definition.texts.workflow)
    elif definition.plan is not None:
        return size + weight_of_plan(definition.plan)
    else:
        size *= 5
    return size + BYTES_OF_PLAN + BYTES_OF_STEP * len(definition.workflow.steps)


def _assemble(parts: Sequence[bytes]) -> Generator[None, None, Definition]:
    """Puts a definition together from its pickled parts. Yields after each part."""
    workflow, content, text = pickle.loads(parts[0])  # noqa: S301 -- our own process wrote it
    steps: list[Any] = []
    policies: dict[str, Policy] = {}
    bodies: dict[str, str] = {}
    for part in parts[1:]:
        yield
        found = pickle.loads(part)  # noqa: S301 -- as above
        if isinstance(found[0], dict):
            policies |= found[0]
            bodies |= found[1]
        else:
            steps += found
    yield
    return Definition(
        replace(workflow, steps=tuple(steps)), content, policies=policies, texts=Texts(text, bodies)
    )
