"""Plays a worker by HTTP, so that a test in a browser says when an attempt ends and how."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx2

from support.worker_requests import one_by_one, report_on
from tenax.model.wire import PROTOCOL

FAILING = """
name: sync-orders
workflow:
  - step: fetch
    type: python
    task: shop:fetch
    retry: {max_attempts: 3, backoff: fixed, initial_delay: 100ms, jitter: 0}
"""


class WorkerByHand:
    """Plays a worker by HTTP: takes one attempt, and reports what the test says."""

    def __init__(self, http: httpx2.Client, name: str = "hand") -> None:
        self._http = http
        self._who = {"worker": name, "runtimes": ["python"], "protocol": PROTOCOL}
        self._post("register", self._who)

    def submit(self, source: str = FAILING, **more: Any) -> int:
        answer = self._http.post("/v1/executions", json={"source": source, **more})
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def take(self, wait: float = 10) -> dict[str, Any]:
        """Leases the next attempt."""
        request = {
            "worker": self._who["worker"],
            "runtimes": ["python"],
            "grant": str(uuid4()),
            "slots": 1,
            "wait": wait,
        }
        [given] = one_by_one(self._post("lease", request))
        return given

    def fail(self, message: str = "connection reset by peer") -> None:
        """Takes an attempt, and lets it fail so that it is tried again."""
        facts = {"exception": "ConnectionError", "message": message}
        self._report({"status": "failed", "facts": facts})

    def succeed(self, result: Any = None) -> None:
        self._report({"status": "succeeded", "result": result})

    def tell(self, given: dict[str, Any], text: str, start: int = 0, fraction: float | None = None) -> None:
        """Tells what an attempt has printed, and how far it is."""
        place = {name: given[name] for name in ("execution_id", "item_id", "receipt", "step", "attempt")}
        notes: dict[str, Any] = {
            "worker": self._who["worker"],
            "output": [{**place, "start": start, "text": text}],
        }
        if fraction is not None:
            held = {"item_id": given["item_id"], "token": given["token"]}
            notes["progress"] = [{**held, "fraction": fraction, "message": "on its way"}]
        self._post("notes", notes)

    def _report(self, outcome: dict[str, Any]) -> None:
        self._post("report", [report_on(self.take(), outcome)])

    def _post(self, path: str, body: Any) -> Any:
        answer = self._http.post(f"/v1/worker/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()
