"""Translates foreign files into workflow files. This is where imports begin."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from tenax.dialects import agenttask, argyll, attune, noetl, tasker
from tenax.dialects.argo import workflows
from tenax.dialects.kubernetes import jobs
from tenax.dialects.native.repair import checked_text, pass_inputs
from tenax.dialects.native.workflow import NativeWorkflow
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.notes import Entry, Notes, in_order
from tenax.dialects.reading.recognise import Signs
from tenax.dialects.stepfunctions import machine
from tenax.errors import Finding, InvalidDefinition, UsageError
from tenax.model.definition.types import STEP_TYPES
from tenax.model.parse.keys.step_types import LATER_TYPES
from tenax.model.parse.workflow_file import WORKFLOW_KEYS
from tenax.model.source.findings import shorten, suggest_or_list
from tenax.model.source.yaml_source import YamlSource, read_documents
from tenax.model.source.yaml_text import scalar


@dataclass(frozen=True, slots=True)
class System:
    """Is a system whose files can be imported."""

    name: str
    title: str
    signs: Signs
    translate: Callable[[Fields], list[NativeWorkflow]]


SYSTEMS: Mapping[str, System] = {
    system.name: system
    for system in (
        System("tasker", "a task template of Tasker", tasker.SIGNS, tasker.translate),
        System("argyll", "steps of Argyll", argyll.SIGNS, argyll.translate),
        System("agenttask", "an AgentTask of Hortator", agenttask.SIGNS, agenttask.translate),
        System("noetl", "a playbook of NoETL", noetl.SIGNS, noetl.translate),
        System("attune", "an action or a workflow of Attune", attune.SIGNS, attune.translate),
        System("argo", "a workflow of Argo", workflows.SIGNS, workflows.translate),
        System("kubernetes", "a Job of Kubernetes", jobs.SIGNS, jobs.translate),
        System("stepfunctions", "a state machine of Step Functions", machine.SIGNS, machine.translate),
    )
}


@dataclass(frozen=True, slots=True)
class Imported:
    """Is one workflow that an import made."""

    name: str
    system: str
    text: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Import:
    """Holds what an import made of one or more files, and its report."""

    workflows: tuple[Imported, ...] = ()
    entries: tuple[Entry, ...] = ()

    @property
    def text(self) -> str:
        """Returns all workflows in one text, as documents if there are several."""
        if len(self.workflows) == 1:
            return self.workflows[0].text
        return "".join(f"---\n{one.text}" for one in self.workflows)

    def as_dict(self) -> dict[str, Any]:
        return {
            "workflows": [
                {"name": one.name, "system": one.system, "text": one.text} for one in self.workflows
            ],
            "report": [entry.as_dict() for entry in self.entries],
        }


def translate_text(text: str | bytes, *, filename: str | None = None, system: str | None = None) -> Import:
    """Translates all documents of a text. Raises InvalidDefinition if none of them can be read as the system's."""
    chosen = _system_named(system)
    sources = read_documents(text, filename=filename)
    if not sources:
        raise InvalidDefinition([Finding("the file is empty", file=filename)])
    made: list[Imported] = []
    entries: list[Entry] = []
    strangers: list[YamlSource] = []
    for source in sources:
        found = chosen if chosen is not None and _reads(chosen, source) else _recognised(source)
        if found is None or (chosen is not None and found is not chosen):
            strangers.append(source)
            continue
        one = _translate_document(found, source)
        made += one.workflows
        entries += one.entries
    if not made and not strangers:
        raise InvalidDefinition([Finding("nothing in it does any work", file=filename, line=1)])
    if not made:
        telling = next((one for one in strangers if _recognised(one) is not None), strangers[0])
        raise InvalidDefinition([_refusal(telling, chosen), *telling.findings])
    entries += [_left_out(source, made[0].system) for source in strangers]
    return Import(tuple(made), tuple(in_order(entries)))


def joined(imports: Sequence[Import]) -> Import:
    """Puts the imports of several files together. No two workflows get the same name."""
    entries = [entry for one in imports for entry in one.entries]
    made = [workflow for one in imports for workflow in one.workflows]
    taken: set[str] = set()
    found: list[Imported] = []
    for family in (family for one in imports for family in _families(one.workflows)):
        names = _new_names([one.name for one in family], taken, {one.name for one in made})
        for one in family:
            if names[one.name] != one.name:
                sentence = (
                    f"another workflow is called `{one.name}`, so this one is called `{names[one.name]}`"
                )
                entries.append(Entry("changed", sentence, file=one.file, line=one.line))
            found.append(_renamed(one, names))
    return Import(tuple(found), tuple(entries))


def _families(workflows: Sequence[Imported]) -> list[list[Imported]]:
    """Splits the workflows of a file: those of one document, which call each other, stay together."""
    found: list[list[Imported]] = []
    for one in workflows:
        last = found[-1] if found else []
        if last and last[0].line == one.line and all(other.name != one.name for other in last):
            last.append(one)
        else:
            found.append([one])
    return found


def _new_names(names: Sequence[str], taken: set[str], known: AbstractSet[str]) -> dict[str, str]:
    """Returns the names that the workflows of one family get, by their own. Adds them to `taken`."""
    found: dict[str, str] = {}
    for name in names:
        new, number = name, 2
        while new in taken or (new != name and new in known):
            new, number = f"{name}-{number}", number + 1
        taken.add(new)
        found[name] = new
    return found


