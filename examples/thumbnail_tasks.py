"""Defines the tasks of `thumbnails.yaml`."""

from __future__ import annotations

from typing import Any

from tenax import Fatal, TaskContext, task


@task
def shrink(photo: str, ctx: TaskContext) -> str:
    name, _, kind = photo.rpartition(".")
    if kind == "txt":
        raise Fatal(f"{photo} is not a picture: a retry would not help")
    if kind == "raw" and ctx.attempt == 1:
        raise ConnectionError("the service that reads raw pictures is busy")
    return f"{name}-small.jpg"


@task
def make_album(thumbnails: list[str | None], failures: list[dict[str, Any]]) -> dict[str, Any]:
    """Makes an album of the thumbnails. `item` of a failure is its number in the list, from 0."""
    return {
        "pages": [name for name in thumbnails if name is not None],
        "left_out": [f"number {one['item'] + 1}: {one['message']}" for one in failures],
    }
