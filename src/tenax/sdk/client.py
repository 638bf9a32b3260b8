"""Speaks to a Tenax server: submits executions, follows them and acts on them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, cast
from urllib.parse import quote

import orjson
from msgspec import structs

from tenax.credentials.private_variables import own_variables
from tenax.credentials.token_file import own_token
from tenax.errors import TenaxError, UsageError
from tenax.model.wire import Submission, Submitted
from tenax.sdk.files import read_definition
from tenax.sdk.pack_client import PackClient
from tenax.sdk.problems import check_answer
from tenax.sdk.servers import Servers
from tenax.sdk.tasks.failures import result_of
from tenax.sdk.tasks.waiting import wait_for_end
from tenax.settings.home import find_home

VERIFY_SECONDS = 600.0
"""Seconds that one request to check executions may take. A page ends after a few seconds, but one execution may be huge."""
ARCHIVE = "application/x-tar"  # the media type of a pack, the only body that is no JSON
VERSION_HEADER = "tenax-version"  # in every answer of a Tenax server


class Client(PackClient):
    """Calls the HTTP API of a server. Use it as `async with Client(url, token) as client:`, or call `await client.close()`.

    Without a URL it reads `TENAX_SERVER`, and without a token `TENAX_TOKEN`, or the token in `$TENAX_HOME` for a server on loopback.
    Given several URLs with commas between them, it speaks to one that answers.
    """

    def __init__(
        self, server_url: str | None = None, token: str | None = None, *, timeout: float = 30.0
    ) -> None:
        server_url = server_url or _named_server()
        token = own_token(server_url, token or own_variables().get("TENAX_TOKEN") or None, find_home)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._servers = Servers(server_url, headers=headers, timeout=timeout)
        self._timeout = timeout

    async def submit(self, submission: Submission) -> Submitted:
        known = submission.key is not None
        body = await self._call("POST", "/v1/executions", body=submission, repeatable=known)
        return Submitted(id=body["id"], created=body["created"])

    async def submit_file(
        self,
        path: str | Path,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the contract
        key: str | None = None,
    ) -> Submitted:
        """Submits a workflow from its file. Also reads the files that its `file:` steps name."""
        from tenax.sdk.bundle import submission_of

        def read() -> Submission:
            return submission_of(read_definition(path), input=input, key=key)

        return await self.submit(await asyncio.to_thread(read))

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submits all of the executions or none."""
        body, known = {"submissions": list(submissions)}, all(one.key is not None for one in submissions)
        answers = await self._call("POST", "/v1/executions/batch", body=body, repeatable=known)
        return [Submitted(id=answer["id"], created=answer["created"]) for answer in answers]

    async def check_many(self, submissions: Sequence[Submission]) -> Any:
        """Checks submissions and starts nothing. Returns `{place, error}` for each wrong one."""
        body = {"submissions": list(submissions)}
        return await self._call("POST", "/v1/executions/batch/check", body=body, repeatable=True)

    async def get(self, execution_id: int) -> dict[str, Any]:
        """Returns the current state of the execution: `id`, `status`, `result`, `steps`, ..."""
        return cast("dict[str, Any]", await self._call("GET", f"/v1/executions/{execution_id}"))

    async def list(
        self,
        *,
        filter: str | None = None,  # noqa: A002 -- the word of the command
        status: str | None = None,
        workflow: str | None = None,
        since: str | None = None,
        limit: int | None = None,
        before: int | None = None,
        top: bool = False,
        compensation: str | None = None,
    ) -> Any:
        """Lists executions, the newest first.

        `filter` is a text such as `status=failed workflow=sync-* since=2h`; the arguments after it are short forms of terms.
        `before` is the id of the last execution of the previous page. `top` leaves out executions that others started.
        `compensation` selects executions by the state of their compensations: `failed`.
        """
        query = {"status": status, "workflow": workflow, "since": since, "limit": limit, "before": before}
        query |= {"top": "true" if top else None, "compensation": compensation, "filter": filter}
        return await self._call("GET", "/v1/executions", query=query)

    async def events(self, execution_id: int, *, after: int = 0) -> Sequence[dict[str, Any]]:
        """Returns the recorded events with a sequence number above `after`."""
        answer = await self._call("GET", f"/v1/executions/{execution_id}/events", query={"after": after})
        return cast("Sequence[dict[str, Any]]", answer)

    async def news(self, execution_id: int, *, cursor: str | None = None, wait: float = 0) -> dict[str, Any]:
        """Returns `{"events": [...], "cursor": ...}`: the events since the cursor, or all events without one.

        Waits up to `wait` seconds for the first event. Pass the new cursor to the next call, so that no event is missed.
        """
        query = {"cursor": cursor, "wait": wait or None}
        path = f"/v1/executions/{execution_id}/news"
        answer = await self._call("GET", path, query=query, timeout=self._timeout + wait)
        return cast("dict[str, Any]", answer)

    async def explain(
        self,
        execution_id: int,
        *,
        step: str | None = None,
        item: int | None = None,
        attempt: int | None = None,
    ) -> Any:
        query = {"step": step, "item": item, "attempt": attempt}
        return await self._call("GET", f"/v1/executions/{execution_id}/explain", query=query)

    async def verify(
        self, execution_id: int | None = None, *, after: int = 0, since: str | None = None
    ) -> dict[str, Any]:
        """Checks the next executions with an id above `after` against all laws.

        Pass the answer's `next` as `after` to the next call, until it is None.
        """
        query = {"execution": execution_id, "since": since, "after": after}
        answer = await self._call("GET", "/v1/verify", query=query, timeout=VERIFY_SECONDS)
        return cast("dict[str, Any]", answer)

    async def items(
        self,
        execution_id: int,
        step: str,
        *,
        status: str | None = None,
        after: int | None = None,
        limit: int | None = None,
    ) -> Any:
        """Lists the items of a fan-out in the order of its list. `after` is the number of the last item of the previous page."""
        query = {"status": status, "after": after, "limit": limit}
        return await self._call("GET", f"{_step(execution_id, step)}/items", query=query)

    async def progress(self, execution_id: int) -> Any:
        """Tells how far the running steps are: `[{step, fraction, message, seconds_left, ...}]`."""
        return await self._call("GET", f"/v1/executions/{execution_id}/progress")

    async def logs(
        self,
        execution_id: int,
        *,
        step: str | None = None,
        item: int | None = None,
        attempt: int | None = None,
        after: int = 0,
    ) -> dict[str, Any]:
        """Returns `{"chunks": [...], "cursor": ..., "more": ...}`: what attempts have printed, after the cursor of an earlier answer."""
        query = {"step": step, "item": item, "attempt": attempt, "after": after or None}
        return cast(
            "dict[str, Any]", await self._call("GET", f"/v1/executions/{execution_id}/logs", query=query)
        )

    async def tree(self, execution_id: int) -> dict[str, Any]:
        """Returns the execution with all executions below it: its children, their children, and so on."""
        return cast("dict[str, Any]", await self._call("GET", f"/v1/executions/{execution_id}/tree"))

    async def cancel(self, execution_id: int, *, reason: str | None = None) -> Any:
        return await self._call("POST", f"/v1/executions/{execution_id}/cancel", body={"reason": reason})

    async def retry(
        self,
        execution_id: int,
        *,
        step: str | None = None,
        item: int | None = None,
        new: bool = False,
        input: Mapping[str, Any] | None = None,  # noqa: A002 -- the word of the API
        reason: str | None = None,
    ) -> Any:
        """Runs waiting retries now, and gives what failed one more attempt. With `new`, all of a finished execution runs
        again as a new one, with these inputs changed."""
        body = {"step": step, "item": item, "new": new, "input": input, "reason": reason}
        return await self._call("POST", f"/v1/executions/{execution_id}/retry", body=body)

    async def act(
        self,
        /,
        action: Literal["reset", "resolve", "complete", "fail", "reschedule"],
        execution_id: int,
        *,
        step: str | None = None,
        item: int | None = None,
        reason: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Acts on a step or an item of an execution. `complete` needs a `result`, `reschedule` a `policy`, and all but
        `reschedule` need a reason."""
        body = {"step": step, "item": item, "reason": reason, **more}
        answer = await self._call("POST", f"/v1/executions/{execution_id}/{action}", body=body)
        return cast("dict[str, Any]", answer)

    async def pause(self, execution_id: int, *, reason: str | None = None) -> Any:
        """Pauses the execution: nothing of it starts any more, and running attempts may finish."""
        return await self._call("POST", f"/v1/executions/{execution_id}/pause", body={"reason": reason})

    async def resume(self, execution_id: int, *, reason: str | None = None) -> Any:
        return await self._call("POST", f"/v1/executions/{execution_id}/resume", body={"reason": reason})

    async def signal(
        self,
        execution_id: int,
        name: str,
        *,
        data: Any = None,
        key: str | None = None,
        reason: str | None = None,
    ) -> Any:
        """Sends a signal to the step that waits for it, now or later. A repeated `key` sends the signal only once."""
        body = {"name": name, "data": data, "key": key} | ({} if reason is None else {"reason": reason})
        return await self._call("POST", f"/v1/executions/{execution_id}/signals", body=body)

    async def approve(
        self, execution_id: int, step: str, *, item: int | None = None, reason: str | None = None
    ) -> Any:
        """Approves a step that waits for an approval, or one item of its fan-out."""
        body = {"item": item, "reason": reason}
        return await self._call("POST", f"{_step(execution_id, step)}/approve", body=body)

    async def reject(
        self, execution_id: int, step: str, *, item: int | None = None, reason: str | None = None
    ) -> Any:
        body = {"item": item, "reason": reason}
        return await self._call("POST", f"{_step(execution_id, step)}/reject", body=body)

    async def store_workflow(
        self, source: str, *, filename: str | None = None, files: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Stores a definition without running it. `files` has the texts of the files that its `file:` steps name, by path."""
        body = {"source": source, "filename": filename, "files": dict(files or {})}
        return cast("dict[str, Any]", await self._call("POST", "/v1/workflows", body=body))

    async def workflows(self, name: str | None = None) -> Any:
        """Lists the stored definitions, or all versions of the definition with this name."""
        return await self._call("GET", "/v1/workflows", query={"name": name})

    async def wait(
        self,
        execution_id: int,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 -- a limit of the wait, and not of the execution
    ) -> dict[str, Any]:
        """Waits until the execution is finished and returns it, whether it completed or not. Logs a warning if work is held.

        Raises `TimeoutError` if it is not finished after `timeout` seconds. The execution goes on.
        """
        return await wait_for_end(self, execution_id, timeout)

    async def result(
        self,
        execution_id: int,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 -- a limit of the wait, and not of the execution
    ) -> Any:
        """Waits until the execution is finished and returns its result.

        Raises `TaskFailed` if it failed or was cancelled, and `TimeoutError` if it is not finished after `timeout` seconds.
        """
        return await result_of(self, await self.wait(execution_id, timeout=timeout))

    async def healthy(self) -> bool:
        return await self._answers("/healthz")

    async def ready(self) -> bool:
        return await self._answers("/readyz")

    async def close(self) -> None:
        await self._servers.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(
        self,
        method: Literal["GET", "POST", "PUT", "DELETE"],
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the HTTP client's own, not a scope of ours
        repeatable: bool = False,
    ) -> Any:
        raw = isinstance(body, bytes)
        response = await self._servers.request(
            method,
            path,
            repeatable=repeatable or method != "POST",
            params={name: value for name, value in (query or {}).items() if value is not None},
            content=body if body is None or raw else orjson.dumps(body, default=structs.asdict),
            headers=None if body is None else {"content-type": ARCHIVE if raw else "application/json"},
            timeout=self._timeout if timeout is None else timeout,
        )
        if VERSION_HEADER not in response.headers and _speaks_for_itself(response.status_code):
            raise self._not_tenax()
        content = check_answer(response).content
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise self._not_tenax() from error

    def _not_tenax(self) -> TenaxError:
        """Returns the error for an answer of another program. It is not `Unreachable`, because asking again would not help."""
        return TenaxError(
            f"the program that answers at {self._servers.current} is not a Tenax server",
            remedy="is the address right? (--server or TENAX_SERVER)",
        )

    async def _answers(self, path: str) -> bool:
        response = await self._servers.request("GET", path, repeatable=True)
        return response.is_success and VERSION_HEADER in response.headers


def _named_server() -> str:
    named = own_variables().get("TENAX_SERVER")
    if not named:
        raise UsageError("no server is named", remedy="Client(URL), or set TENAX_SERVER")
    return named


def _step(execution_id: int, step: str) -> str:
    return f"/v1/executions/{execution_id}/steps/{quote(step, safe='')}"


def _speaks_for_itself(status: int) -> bool:
    """Returns whether a foreign answer comes from the program at the address itself, and not from a proxy in between."""
    return status < 400 or status in (404, 405)
