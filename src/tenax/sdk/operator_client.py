"""Calls the server for operators: dead letters, bulk jobs, metrics, workers, queues and tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast
from urllib.parse import quote


class OperatorClient(ABC):
    """Has the methods of a client with which operators look after a server."""

    @abstractmethod
    async def _call(
        self,
        method: Literal["GET", "POST", "PUT", "DELETE"],
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
    ) -> Any: ...

    async def diagnose(
        self, execution_id: int, *, step: str | None = None, item: int | None = None
    ) -> dict[str, Any]:
        """Explains why an execution, a step or an item is in its state: `sentence`, `doors`, `next`, `remedies`."""
        query = {"step": step, "item": item}
        answer = await self._call("GET", f"/v1/executions/{execution_id}/diagnosis", query=query)
        return cast("dict[str, Any]", answer)

    async def diagnose_worker(self, name: str) -> dict[str, Any]:
        """Explains why a worker gets no work."""
        return cast("dict[str, Any]", await self._call("GET", f"{_worker(name)}/diagnosis"))

    async def diagnose_queue(self, name: str) -> dict[str, Any]:
        """Explains why a queue does not move."""
        answer = await self._call("GET", f"/v1/queues/{quote(name, safe='')}/diagnosis")
        return cast("dict[str, Any]", answer)

    async def dead_letters(
        self,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 -- the name in the API
        *,
        before: int | None = None,
        limit: int | None = None,
    ) -> Any:
        """Lists dead letters, the newest failure first, by default the open ones.

        `filter` has `execution`, `workflow`, `step`, `class`, `reason`, `fingerprint`, `status`, `all`, `since` and `until`,
        or `filter`: a filter of dead letters as text.
        `before` is the id of the last letter of the previous page.
        """
        query = {**(filter or {}), "before": before, "limit": limit}
        return await self._call("GET", "/v1/dead-letters", query=query)

    async def dead_letter_groups(
        self,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 -- the name in the API
        *,
        limit: int | None = None,
    ) -> Any:
        """Groups dead letters by their cause, the largest group first. `filter` is as in `dead_letters`."""
        query = {**(filter or {}), "limit": limit}
        return await self._call("GET", "/v1/dead-letters/groups", query=query)

    async def dead_letter(self, letter_id: int) -> dict[str, Any]:
        """Returns one dead letter with the `history` of its item, its last `failure` and the `explanation` of the decision."""
        return cast("dict[str, Any]", await self._call("GET", f"/v1/dead-letters/{letter_id}"))

    async def redrive(self, ids: Sequence[int], *, reason: str | None = None) -> Any:
        """Starts the items of dead letters again, all of them or none."""
        return await self._call("POST", "/v1/dead-letters/redrive", body={"ids": ids, "reason": reason})

    async def redrive_matching(
        self,
        filter: Mapping[str, Any] | str,  # noqa: A002 -- the field's name
        *,
        reason: str,
        rate: float | None = None,
        canary: int | None = None,
        max_failed: float | None = None,
        preview: bool = False,
    ) -> int:
        """Starts the items of the dead letters that fit `filter` again, by a bulk job. Returns its number. With `preview`
        the job waits for `start_bulk_job`."""
        body = {"filter": filter, "reason": reason, "rate": rate, "canary": canary, "max_failed": max_failed}
        answer = await self._call("POST", "/v1/dead-letters/redrive", body={**body, "preview": preview})
        return int(answer["bulk"])

    async def discard(
        self,
        ids: Sequence[int] = (),
        *,
        note: str,
        filter: Mapping[str, Any] | str | None = None,  # noqa: A002 -- the field's name
    ) -> Any:
        """Discards dead letters: those with these ids, or the open ones that fit `filter`. An empty filter is refused."""
        body = {"ids": list(ids) or None, "filter": filter, "note": note}
        return await self._call("POST", "/v1/dead-letters/discard", body=body)

    async def workers(self, *, all: bool = False) -> Any:  # noqa: A002 -- the parameter's name
        """Lists the live workers with their health. `all` includes the workers that are gone."""
        return await self._call("GET", "/v1/workers", query={"all": "true" if all else None})

    async def worker(self, name: str) -> dict[str, Any]:
        """Returns one worker with the `columns` of its health, its `leases` and its last `events`."""
        return cast("dict[str, Any]", await self._call("GET", _worker(name)))

    async def pause_worker(self, name: str, *, reason: str | None = None) -> Any:
        """Pauses the worker: it gets no new work until it is resumed."""
        return await self._call("POST", f"{_worker(name)}/pause", body={"reason": reason})

    async def drain_worker(self, name: str, *, reason: str | None = None) -> Any:
        """Drains the worker: it gets no new work, finishes its running attempts, and ends."""
        return await self._call("POST", f"{_worker(name)}/drain", body={"reason": reason})

    async def resume_worker(self, name: str, *, reason: str | None = None) -> Any:
        return await self._call("POST", f"{_worker(name)}/resume", body={"reason": reason})

    async def release_worker(self, name: str, *, reason: str | None = None) -> Any:
        return await self._call("POST", f"{_worker(name)}/release", body={"reason": reason})

    async def queues(self) -> Any:
        """Lists the queues that have work, workers or limits."""
        return await self._call("GET", "/v1/queues")

    async def limit_queue(
        self,
        queue: str,
        *,
        concurrency: int | None = None,
        rate: float | None = None,
        burst: int | None = None,
        reason: str | None = None,
    ) -> Any:
        """Replaces the limits of a queue.

        `concurrency` limits the running attempts, `rate` the starts per second, and `burst` the starts at once. None means that
        there is no such limit.
        """
        body = {"concurrency": concurrency, "rate": rate, "burst": burst, "reason": reason}
        return await self._call("PUT", f"/v1/queues/{quote(queue, safe='')}/limits", body=body)

    async def pause_queue(self, queue: str, *, reason: str | None = None) -> Any:
        """Pauses the queue: none of its items starts until it is resumed."""
        path = f"/v1/queues/{quote(queue, safe='')}/pause"
        return await self._call("POST", path, body={"reason": reason})

    async def resume_queue(self, queue: str, *, reason: str | None = None) -> Any:
        path = f"/v1/queues/{quote(queue, safe='')}/resume"
        return await self._call("POST", path, body={"reason": reason})

    async def pause_workflow(self, name: str, *, reason: str | None = None) -> Any:
        """Pauses the workflow: its executions are paused, and so is each new one, until it is resumed."""
        return await self._call(
            "POST", f"/v1/workflows/{quote(name, safe='')}/pause", body={"reason": reason}
        )

    async def resume_workflow(self, name: str, *, reason: str | None = None) -> Any:
        """Resumes the workflow, with the executions that were paused with it."""
        return await self._call(
            "POST", f"/v1/workflows/{quote(name, safe='')}/resume", body={"reason": reason}
        )

    async def alerts(self) -> Any:
        """Returns the alerts, each with its value and whether it fires."""
        return await self._call("GET", "/v1/alerts")

    async def overview(self) -> Any:
        """Returns the figures, throughput, queues, workers and failures that `tenax top` shows."""
        return await self._call("GET", "/v1/overview")

    async def stats(self, *, by: str = "reason", since: str | None = None, until: str | None = None) -> Any:
        """Returns how often retries succeeded and the time that they cost, by `reason`, `step`, `class` or `worker`. Times are
        RFC 3339, or durations such as 2h."""
        return await self._call("GET", "/v1/stats", query={"by": by, "since": since, "until": until})

    async def audit(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since: str | None = None,
        until: str | None = None,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> Any:
        """Lists who did what, to what, when and why, the newest first. A target is a kind (`queue`) or one of it (`queue:mails`)."""
        query = {
            "actor": actor, "action": action, "target": target, "since": since, "until": until, "before": before, "after": after,
            "limit": limit,
        }  # fmt: skip
        return await self._call("GET", "/v1/audit", query=query)

    async def audit_names(self) -> Any:
        """Lists the actors and the actions that occur in the audit."""
        return await self._call("GET", "/v1/audit/names")

    async def filters(self) -> Any:
        """Lists the filters that were saved by name."""
        return await self._call("GET", "/v1/filters")

    async def save_filter(self, name: str, text: str) -> Any:
        """Saves a filter by name, in the place of an earlier one. `@NAME` in another filter stands for its terms."""
        return await self._call("PUT", f"/v1/filters/{quote(name, safe='')}", body={"filter": text})

    async def remove_filter(self, name: str) -> Any:
        return await self._call("DELETE", f"/v1/filters/{quote(name, safe='')}")

    async def schedules(self) -> Any:
        """Lists the schedules by name."""
        return await self._call("GET", "/v1/schedules")

    async def schedule(self, name: str) -> dict[str, Any]:
        """Returns one schedule with its `next_ticks` and its newest `runs`."""
        return cast("dict[str, Any]", await self._call("GET", _schedule(name)))

    async def next_ticks(self, name: str, n: int = 10) -> Any:
        """Returns the next ticks of a schedule, as `ticks`."""
        return await self._call("GET", f"{_schedule(name)}/next", query={"n": n})

    async def create_schedule(
        self, name: str, schedule: Mapping[str, Any], *, workflow: str | None = None
    ) -> Any:
        """Creates a schedule of a stored workflow, by default the one of its own name. `schedule` has the keys of a file's
        `schedule`."""
        body = {"schedule": dict(schedule), "workflow": workflow}
        return await self._call("PUT", _schedule(name), body=body)

    async def pause_schedule(self, name: str, *, reason: str | None = None) -> Any:
        """Pauses a schedule: no tick starts an execution, and none is made up for."""
        return await self._call("POST", f"{_schedule(name)}/pause", body={"reason": reason})

    async def resume_schedule(self, name: str, *, reason: str | None = None) -> Any:
        return await self._call("POST", f"{_schedule(name)}/resume", body={"reason": reason})

    async def run_schedule(self, name: str, *, reason: str | None = None) -> Any:
        """Starts an execution of a schedule now. Returns its `execution_id`."""
        return await self._call("POST", f"{_schedule(name)}/run", body={"reason": reason})

    async def delete_schedule(self, name: str) -> Any:
        return await self._call("DELETE", _schedule(name))

    async def create_bulk_job(
        self,
        /,
        action: str,
        filter: str,  # noqa: A002 -- the word of the command
        *,
        reason: str,
        rate: float | None = None,
        canary: int | None = None,
        max_failed: float | None = None,
        step: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Makes a bulk job as a preview with the executions that the filter selects now.

        `start_bulk_job` starts it. The action `complete` needs a `result`, and `reschedule` a `policy`. The filter of the
        action `redrive` selects dead letters.
        """
        body = {"action": action, "filter": filter, "reason": reason, "rate": rate, "canary": canary}
        answer = await self._call(
            "POST", "/v1/bulk", body={**body, "max_failed": max_failed, "step": step, **more}
        )
        return cast("dict[str, Any]", answer)

    async def bulk_jobs(self, *, limit: int | None = None) -> Any:
        """Lists the bulk jobs, the newest first."""
        return await self._call("GET", "/v1/bulk", query={"limit": limit})

    async def bulk_job(self, job_id: int) -> Any:
        return await self._call("GET", f"/v1/bulk/{job_id}")

    async def start_bulk_job(self, job_id: int) -> Any:
        return await self._call("POST", f"/v1/bulk/{job_id}/start")

    async def stop_bulk_job(self, job_id: int, *, reason: str | None = None) -> Any:
        """Stops a bulk job: it acts on no further execution."""
        return await self._call("POST", f"/v1/bulk/{job_id}/stop", body={"reason": reason})

    async def resume_bulk_job(self, job_id: int, *, reason: str | None = None) -> Any:
        """Continues a stopped bulk job, even if its canary failed."""
        return await self._call("POST", f"/v1/bulk/{job_id}/resume", body={"reason": reason})

    async def list_tokens(self) -> Any:
        """Lists all tokens, including revoked ones, without their secrets. Only admins may call the methods for tokens."""
        return await self._call("GET", "/v1/tokens")

    async def create_token(self, name: str, role: str) -> dict[str, Any]:
        """Creates a token. Returns its `id`, `name`, `role` and `token`. The secret `token` cannot be read again later."""
        answer = await self._call("POST", "/v1/tokens", body={"name": name, "role": role})
        return cast("dict[str, Any]", answer)

    async def revoke_token(self, token_id: int) -> Any:
        return await self._call("POST", f"/v1/tokens/{token_id}/revoke")


def _schedule(name: str) -> str:
    return f"/v1/schedules/{quote(name, safe='')}"


def _worker(name: str) -> str:
    return f"/v1/workers/{quote(name, safe='')}"
