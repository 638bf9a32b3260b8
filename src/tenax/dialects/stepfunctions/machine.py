"""Reads state machines: the states in the order in which they follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tenax.dialects.native.names import file_title, of_step, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, policy_fields
from tenax.dialects.native.transitions import Edge, place_steps
from tenax.dialects.native.workflow import NO_LIMIT, ForeignText, NativeWorkflow, Step, set_retry
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.recognise import Signs
from tenax.dialects.stepfunctions.choices import condition
from tenax.dialects.stepfunctions.data import INPUT, Document, Reader, input_for, keys_of
from tenax.dialects.stepfunctions.outputs import output_of, placed, targets_of
from tenax.dialects.stepfunctions.retry import caught_words, error_names, read_retry
from tenax.dialects.stepfunctions.states import COMMON, add_state
from tenax.model.source.findings import Path, suggest

SIGNS = Signs(
    top={"StartAt": 4, "States": 4, "TimeoutSeconds": 1, "Comment": 1},
    part={"Type": 1, "Resource": 1, "ErrorEquals": 2, "End": 1},
    lists=("States",),
    least=4,
)
_TYPES = {name: name for name in ("Task", "Pass", "Wait", "Choice", "Parallel", "Map", "Succeed", "Fail")}
_PARALLEL = 1_000_000  # items at once; 0 means no limit there


def translate(top: Fields) -> list[NativeWorkflow]:
    name = workflow_name(top.text("Name") or file_title(top.notes.source.filename, "state-machine"))
    made: list[NativeWorkflow] = []
    _Machine(NativeWorkflow(name, top.notes), top, made).translate()
    if "TimeoutSeconds" in top:
        made[0].deadline = duration(top.seconds("TimeoutSeconds"))
        top.note("understood", "TimeoutSeconds", f"is the deadline of the workflow: {made[0].deadline}")
    made[0].description = top.text("Comment") or None
    top.ignore("Version", "QueryLanguage")
    top.rest()
    return made


@dataclass
class _Way:
    """Leads to a state, past states that do no work."""

    sources: list[tuple[str, str]] = field(default_factory=list)
    """The steps before it, each with the state in which it must have ended."""
    when: str | None = None
    document: Document = field(default_factory=Document)
    path: Path = ()


class _Machine:
    """Translates one state machine, or a branch of one."""

    def __init__(self, workflow: NativeWorkflow, top: Fields, made: list[NativeWorkflow]) -> None:
        self.workflow = workflow
        self.top = top
        self.made = made
        self.states: dict[str, Fields] = {}
        self.steps: dict[str, Step] = {}
        self.edges: dict[str, list[Edge]] = {}
        self.ways: dict[str, list[_Way]] = {}
        self.joined: set[str] = set()
        made.append(workflow)

    def translate(self, document: Document | None = None) -> Document:
        """Adds the steps of all states. Returns the document of the last state if there is one."""
        listed = self.top.sub("States")
        self.states = {name: listed.sub(name) for name in listed.data if isinstance(listed.data[name], dict)}
        listed.rest()
        start = self.top.text("StartAt")
        if start not in self.states:
            self.top.notes.mistake(
                (*self.top.path, "StartAt"), f"there is no state `{start}`{suggest(start, self.states)}"
            )
            return Document()
        order = self._order(start)
        self.ways[start] = [_Way(document=Document(INPUT) if document is None else document)]
        last = Document()
        for name in order:
            last = self._state(name)
        for name in self.states.keys() - set(order):
            self.states[name].note("dropped", None, f"nothing leads to the state `{name}`")
        place_steps(self.workflow, self.steps, self.edges, join=lambda name: name in self.joined)
        return last

    def _order(self, start: str) -> list[str]:
        """Returns the states that are reached, each after all states that lead to it. Loops are left out later."""
        order: list[str] = []
        open_: set[str] = set()
        pending: list[tuple[str, Iterator[str]]] = [(start, iter(targets_of(self.states[start])))]
        open_.add(start)
        while pending:
            name, targets = pending[-1]
            following = next((one for one in targets if one in self.states and one not in open_), None)
            if following is None:
                order.append(name)
                pending.pop()
            else:
                open_.add(following)
                pending.append((following, iter(targets_of(self.states[following]))))
        self.rank = {name: place for place, name in enumerate(reversed(order))}
        return list(reversed(order))

    # -- ways

    def _lead(self, source: str, target: str, way: _Way) -> None:
        """Lets the steps before it lead to a state. A way back to an earlier state is a loop, and is reported."""
        if target not in self.states:
            self.top.notes.mistake(
                way.path, f"leads to `{target}`, and there is no such state{suggest(target, self.states)}"
            )
        elif self.rank[target] <= self.rank[source]:
            sentence = f"leads back to `{target}`: a workflow has no loops; use `until` or a retry"
            self.workflow.notes.add("dropped", way.path, sentence)
        else:
            self.ways.setdefault(target, []).append(way)

    def _document(self, name: str, state: Fields) -> Document:
        """Returns the input of a state, as far as all ways to it give the same."""
        documents = [way.document for way in self.ways.get(name, [])]
        found = documents[0] if documents and all(one == documents[0] for one in documents) else Document()
        path = state.data.get("InputPath")
        if isinstance(path, str) and (keys := keys_of(path)):
            found = found.sub(keys, self.workflow)
        return found

    def _state(self, name: str) -> Document:
        state = self.states[name]
        kind = state.one_of("Type", _TYPES, "Task")
        reader = Reader(self.workflow, self._document(name, state))
        if kind == "Choice":
            return self._choice(name, state, reader)
        if kind == "Succeed" or (
            kind == "Pass" and not any(key in state for key in ("Result", "Parameters", "Output"))
        ):
            return self._router(name, state, reader)
        if kind == "Parallel":
            return self._parallel(name, state, reader)
        if kind == "Map":
            return self._map(name, state, reader)
        own = self.workflow.names.give(name)
        native, result = add_state(reader, own, state)
        if kind == "Task":
            set_retry(native, read_retry(state), state, "Retry" if "Retry" in state else None)
        self._arrive(name, native)
        return self._leave(name, state, [native], result, reader)

    def _router(self, name: str, state: Fields, reader: Reader) -> Document:
        """Passes the ways on: the state does no work."""
        state.note("understood", None, f"the state `{name}` does no work: it has no step")
        target = state.text("Next")
        for way in self.ways.get(name, []) if target else []:
            self._lead(name, target, replace(way, path=(*state.path, "Next")))
        state.ignore(*COMMON)
        state.rest({"Assign": "is not carried over: read the results of steps instead"})
        return reader.document

    def _choice(self, name: str, state: Fields, reader: Reader) -> Document:
        before: list[str] = []
        for rule in state.each("Choices"):
            words = condition(rule, reader)
            self._choose(
                name, rule.text("Next"), [*(f"not ({one})" for one in before), f"({words})"], rule.path
            )
            before.append(words)
        if "Default" in state:
            self._choose(
                name, state.text("Default"), [f"not ({one})" for one in before], (*state.path, "Default")
            )
        else:
            state.note(
                "changed", None, "no Default: if no rule matches, nothing runs; there the execution fails"
            )
        state.note("understood", "Choices", "its rules are the conditions of the steps after it")
        state.ignore(*COMMON)
        state.rest({"Assign": "is not carried over: read the results of steps instead"})
        return reader.document

    def _choose(self, name: str, target: str, words: list[str], path: Path) -> None:
        for way in self.ways.get(name, []):
            both = " and ".join([*([way.when] if way.when else []), *words])
            self._lead(name, target, replace(way, when=both, path=path))

    def _arrive(self, name: str, *steps: Step) -> None:
        """Links the steps of a state to the steps before it."""
        ways = self.ways.get(name, [])
        for number, step in enumerate(steps):
            own = name if len(steps) == 1 else f"{name}#{number}"
            self.steps[own] = step
            for way in ways:
                for source, on in way.sources or [("", "completed")]:
                    edge = Edge(
                        source,
                        "failed" if on == "failed" else "completed",
                        way.when,
                        way.path,
                        way.when or "",
                    )
                    self.edges.setdefault(own, []).append(edge)
                if (
                    len(way.sources) > 1
                    and len(ways) == 1
                    and all(on == "completed" for _, on in way.sources)
                ):
                    self.joined.add(own)

    def _leave(
        self, name: str, state: Fields, steps: list[Step], result: Document, reader: Reader
    ) -> Document:
        """Opens the ways to the next states: after a success, and after errors that are caught."""
        document = output_of(state, result, reader)
        sources = [name] if len(steps) == 1 else [f"{name}#{number}" for number in range(len(steps))]
        target = state.text("Next")
        if target:
            way = _Way([(one, "completed") for one in sources], None, document, (*state.path, "Next"))
            self._lead(name, target, way)
        if "Catch" in state:
            self._catch(name, state, steps, sources, reader)
        state.ignore(*COMMON)
        return document

    def _catch(self, name: str, state: Fields, steps: list[Step], sources: list[str], reader: Reader) -> None:
        """Opens a way for each entry of `Catch`. An error that none of them names fails the execution."""
        before: list[str] = []
        catches_all = False
        failure = of_step(str(steps[0]["step"]), "failure")
        for catcher in state.each("Catch"):
            words = caught_words(error_names(catcher), failure)
            parts = [f"not ({one})" for one in before] + ([f"({words})"] if words else [])
            caught = Document(failure, renames={"Error": "reason", "Cause": "message"})
            document = placed(catcher.data.get("ResultPath", "$"), reader.document, caught)
            way = _Way(
                [(one, "failed") for one in sources], " and ".join(parts) or None, document, catcher.path
            )
            self._lead(name, catcher.text("Next"), way)
            catcher.note(
                "understood",
                "ErrorEquals",
                f"leads to `{catcher.text('Next')}` after a failure that it names",
            )
            catcher.ignore("ResultPath", "Comment")
            catcher.rest({"Assign": "is not carried over", "Output": "is not carried over"})
            catches_all |= words is None
            before += [words] if words else []
        if not catches_all:
            self._uncaught(name, state, steps, " or ".join(f"({one})" for one in before))

    def _uncaught(self, name: str, state: Fields, steps: list[Step], caught: str) -> None:
        """Adds a step that fails after an error that no entry names."""
        own = self.workflow.names.fresh(f"{steps[0]['step']}-uncaught")
        command = ["sh", "-c", "echo 'no Catch names this error' >&2; exit 1"]
        step = self.workflow.add(own, "process", state, command=command, timeout=duration(60.0))
        step["retry"] = policy_fields(FOREIGN)
        self.steps[own] = step
        source = name if len(steps) == 1 else f"{name}#0"
        self.edges[own] = [Edge(source, "failed", f"not ({caught})", state.path, "Catch")]

    # -- parts that run at once

    def _parallel(self, name: str, state: Fields, reader: Reader) -> Document:
        """Makes a step of each branch: of its one state, or of a child workflow."""
        steps: list[Step] = []
        results: dict[str, Document] = {}
        for number, branch in enumerate(state.each("Branches")):
            native, result = self._part(f"{name}-{number + 1}", branch, reader)
            results[str(number)] = result
            steps.append(native)
            if "Retry" in state:
                set_retry(native, read_retry(state), state, "Retry")
        if not steps:
            state.notes.mistake((*state.path, "Branches"), "a Parallel state has branches")
            return Document()
        if "Retry" in state and len(steps) > 1:
            state.note("changed", "Retry", "each branch is retried by itself; there all branches run again")
        state.ignore("Branches", "Parameters", "Arguments")
        self._arrive(name, *steps)
        document = self._leave(name, state, steps, Document(None, results), reader)
        state.rest()
        return document

    def _part(self, name: str, machine: Fields, reader: Reader) -> tuple[Step, Document]:
        """Returns the step of a branch, or of the processor of a Map."""
        states = machine.mapping("States")
        start = machine.text("StartAt")
        only = states.get(start)
        machine.ignore("Comment", "QueryLanguage")
        processor = machine.sub("ProcessorConfig")
        processor.ignore("Mode", "ExecutionType")
        processor.rest()
        machine.rest()
        if (
            len(states) == 1
            and isinstance(only, dict)
            and only.get("Type") in ("Task", "Wait")
            and "Catch" not in only
        ):
            listed = machine.sub("States")
            state = listed.sub(start)
            listed.rest()
            own = self.workflow.names.give(start)
            inner = Reader(self.workflow, reader.document)
            native, result = add_state(inner, own, state)
            if only["Type"] == "Task":
                set_retry(native, read_retry(state), state, "Retry" if "Retry" in state else None)
            return native, output_of(state, result, inner)
        child = NativeWorkflow(
            workflow_name(f"{self.workflow.name}-{name}".replace(" ", "_")), self.workflow.notes
        )
        _Machine(child, machine, self.made).translate()
        own = self.workflow.names.give(name)
        given = input_for(child, reader.document, self.workflow)
        native = self.workflow.add(own, "workflow", machine, workflow=child.name, input=given)
        native["timeout"] = duration(NO_LIMIT)
        native["retry"] = policy_fields(FOREIGN)
        machine.rest()
        return native, Document(of_step(own))

    def _map(self, name: str, state: Fields, reader: Reader) -> Document:
        """Makes a fan-out: an item of each element."""
        key = state.first_of("ItemsPath", "Items")
        if key in state or "ItemReader" not in state:
            text = state.data.get(key, "$")
            where = (*state.path, key)
            path = isinstance(text, str) and text.startswith("$")
            each: Any = reader.template(text, where) if path else reader.payload(text, where)
        else:
            original = str(state.take("ItemReader").get("Resource", "ItemReader"))
            origin = (*state.path, "ItemReader")
            made = self.workflow.stand_in(
                ForeignText(original, original, origin), "Tenax reads no lists from elsewhere"
            )
            each = f"{{{{ {made} }}}}"
        selector = state.first_of("ItemSelector", "Parameters")
        item = Document("item")
        if selector in state:
            item = reader.selected(state.take(selector), (*state.path, selector))
            state.note("changed", selector, "its values stand where the states of the items read them")
        processor = state.sub(state.first_of("ItemProcessor", "Iterator"))
        native, _ = self._part(name, processor, Reader(self.workflow, item))
        native["for_each"] = each
        native["parallelism"] = state.whole("MaxConcurrency", 0) or _PARALLEL
        self._tolerance(native, state)
        if "Retry" in state:
            state.note("changed", "Retry", "each item is retried by itself; there the whole Map runs again")
            if "Retry" not in next(iter(processor.mapping("States").values()), {}):
                set_retry(native, read_retry(state), state, "Retry")
        state.ignore("ItemsPath", "Items")
        self._arrive(name, native)
        document = self._leave(name, state, [native], Document(of_step(str(native["step"]))), reader)
        state.rest(
            {
                "ResultWriter": "is not carried over: the result is the list of the results",
                "ItemBatcher": "is not carried over: each element is an item of its own",
                "Label": "is not carried over",
            }
        )
        return document

    def _tolerance(self, native: Step, state: Fields) -> None:
        if "ToleratedFailurePercentage" in state:
            native["tolerate"] = f"{state.number('ToleratedFailurePercentage'):g}%"
        elif "ToleratedFailureCount" in state:
            native["tolerate"] = state.whole("ToleratedFailureCount")
