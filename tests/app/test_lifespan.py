"""Tests the lifespan that an application gives to a web server in whose process it runs."""

from __future__ import annotations

import pytest
from support.tasks import shop

from tenax.errors import UsageError


async def test_it_opens_the_application_with_a_worker(make_app):
    app = make_app()
    async with app.lifespan(slots=2)(None):
        assert await (await shop.double.submit(21)).result(timeout=30) == 42
        [worker] = await app.client.workers()
        assert worker["slots"] == 2
    with pytest.raises(UsageError, match="not open"):
        _ = app.client


async def test_it_may_leave_the_work_to_workers_elsewhere(make_app):
    app = make_app()
    async with app.lifespan(worker=False)(None):
        handle = await shop.double.submit(21)
        assert await handle.status() == "running"
        assert await app.client.workers() == []
