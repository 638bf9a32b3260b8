"""Defines the tasks of `export.yaml`. Real tasks would call a service."""

from __future__ import annotations

from typing import Any

from tenax import TaskContext, task

_ROWS = ["ada", "ben", "cyd", "dan", "eve"]
_PAGE = 2


@task
def start() -> dict[str, str]:
    return {"job": "J-17"}


@task
def look(job: str, seen: int) -> dict[str, Any]:
    """Reports the progress of a job, which gains 40 % between two calls."""
    percent = min(seen + 40, 100)
    return {"job": job, "percent": percent, "state": "done" if percent == 100 else "busy"}


@task
def fetch_page(job: str, cursor: int, rows: list[str], ctx: TaskContext) -> dict[str, Any]:
    """Fetches one page. A page that fails is fetched again, and earlier pages are not."""
    if ctx.attempt == 2:
        raise ConnectionError(f"the page of {job} from row {cursor} on did not arrive")
    after = cursor + _PAGE
    return {"rows": rows + _ROWS[cursor:after], "cursor": after if after < len(_ROWS) else None}
