"""The statements, one to a file under `sql/queries`, by name."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> str:
    return files("tenax").joinpath("sql", "queries", f"{name}.sql").read_text("utf-8")
