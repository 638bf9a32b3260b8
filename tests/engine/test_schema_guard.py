"""Tests that a server whose database was migrated too far writes nothing more."""

from __future__ import annotations

import pytest

from tenax.errors import SchemaOutdated
from tenax.model.wire import Submission
from tenax.store.migrate import latest_version

SOURCE = "name: x\nworkflow: [{step: a, type: python, task: t}]\n"


async def test_as_long_as_the_schema_fits_it_goes_on(hand) -> None:
    guard = hand.engine.maintenance.schema
    for oldest in (1, latest_version()):
        await hand.sql("update tenax.service set oldest_schema = $1", oldest)
        await guard.check()
    assert not guard.outdated.is_set()


async def test_a_schema_that_is_too_new_ends_all_work(hand) -> None:
    guard, newer = hand.engine.maintenance.schema, latest_version() + 1
    execution_id, assignment = await hand.start()
    await hand.sql("update tenax.service set oldest_schema = $1", newer)
    await guard.check()
    assert guard.outdated.is_set()
    for verb in (
        lambda: hand.engine.submit([Submission(source=SOURCE)]),
        lambda: hand.succeed(assignment),
        lambda: hand.engine.get(execution_id),
        lambda: hand.register("w2"),
    ):
        with pytest.raises(SchemaOutdated, match=f"wants servers that know schema {newer}") as raised:
            await verb()
        assert "install the version" in str(raised.value.remedy)
