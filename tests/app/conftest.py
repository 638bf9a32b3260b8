"""Applications on a database, and through a server on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from support.serve.served import start_server

from tenax import Tenax
from tenax.settings import Settings


@pytest.fixture
def on_database(database_url: str, tmp_path: Path) -> Callable[[], Tenax]:
    return partial(Tenax, database_url, home=tmp_path)


@pytest.fixture
def on_server(database_url: str, tmp_path: Path) -> Iterator[Callable[[], Tenax]]:
    served = start_server(Settings(home=tmp_path, database_url=database_url, port=0))
    yield partial(Tenax, served.url, token=served.token("admin"), home=tmp_path)
    served.stop()


@pytest.fixture(params=["on_database", "on_server"])
def make_app(request: pytest.FixtureRequest) -> Callable[[], Tenax]:
    made: Callable[[], Tenax] = request.getfixturevalue(request.param)
    return made
