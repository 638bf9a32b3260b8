"""Charges attempts to the budgets of their trees, and reserves the prices of the next ones, within one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import UNSET
from msgspec.structs import replace

from tenax.model.attempt.outcome import Usage
from tenax.model.decision import Decision, TreeBudget, read_ledger
from tenax.model.events import event
from tenax.model.events.budget_data import BudgetExceededData, ChargedData
from tenax.model.events.types import AttemptCharged, BudgetExceeded
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import PlannedAction
from tenax.policy.retry.budgets import PLACES, price_of
from tenax.store.budgets import budgets, reservations
from tenax.store.budgets.budgets import BudgetRow
from tenax.store.budgets.reservations import Told
from tenax.store.connect import Connection
from tenax.store.journal import Journal

_UNCHECKED = ("until", "snoozed")
"""Rules by which an item runs again without a look at its budget."""


class ChargedItem(Protocol):
    """Is a work item whose attempts are charged to the budget of a tree."""

    @property
    def id(self) -> int: ...
    @property
    def execution_id(self) -> int: ...
    @property
    def step(self) -> str: ...
    @property
    def item_no(self) -> int | None: ...
    @property
    def attempt(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def ledger(self) -> str | None: ...


def is_in_tree(ledger: str | None) -> bool:
    """Returns whether the attempts of an item are charged to the budget of a tree. `ledger` is its stored ledger."""
    return ledger is not None and '"tree"' in ledger


class BudgetBook:
    """Holds the locked budgets of a transaction. Attempts are settled one after the other, and each sees the amounts that the
    earlier ones have left."""

    def __init__(self, rows: dict[int, BudgetRow], told: dict[int, Told]) -> None:
        self._rows = rows
        self._told = told
        for item_id, one in told.items():
            for budget, amount in one.reserved.items():
                if budget in rows:
                    rows[budget].reserved[item_id] = amount
        self._charges: list[tuple[int, float, int]] = []
        self._touched: set[int] = set()
        self._roots: dict[int, BudgetRow] = {}
        self._exceeded: list[int] = []
        self._unpaid: list[int] = []

    @classmethod
    async def open(cls, tx: Connection, items: Sequence[ChargedItem]) -> BudgetBook:
        """Locks the budgets of these items. Their executions and the items themselves are locked already."""
        ids = [item.id for item in items]
        rows = await budgets.lock_budgets(tx, [item.execution_id for item in items], ids)
        return cls(rows, await reservations.load_told(tx, ids))

    def trees(self, item: ChargedItem) -> tuple[TreeBudget, ...]:
        """Returns the budgets of the trees that an item belongs to, as they stand now."""
        path = self._path(item)
        if not path:
            return ()
        key = _key(path[-1], item)
        highest = path[0].highest.get(key)
        return tuple(self._tree(row, item, highest) for row in path if row.is_limit)

    def _path(self, item: ChargedItem) -> list[BudgetRow]:
        own = self._rows.get(item.execution_id)
        return [] if own is None else [self._rows[one] for one in own.path if one in self._rows]

    def _tree(self, row: BudgetRow, item: ChargedItem, highest: list[float] | None) -> TreeBudget:
        beside = [amount for other, amount in row.reserved.items() if other != item.id]
        return TreeBudget(
            row.execution_id,
            row.cost_usd,
            row.tokens,
            row.spent_usd,
            row.spent_tokens,
            round(row.others_usd + sum(cost for cost, _ in beside), PLACES),
            row.others_tokens + sum(tokens for _, tokens in beside),
            row.others + len(beside),
            None if highest is None else highest[0],
            None if highest is None else int(highest[1]),
        )

    def has_reserved(self, item: ChargedItem) -> bool:
        return any(item.id in row.reserved for row in self._path(item))

    def reserve(self, item: ChargedItem, action: PlannedAction) -> None:
        """Reserves the price of the next attempt of an item."""
        ledger = read_ledger(item.ledger, 0.0)
        for tree in self.trees(item):
            price = price_of(action.policy.policy, ledger, tree)
            self._rows[tree.execution_id].reserved[item.id] = price
        self._touched.add(item.id)

    def give_back(self, item: ChargedItem) -> None:
        """Gives back what is reserved for an item."""
        for row in self._path(item):
            row.reserved.pop(item.id, None)
        self._touched.add(item.id)

    def settle(self, journal: Journal, item: ChargedItem, action: PlannedAction, decision: Decision) -> None:
        """Charges an ended attempt, and reserves the price of a retry."""
        before, after = decision.before, decision.after
        self._charge(journal, item, after.cost - before.cost, after.tokens - before.tokens)
        self._note_highest(item, after.highest_cost, after.highest_tokens)
        prices = {tree.execution_id: price_of(action.policy.policy, after, tree) for tree in self.trees(item)}
        self.give_back(item)
        if decision.verdict == "retry" and decision.rule not in _UNCHECKED:
            for execution_id, price in prices.items():
                self._rows[execution_id].reserved[item.id] = price
        elif decision.verdict in ("retry", "hold") and (
            decision.rule in _UNCHECKED or decision.rule == "budget"
        ):
            self._unpaid.append(item.id)
        journal.budgets_changed = True

    def charge_unreported(self, journal: Journal, item: ChargedItem, reason: str) -> None:
        """Charges an attempt that ends without a report: the usage that it reported while it ran, else the reserved price. An
        attempt that was handed back may never have begun, so it is charged only the reported usage."""
        cost, tokens = _used(self._told.get(item.id), assumed=reason != "handed_back")
        if cost or tokens:
            data = ChargedData(cost_usd=cost, tokens=tokens, reason=reason)
            journal.log(
                item.execution_id, event(AttemptCharged, item.step, item.item_no, item.attempt, data=data)
            )
            self._charge(journal, item, cost, tokens)
        journal.budgets_changed = True

    def _charge(self, journal: Journal, item: ChargedItem, cost: float, tokens: int) -> None:
        cost = round(cost, PLACES)
        if not cost and not tokens:
            return
        self._charges.append((item.execution_id, cost, tokens))
        for row in self._path(item):
            was_over = _is_over(row)
            row.spent_usd, row.spent_tokens = round(row.spent_usd + cost, PLACES), row.spent_tokens + tokens
            if _is_over(row) and not was_over:
                self._exceeded.append(row.execution_id)
                data = exceeded_data(row)
                attempt = item.attempt or None
                journal.log(
                    item.execution_id, event(BudgetExceeded, item.step, item.item_no, attempt, data=data)
                )

    def _note_highest(self, item: ChargedItem, cost: float | None, tokens: int | None) -> None:
        path = self._path(item)
        if not path or (cost is None and tokens is None):
            return
        key = _key(path[-1], item)
        known = path[0].highest.get(key, [0.0, 0])
        most = [max(known[0], cost or 0.0), max(known[1], tokens or 0)]
        if path[0].highest.get(key) != most:
            path[0].highest[key] = most
            self._roots[path[0].execution_id] = path[0]

    def forget(self, items: Sequence[int]) -> None:
        """Gives back what is reserved for items that end in this transaction."""
        gone = set(items)
        for row in self._rows.values():
            for item_id in gone & row.reserved.keys():
                del row.reserved[item_id]
                self._touched.add(item_id)

    async def write(self, tx: Connection, now: datetime) -> None:
        """Writes everything. The rows are locked."""
        if self._charges:
            await budgets.charge_budgets(tx, self._charges)
        if self._roots:
            await budgets.note_highest(tx, list(self._roots.values()))
        if self._exceeded:
            await budgets.note_exceeded(tx, self._exceeded, now)
        if self._touched:
            await reservations.drop_reservations(tx, sorted(self._touched))
        reserved = [
            (row.execution_id, item_id, *amount)
            for row in self._rows.values()
            for item_id, amount in row.reserved.items()
            if item_id in self._touched
        ]
        if reserved:
            await reservations.insert_reservations(tx, reserved)
        if self._unpaid:
            await reservations.hold_unpaid(tx, self._unpaid)


async def charge_unreported(
    tx: Connection, journal: Journal, items: Sequence[ChargedItem], reason: str, *, ended: bool = True
) -> None:
    """Charges the running attempts of items that end, or lose their lease, without a report. Reservations of items that have
    ended are given back."""
    if not (concerned := [item for item in items if is_in_tree(item.ledger)]):
        return
    book = await BudgetBook.open(tx, concerned)
    for item in concerned:
        if item.state == "leased":
            book.charge_unreported(journal, item, reason)
        if ended:
            book.give_back(item)
    journal.budgets_changed = True
    await book.write(tx, journal.now)


async def with_told_usage(tx: Connection, ended: Sequence[EndedAttempt]) -> list[EndedAttempt]:
    """Adds the usage that attempts reported while they ran to those that ended without a report."""
    silent = [one.item.id for one in ended if one.item.state == "leased" and one.outcome.usage is None]
    told = await reservations.load_told(tx, silent) if silent else {}
    for one in ended:
        found = told.get(one.item.id)
        if found is not None and (found.used_usd is not None or found.used_tokens is not None):
            one.outcome = replace(one.outcome, usage=Usage(found.used_usd, found.used_tokens))
    return list(ended)


def exceeded_data(row: BudgetRow) -> BudgetExceededData:
    return BudgetExceededData(
        tree=row.execution_id,
        cost_usd=UNSET if row.cost_usd is None else row.cost_usd,
        spent_usd=row.spent_usd,
        tokens=UNSET if row.tokens is None else row.tokens,
        spent_tokens=row.spent_tokens,
    )


def _key(row: BudgetRow, item: ChargedItem) -> str:
    return f"{row.workflow}/{item.step}"


def _used(told: Told | None, *, assumed: bool) -> tuple[float, int]:
    """Returns the charge of a running attempt: the usage that it reported, else the reserved price if `assumed`."""
    if told is None:
        return 0.0, 0
    if told.used_usd is not None or told.used_tokens is not None:
        return told.used_usd or 0.0, told.used_tokens or 0
    if not assumed:
        return 0.0, 0
    return max((cost for cost, _ in told.reserved.values()), default=0.0), max(
        (tokens for _, tokens in told.reserved.values()), default=0
    )


def _is_over(row: BudgetRow) -> bool:
    over_cost = row.cost_usd is not None and round(row.spent_usd - row.cost_usd, PLACES) > 0
    return over_cost or (row.tokens is not None and row.spent_tokens > row.tokens)
