"""Defines the data of events of budgets."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tenax.model.events.data import Compensation
from tenax.model.events.parts import EventData


class BudgetExceededData(EventData):
    tree: (
        Annotated[int, Meta(description="the root of the tree that has the budget; absent if an item has it")]
        | UnsetType
    ) = UNSET
    cost_usd: Annotated[float, Meta(description="the limit")] | UnsetType = UNSET
    spent_usd: float
    tokens: Annotated[int, Meta(description="the limit")] | UnsetType = UNSET
    spent_tokens: int


class ChargedData(EventData):
    cost_usd: float
    tokens: int
    reason: Annotated[str, Meta(description="`cancelled`, `handed_back` or `operator`")]
    compensation: Compensation = UNSET
