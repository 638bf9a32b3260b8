"""Implements section 6 of the semantics in a slow way, for comparison: after every move it examines all steps again, and keeps no counters.

It shares no code with the engine. A move is a batch of leases, a batch of reports, or time that passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RESULTS = {"yes": "yes", "no": "no", "list": [1, 2]}
VALUE = "in its place"

Key = tuple[str, int | None]
"""A step, and the position in its list if it has one."""


@dataclass(frozen=True)
class Part:
    """Is one step. The steps that it names are earlier ones, except for `fallback`."""

    name: str
    needs: frozenset[str] = frozenset()
    goal: bool = False
    when: tuple[str, Any] | None = None
    """The condition: ("is", True or False), ("result", STEP) if the result must be "yes", or ("completed", STEP)."""
    on_failure: str | None = None
    """One of continue, value, and step. With step there is a `fallback`."""
    fallback: str | None = None
    for_each: int | str | None = None
    """The number of elements, or the step whose result is the list."""
    parallelism: int = 1
    tolerate: int | str = 0
    max_attempts: int = 1
    script: tuple[str, ...] = ("yes",)
    """The outcomes of the attempts: a key of `RESULTS`, `again`, or `fatal`."""

    def outcome(self, item: int | None, attempt: int) -> str:
        return self.script[((item or 0) * 3 + attempt - 1) % len(self.script)]

    def source(self) -> dict[str, Any]:
        """Returns the step as a file has it."""
        body: dict[str, Any] = {
            "step": self.name,
            "type": "python",
            "task": "t:t",
            "needs": sorted(self.needs),
        }
        body["retry"] = {"max_attempts": self.max_attempts, "initial_delay": 1, "jitter": 0}
        body["goal"] = self.goal
        match self.when:
            case ("is", wanted):
                body["when"] = str(wanted).lower()
            case ("result", step):
                body["when"] = f"{{{{ steps.{step}.result == 'yes' }}}}"
            case ("completed", step):
                body["when"] = f"{{{{ steps.{step}.status == 'completed' }}}}"
        if self.on_failure is not None:
            choices = {"continue": "continue", "value": {"value": VALUE}, "step": {"step": self.fallback}}
            body["on_failure"] = choices[self.on_failure]
        if self.for_each is not None:
            is_list = isinstance(self.for_each, int)
            body["for_each"] = (
                list(range(self.for_each)) if is_list else f"{{{{ steps.{self.for_each}.result }}}}"
            )
            body |= {"parallelism": self.parallelism, "tolerate": self.tolerate}
        return body


def all_needs(parts: list[Part]) -> dict[str, set[str]]:
    """Returns all needs, with those by fallbacks: the replaced step, and the fallbacks of needed steps."""
    needs = {part.name: set(part.needs) for part in parts}
    changed = True
    while changed:
        before = {name: set(of) for name, of in needs.items()}
        for part in parts:
            if part.fallback is not None:
                needs[part.fallback].add(part.name)
                for name, of in needs.items():
                    if part.name in of and name != part.fallback:
                        of.add(part.fallback)
        changed = before != needs
    return needs


def has_circle(needs: dict[str, set[str]]) -> bool:
    left = dict(needs)
    while free := [name for name, of in left.items() if not of & left.keys()]:
        left = {name: of for name, of in left.items() if name not in free}
    return bool(left)


@dataclass
class Item:
    state: str
    attempts: int = 0
    due: int = 0
    result: Any = None


@dataclass
class World:
    """Is one execution. Times are milliseconds."""

    parts: list[Part]
    now: int = 0
    over: str | None = None
    status: dict[str, str] = field(default_factory=dict)
    """The status of each step that has ended."""
    results: dict[str, Any] = field(default_factory=dict)
    causes: dict[str, set[str]] = field(default_factory=dict)
    """The failed steps that may be the cause, for each unreachable step."""
    blamed: set[str] = field(default_factory=set)
    """The failed steps because of which the execution failed."""
    items: dict[Key, Item] = field(default_factory=dict)
    _unplaced: set[Key] = field(default_factory=set)
    """Retries that have given up their slot."""

    def __post_init__(self) -> None:
        self.by_name = {part.name: part for part in self.parts}
        self.needs = all_needs(self.parts)
        self.stands_in_for = {part.fallback: part.name for part in self.parts if part.fallback}
        self._look()

    # -- moves

    def pass_time(self, milliseconds: int) -> None:
        self.now += milliseconds
        self._place()

    def lease(self, key: Key) -> int:
        """Returns the number of the attempt."""
        item = self.items[key]
        item.state, item.attempts = "running", item.attempts + 1
        return item.attempts

    def report(self, keys: list[Key]) -> None:
        """Judges all reports by the state before them."""
        recorded = {key for key in keys if self.over or key[0] in self.status}
        for key in keys:
            self._judge(key, again=key not in recorded)
        self._look()

    @property
    def ready(self) -> set[Key]:
        return {key for key in self.items if self._is_ready(key)}

    @property
    def next_due(self) -> int | None:
        return min(
            (i.due for i in self.items.values() if i.state == "retrying" and i.due > self.now), default=None
        )

    # -- consequences

    def _judge(self, key: Key, *, again: bool) -> None:
        part, item = self.by_name[key[0]], self.items[key]
        outcome = part.outcome(key[1], item.attempts)
        if outcome in RESULTS:
            item.state, item.result = "succeeded", RESULTS[outcome]
        elif outcome == "again" and again and item.attempts < part.max_attempts:
            item.state, item.due = "retrying", self.now + 1000 * 2 ** (item.attempts - 1)
            self._unplaced.add(key)
        else:
            item.state = "failed"

    def _look(self) -> None:
        """Examines all steps, round by round: which have ended, cannot be reached, or may start."""
        for part in self.parts:
            self._end_if_over(part)
        while not self.over:
            self._cut_off()
            lost = {name for name in self.status if self._is_lost(name)}
            if lost & self.goals:
                self._fail(lost & self.goals)
                break
            ready = [p for p in self.parts if self._may_start(p.name)]
            if not ready:
                break
            for part in ready:
                self._start(part)
        if not self.over and len(self.status) == len(self.parts):
            self.over = "completed"
        self._place()

    def _end_if_over(self, part: Part) -> None:
        """Ends the step if all of its items have ended, or too many have failed."""
        if part.name in self.status or not self._begun(part.name):
            return
        mine = self._items_of(part.name)
        failed = sum(item.state == "failed" for item in mine)
        ended = failed + sum(item.state == "succeeded" for item in mine)
        if failed > self._tolerated(part, len(mine)) and (not self.over or ended == len(mine)):
            self._cancel([part.name])
            self._end_failed(part)
        elif ended == len(mine):
            self._end(part.name, "completed", self._result_of_items(part))
        elif self.over and not any(item.state == "running" for item in mine):
            self._end(part.name, "cancelled")

    def _cut_off(self) -> None:
        found = True
        while found:
            found = False
            for name in self._untouched():
                lost = {need for need in self.needs[name] if need in self.status and self._is_lost(need)}
                if lost:
                    self.causes[name] = set().union(*(self.causes.get(need, {need}) for need in lost))
                    self._end(name, "unreachable")
                    found = True

    def _start(self, part: Part) -> None:
        failed = self.stands_in_for.get(part.name)
        if (failed is not None and self.status[failed] != "failed") or not self._wanted(part):
            self._end(part.name, "skipped")
            return
        if part.for_each is None:
            self.items[part.name, None] = Item("queued")
            return
        elements = (
            list(range(part.for_each)) if isinstance(part.for_each, int) else self.result_of(part.for_each)
        )
        if not isinstance(elements, list):
            self._end_failed(part)
        elif not elements:
            self._end(part.name, "completed", [])
        for number in range(len(elements)) if isinstance(elements, list) else ():
            self.items[part.name, number] = Item("waiting")

    def _wanted(self, part: Part) -> bool:
        match part.when:
            case None:
                return True
            case ("is", wanted):
                return bool(wanted)
            case ("result", step):
                return self.result_of(step) == "yes"
            case (_, step):
                return self.status[step] == "completed"

    def _fail(self, goals: set[str]) -> None:
        """Fails the execution. Waiting items are cancelled, and running items may finish."""
        self.over = "failed"
        self.blamed = set().union(*(self.causes.get(goal, {goal}) for goal in goals))
        for name in self._untouched():
            self._end(name, "cancelled")
        self._cancel([part.name for part in self.parts])
        for part in self.parts:
            self._end_if_over(part)

    def _cancel(self, steps: list[str]) -> None:
        for (step, _), item in self.items.items():
            if step in steps and item.state in ("waiting", "queued", "retrying"):
                item.state = "cancelled"

    def _end_failed(self, part: Part) -> None:
        if part.on_failure == "value" and not self.over:
            self._end(part.name, "completed", VALUE)
        else:
            spread = part.for_each is not None and self._begun(part.name)
            self._end(part.name, "failed", self._result_of_items(part) if spread else None)

    def _end(self, name: str, status: str, result: Any = None) -> None:
        self.status[name], self.results[name] = status, result

    # -- slots of a fan-out

    def _place(self) -> None:
        for part in self.parts:
            if part.for_each is not None and part.name not in self.status:
                self._place_items(part)

    def _place_items(self, part: Part) -> None:
        mine = {key: item for key, item in self.items.items() if key[0] == part.name}
        taken = sum(
            item.state in ("queued", "running") or (item.state == "retrying" and key not in self._unplaced)
            for key, item in mine.items()
        )
        due = [
            k for k, i in mine.items() if i.state == "retrying" and k in self._unplaced and i.due <= self.now
        ]
        due.sort(key=lambda key: mine[key].due)
        waiting = sorted(key for key, item in mine.items() if item.state == "waiting")
        for key in [*due, *waiting][: max(part.parallelism - taken, 0)]:
            self._unplaced.discard(key)
            if mine[key].state == "waiting":
                mine[key].state = "queued"

    def _is_ready(self, key: Key) -> bool:
        item = self.items[key]
        if item.state != "retrying":
            return item.state == "queued"
        in_place = key[1] is None or key not in self._unplaced
        return in_place and item.due <= self.now

    # -- queries

    @property
    def goals(self) -> set[str]:
        marked = {part.name for part in self.parts if part.goal}
        if not marked:
            needed = {
                need for name, of in self.needs.items() for need in of if self.by_name[need].fallback != name
            }
            marked = {part.name for part in self.parts} - needed
        while more := {self.by_name[name].fallback for name in marked} - marked - {None}:
            marked |= more
        return marked

    @property
    def result(self) -> dict[str, Any]:
        """Returns the result of the completed execution."""
        goals = self.goals
        return {name: self.result_of(name) for name in goals if self.stands_in_for.get(name) not in goals}

    def result_of(self, name: str) -> Any:
        """Returns the result of a step. The result of a fallback is also that of the step that it replaces."""
        fallback = name
        while self.status.get(fallback) == "failed" and self.by_name[fallback].fallback is not None:
            fallback = self.by_name[fallback].fallback
        return self.results[fallback] if self.status.get(fallback) == "completed" else self.results[name]

    def _untouched(self) -> list[str]:
        return [p.name for p in self.parts if p.name not in self.status and not self._begun(p.name)]

    def _begun(self, name: str) -> bool:
        return any(step == name for step, _ in self.items)

    def _items_of(self, name: str) -> list[Item]:
        return [item for (step, _), item in self.items.items() if step == name]

    def _may_start(self, name: str) -> bool:
        return name in self._untouched() and all(need in self.status for need in self.needs[name])

    def _is_lost(self, name: str) -> bool:
        status = self.status[name]
        return status == "unreachable" or (status == "failed" and self.by_name[name].on_failure is None)

    def _result_of_items(self, part: Part) -> Any:
        mine = [item.result for item in self._items_of(part.name)]
        return mine[0] if part.for_each is None else mine

    def _tolerated(self, part: Part, total: int) -> int:
        if part.for_each is None:
            return 0
        if isinstance(part.tolerate, int):
            return part.tolerate
        return total * int(part.tolerate.removesuffix("%")) // 100
