"""Tests where root accepts a place for a database."""

from __future__ import annotations

import os

import pytest

from tenax.errors import Unreachable
from tenax.store.embedded.location import find_place

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")


@as_root
@pytest.mark.parametrize("name", ["postgres", "postgres.place"])
def test_root_refuses_a_place_of_somebody_else(open_folder, name):
    (open_folder / name).mkdir()
    os.chown(open_folder / name, 12345, 12345)
    with pytest.raises(
        Unreachable, match=f"{name} belongs to uid 12345, and root starts PostgreSQL only"
    ) as caught:
        find_place(open_folder)
    assert "TENAX_HOME" in caught.value.remedy


@as_root
def test_root_refuses_a_place_that_everyone_can_write(open_folder):
    (open_folder / "postgres").mkdir()
    (open_folder / "postgres").chmod(0o777)
    with pytest.raises(Unreachable, match="postgres can be written by everyone"):
        find_place(open_folder)
