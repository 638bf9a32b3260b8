"""Checks one execution against all laws: its events one by one in the order of the log, then its rows, then the items
of its fan-outs."""

from __future__ import annotations

from collections.abc import Iterable

from tenax.model.decision import DECIDER_VERSION
from tenax.policy.laws import fold as folding
from tenax.policy.laws import work as working
from tenax.policy.laws.attempts import ATTEMPT_LAWS, outcome_decided_at_once, undecided
from tenax.policy.laws.budgets import UsageFold, budget_row, budget_sums
from tenax.policy.laws.decisions import DECISION_LAWS, decisions_go_on, miscounted
from tenax.policy.laws.facts import ItemFacts, ItemResultFacts, LetterFacts, LoggedEvent, Rows
from tenax.policy.laws.fold import Fold
from tenax.policy.laws.history import HISTORY_LAWS, begins_once
from tenax.policy.laws.law import Breach, Law, LawViolation, VerifyTally
from tenax.policy.laws.letters import LetterFold, dead_letter_row
from tenax.policy.laws.rows import (
    execution_row,
    fan_out_row,
    item_result_row,
    item_row,
    step_row,
    unfinished_execution_goes_on,
    unfinished_item_has_a_wake_up,
)
from tenax.policy.laws.work import OPEN, WorkFold
from tenax.policy.plan import Plan

WORK_LAWS: tuple[Law, ...] = (*ATTEMPT_LAWS, *DECISION_LAWS)


class ExecutionCheck:
    """Checks one execution. Its findings go into the tally."""

    def __init__(self, execution_id: int, plan: Plan, tally: VerifyTally) -> None:
        self.fold = Fold(execution_id, plan)
        self.used = UsageFold()
        self._tally = tally

    def see(self, event: LoggedEvent) -> None:
        """Takes in the next event, in the order of the log."""
        self._tally.events += 1
        for one in HISTORY_LAWS:
            self._note(one, one(self.fold, event), event)
        work = self._work_of(event)
        if work is not None:
            self._see(work, event)
        self.used.see(event)
        folding.fold_event(self.fold, event)

    def compare(self, rows: Rows) -> None:
        """Compares the rows with the fold of the events, after the last event."""
        fold = self.fold
        if fold.first is None:
            self._add(begins_once, "it has no events")
            return
        for work in fold.works.values():
            self._note_undecided(work)
        self._say(execution_row, execution_row(fold, rows.execution))
        for name in fold.steps:
            self._say(step_row, step_row(fold, name, rows.steps.get(name)), step=name)
            self._say(fan_out_row, fan_out_row(fold, name, rows.fan_outs.get(name)), step=name)
        self._compare_items(rows)
        self._compare_letters(rows)
        self._say(budget_row, budget_row(self.used, rows.budget))
        if rows.budget is not None:
            self._say(budget_sums, budget_sums(rows.budget))
        self._say(unfinished_execution_goes_on, unfinished_execution_goes_on(rows.execution))

    def item_work(self, step: str, item: int, *, undoes: bool) -> WorkFold | None:
        """Returns a work item of a fan-out before its first event. Returns None if the plan has no such action."""
        planned = self.fold.plan.steps.get(step)
        if planned is None or (undoes and planned.compensation is None):
            return None
        action = self.fold.plan.action(step, compensates=undoes)
        return WorkFold(self.fold.execution_id, step, item, undoes, action)

    def see_item(self, work: WorkFold, event: LoggedEvent) -> None:
        """Takes in the next event of a work item of a fan-out."""
        self._see(work, event)

    def compare_item(
        self,
        work: WorkFold,
        row: ItemFacts | None,
        result: ItemResultFacts | None,
        letter: LetterFacts | None,
    ) -> None:
        """Compares the rows of a work item of a fan-out, after the last event of it."""
        self._note_undecided(work)
        self._compare_row(work, row)
        self._say(dead_letter_row, dead_letter_row(work.letter, letter), step=work.step, item=work.item)
        if not work.undoes and not self.fold.steps[work.step].carried:
            differences = item_result_row(work, result)
            self._say(item_result_row, differences, step=work.step, item=work.item)

    # -- how

    def _work_of(self, event: LoggedEvent) -> WorkFold | None:
        """Returns the work item of an event, if its step has one item."""
        if event.step not in self.fold.steps or event.item is not None:
            return None
        if self.fold.is_fan_out(event.step):
            return None
        return self.fold.work(event.step, undoes=event.undoes)

    def _see(self, work: WorkFold, event: LoggedEvent) -> None:
        record = event.decision
        for one in WORK_LAWS:
            self._note(one, one(work, event), event)
        if record is not None:
            version = record.get("version")
            work.old_version = version != DECIDER_VERSION
            if work.old_version:
                self._tally.other_versions[str(version)] += 1
            else:
                self._tally.decisions += 1
        working.fold_work_event(work, event)
        self._note(decisions_go_on, miscounted(work, event), event)

    def _compare_items(self, rows: Rows) -> None:
        found: dict[tuple[str, bool], ItemFacts] = {}
        for row in rows.items:
            key = (row.step, row.undoes)
            if key in found or row.step not in self.fold.steps:
                self._add(item_row, "the step has more than one work item", step=row.step)
            found[key] = row
        for (step, undoes), work in self.fold.works.items():
            self._compare_row(work, found.pop((step, undoes), None))
        for (step, undoes), row in found.items():
            work_ = self.fold.work(step, undoes=undoes) if step in self.fold.steps else None
            if work_ is not None:
                self._compare_row(work_, row)

    def _compare_letters(self, rows: Rows) -> None:
        found = {(row.step, row.undoes): row for row in rows.letters}
        for (step, undoes), work in self.fold.works.items():
            row = found.pop((step, undoes), None)
            self._say(dead_letter_row, dead_letter_row(work.letter, row), step=step)
        for (step, _), row in found.items():
            self._say(dead_letter_row, dead_letter_row(LetterFold(), row), step=step)

    def _compare_row(self, work: WorkFold, row: ItemFacts | None) -> None:
        self._say(
            item_row,
            item_row(work, row, self.fold),
            step=work.step,
            item=work.item,
            attempt=work.attempt or None,
        )
        if row is not None and work.status in (*OPEN, "new"):
            differences = unfinished_item_has_a_wake_up(row)
            self._say(unfinished_item_has_a_wake_up, differences, step=work.step, item=work.item)

    def _note_undecided(self, work: WorkFold) -> None:
        breach = undecided(work)
        if breach is not None:
            self._add(
                outcome_decided_at_once, breach.message, step=work.step, item=work.item, attempt=work.attempt,
                events=breach.events,
            )  # fmt: skip

    def _note(self, broken: Law, breach: Breach | None, event: LoggedEvent) -> None:
        if breach is not None:
            self._add(
                broken,
                breach.message,
                step=event.step,
                item=event.item,
                attempt=event.attempt,
                events=breach.events,
            )

    def _say(
        self, broken: Law, messages: Iterable[str], *, step: str | None = None, item: int | None = None,
        attempt: int | None = None,
    ) -> None:  # fmt: skip
        for message in messages:
            self._add(broken, message, step=step, item=item, attempt=attempt)

    def _add(
        self, broken: Law, message: str, *, step: str | None = None, item: int | None = None,
        attempt: int | None = None, events: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        self._tally.add(
            LawViolation(broken.name, self.fold.execution_id, message, step, item, attempt, events)
        )
