"""Runs a local HTTP service that fails its first three requests."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS: tuple[tuple[int, dict[str, str]], ...] = ((503, {}), (503, {}), (429, {"Retry-After": "2"}))
"""The answers to the first requests. All later ones get 200."""
_PRICES = {"prices": [19, 23, 42, 7]}


@contextlib.contextmanager
def flaky_service() -> Iterator[str]:
    """Runs the service on a free port of loopback until the block ends. Gives its URL."""
    server = _Service(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/prices"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Service(ThreadingHTTPServer):
    daemon_threads = True
    requests = 0

    def next_answer(self) -> tuple[int, dict[str, str]]:
        self.requests += 1
        return ANSWERS[self.requests - 1] if self.requests <= len(ANSWERS) else (200, {})


class _Handler(BaseHTTPRequestHandler):
    server: _Service

    def do_GET(self) -> None:
        status, headers = self.server.next_answer()
        body = json.dumps(_PRICES if status == 200 else {"error": "not now"}).encode()
        self.send_response(status)
        for name, value in {
            **headers,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        """Logs nothing: the demo shows the requests from the worker's side."""
