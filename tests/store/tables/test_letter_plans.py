"""Each statement on dead letters reads what it needs by an index, however many letters there are."""

from __future__ import annotations

from typing import Any

import pytest
from support.connections import connected
from support.statements.query_plans import Explaining, rows_read

from tenax.model.filters.letters import LetterFilter
from tenax.store.selection import letters

LETTERS = """
insert into tenax.dead_letter (item_id, execution_id, workflow, step, compensates, status, tolerated, rule, class, reason, message,
                               fingerprint, attempts, failed_times, first_at, last_at, changed_at)
select n, n, 'w' || n % 50, 's', false, case when n % 100 = 0 then 'open' else 'recovered' end, false, 'r', 'transient', 'http_503',
       'no', 'group ' || n % 2000, 1, 1, tenax.now(), tenax.now() + n * interval '1 s', tenax.now()
  from generate_series(1, 50000) as n
"""


@pytest.mark.parametrize(
    ("index", "most", "call"),
    [
        ("dead_letter_newest", 200, lambda tx: letters.list_letters(tx, LetterFilter(), before=None, limit=50)),
        ("dead_letter_newest", 2000, lambda tx: letters.group_letters(tx, LetterFilter(), 20)),
        ("dead_letter_group", 300, lambda tx: letters.find_open_letters(tx, LetterFilter(fingerprint="group 100"), 500)),
        ("dead_letter_pkey", 10, lambda tx: letters.get_letters(tx, [7])),
    ],
)  # fmt: skip
async def test_a_statement_reads_by_its_index(database_url: str, index: str, most: int, call: Any) -> None:
    async with connected(database_url) as connection:
        await connection.execute(LETTERS)
        await connection.execute("analyze tenax.dead_letter")
        explaining = Explaining(connection)
        await call(explaining)
    reading = explaining.reading("dead_letter")
    assert index in {node.get("Index Name") for node in explaining.nodes}
    assert "Seq Scan" not in {node["Node Type"] for node in reading}
    assert rows_read(reading) <= most
