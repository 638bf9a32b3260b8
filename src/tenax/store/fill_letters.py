"""Fills the table of dead letters from the log of a database that had none yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from tenax.model.json_text import decode, encode
from tenax.model.letters.fingerprint import fingerprint_of
from tenax.model.letters.letter import LetterPlace
from tenax.policy.laws.facts import LoggedEvent
from tenax.policy.laws.letters import LetterFold
from tenax.store.statements import sql

EXECUTIONS_AT_ONCE = 500
ONE_DAY = 86_400.0
"""Seconds that the search of the whole log may take."""
ROWS_AT_ONCE = 200
"""Rows of the log that a cursor fetches together."""


async def fill_letters(connection: asyncpg.Connection) -> None:
    """Writes the letters that the events of all executions determine. Their items are gone, but for held ones, so most
    letters get new ids."""
    rows = await connection.fetch(sql("find_failed_executions"), timeout=ONE_DAY)
    found = [row["execution_id"] for row in rows]
    for start in range(0, len(found), EXECUTIONS_AT_ONCE):
        await _fill(connection, found[start : start + EXECUTIONS_AT_ONCE])


@dataclass(slots=True)
class _Folds:
    """The letters of one execution after its events so far."""

    execution_id: int
    by_place: dict[LetterPlace, LetterFold] = field(default_factory=dict)

    def see(self, row: Mapping[str, Any]) -> None:
        for number, body in enumerate(decode(row["events"])):
            if body.get("step") is None:
                continue
            event = LoggedEvent(
                row["id"] + number, body["type"], row["at"], body["step"], body.get("item"), body.get("attempt"),
                data=body.get("data") or {},
            )  # fmt: skip
            place = LetterPlace(self.execution_id, body["step"], event.item, event.undoes)
            self.by_place.setdefault(place, LetterFold()).see(event)

    def letters(self) -> list[dict[str, Any]]:
        return [
            _letter(place, letter) for place, letter in self.by_place.items() if letter.status is not None
        ]


def _letter(place: LetterPlace, letter: LetterFold) -> dict[str, Any]:
    shown = {name: getattr(letter, name) for name in LetterFold.__slots__ if name != "failure"}
    shown["fingerprint"] = fingerprint_of(letter.failure_class, letter.reason, place.step, letter.message)
    return {**place._asdict(), **shown}


async def _fill(connection: asyncpg.Connection, executions: list[int]) -> None:
    folds: _Folds | None = None
    letters: list[dict[str, Any]] = []
    async for row in connection.cursor(sql("verify_log"), executions, prefetch=ROWS_AT_ONCE):
        if folds is None or folds.execution_id != row["execution_id"]:
            letters += folds.letters() if folds is not None else ()
            folds = _Folds(row["execution_id"])
        folds.see(row)
    letters += folds.letters() if folds is not None else ()
    await connection.execute(sql("fill_letters"), encode(letters))
