"""Reads the submissions that applications made by `tenax.submit`, for the server that starts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenax.store.connect import Connection
from tenax.store.statements import sql


class RequestedSubmission(NamedTuple):
    """Is a submission that an application made in its own transaction. `files` and `input` are JSON."""

    execution_id: int
    workflow: str | None
    source: str | None
    filename: str | None
    base_dir: str | None
    files: str | None
    input: str | None
    key: str | None


async def find_requests(tx: Connection, but: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Finds the ids of the next requests, without these, and the bytes of each."""
    return [(row[0], row[1]) for row in await tx.fetch(sql("find_requested_submissions"), but, limit)]


async def lock_requests(tx: Connection, ids: Sequence[int]) -> list[RequestedSubmission]:
    """Locks the requests that no other server is starting."""
    return [RequestedSubmission(*row) for row in await tx.fetch(sql("lock_requested_submissions"), ids)]


async def delete_requests(tx: Connection, ids: Sequence[int]) -> None:
    await tx.execute(sql("delete_requested_submissions"), ids)


async def limit_submissions(tx: Connection, most: int) -> None:
    """Stores the bytes that one submission may have, for `tenax.submit`."""
    await tx.execute(sql("limit_submissions"), most)