def _renamed(workflow: Imported, names: Mapping[str, str]) -> Imported:
    """Returns a workflow with new names: its own, and those of its children, which are of the same family."""
    text = workflow.text
    for old, new in names.items():
        if old != new:
            named = re.compile(rf"^(    workflow: ){re.escape(scalar(old))}$", re.MULTILINE)
            text = named.sub(rf"\g<1>{scalar(new)}", text)
    name = names[workflow.name]
    if name != workflow.name:
        text = f"name: {scalar(name)}\n{text.partition(chr(10))[2]}"
    return replace(workflow, name=name, text=text)


def _translate_document(system: System, source: YamlSource) -> Import:
    notes = Notes(source)
    made = [workflow for top in _tops(system, source, notes) for workflow in system.translate(top)]
    notes.raise_mistakes()
    filename, line = source.filename, source.root.line
    for one in made:
        checked_text(one)
    pass_inputs(made)
    texts = [Imported(one.name, system.name, checked_text(one), filename, line) for one in made]
    return Import(tuple(texts), tuple(notes.entries()))


def _tops(system: System, source: YamlSource, notes: Notes) -> list[Fields]:
    """Returns the readers of a document: of the document, or of the objects of a list."""
    data = source.data
    if isinstance(data, list):
        return [Fields(notes, (), {"steps": data})]
    if data.get("kind") == "List" and isinstance(data.get("items"), list):
        top = Fields(notes, (), data)
        readers = top.each("items")
        top.ignore("apiVersion", "kind", "metadata")
        top.rest()
        mine = [reader for reader in readers if system.signs.score(reader.data) >= system.signs.least]
        for other in (reader for reader in readers if reader not in mine):
            other.note("dropped", None, f"is a {other.data.get('kind')}, which is not imported")
        return mine
    return [Fields(notes, (), data)]


def _system_named(name: str | None) -> System | None:
    if name is None:
        return None
    if name not in SYSTEMS:
        raise UsageError(f"unknown system `{shorten(name)}`{suggest_or_list(name, SYSTEMS)}")
    return SYSTEMS[name]


def _score(system: System, source: YamlSource) -> int:
    data = source.data
    if isinstance(data, dict) and data.get("kind") == "List" and isinstance(data.get("items"), list):
        return max((system.signs.score(one) for one in data["items"][:100]), default=0)
    return system.signs.score(data)


def _reads(system: System, source: YamlSource) -> bool:
    """Returns whether a document can be read as one of the system that the user has named. A single key is enough."""
    return _score(system, source) > 0 or (_recognised(source) is None and system.signs.knows(source.data))


def _recognised(source: YamlSource) -> System | None:
    if _is_native(source):
        return None
    scores = {system.name: _score(system, source) for system in SYSTEMS.values()}
    best = max(SYSTEMS.values(), key=lambda system: scores[system.name])
    return best if scores[best.name] >= best.signs.least else None


def _nearest(source: YamlSource) -> System | None:
    scores = {
        system.name: (_score(system, source), system.signs.likeness(source.data))
        for system in SYSTEMS.values()
    }
    best = max(SYSTEMS.values(), key=lambda system: scores[system.name])
    return best if any(scores[best.name]) else None


def _refusal(source: YamlSource, chosen: System | None) -> Finding:
    """Says why a document cannot be imported, and which system it resembles most."""
    other = _recognised(source)
    if _is_native(source):
        message = "this is a workflow file of Tenax already"
    elif chosen is not None and other is not None:
        message = f"this is not {chosen.title}; it looks like {other.title}: leave out --from, or give --from {other.name}"
    elif chosen is not None:
        nearest = _nearest(source)
        hint = f"; the nearest is {nearest.title} (--from {nearest.name})" if nearest else ""
        message = f"this is not {chosen.title}: it has none of its keys ({_keys(chosen)}){hint}"
    else:
        nearest = _nearest(source)
        hint = (
            f"; the nearest is {nearest.title} ({_keys(nearest)}): give --from {nearest.name} if it is one"
            if nearest
            else ""
        )
        message = f"no system that can be imported writes such a file{hint}; these are: {', '.join(SYSTEMS)}"
    return Finding(message, file=source.filename, line=source.root.line, column=source.root.column)


def _keys(system: System) -> str:
    signs = system.signs
    named = [f"apiVersion: {signs.api[0]}..."] if signs.api else []
    telling = sorted({**signs.part, **signs.top}.items(), key=lambda item: -item[1])
    return ", ".join([*named, *(f"`{key}`" for key, weight in telling[:4] if weight)])


def _is_native(source: YamlSource) -> bool:
    """Tells whether a document is a workflow file of Tenax. A playbook of NoETL looks much the same."""
    data = source.data
    if not isinstance(data, dict) or not {"name", "workflow"} <= data.keys() <= set(WORKFLOW_KEYS):
        return False
    steps = data["workflow"] if isinstance(data["workflow"], list) else [None]
    types = {*STEP_TYPES, *LATER_TYPES}
    return all(isinstance(step, dict) and "step" in step and step.get("type") in types for step in steps)


def _left_out(source: YamlSource, system: str) -> Entry:
    kind = source.data.get("kind") if isinstance(source.data, dict) else None
    what = f"a {kind}" if isinstance(kind, str) else "a document"
    sentence = f"this is {what}, which an import from {system} leaves out"
    return Entry("dropped", sentence, file=source.filename, line=source.root.line)
