"""Runs the service of `convert.yaml`. It takes documents, calls back later, and ends after its first success.

docs/callbacks.md shows a service that keeps running, and repeats a callback that gets no answer.
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

BUSY = {"success": False, "failure": {"class": "transient", "message": "out of disk"}}
SEEN: set[str] = set()  # receipts that were seen; all attempts of a work item have the same receipt


class Service(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        receipt, url = self.headers["Tenax-Receipt"], self.headers["Tenax-Callback-Url"]
        done = {"success": True, "result": {"pages": len(document["text"].split("\f"))}}
        threading.Timer(0.5, call_back, (self.server, url, done if receipt in SEEN else BUSY)).start()
        SEEN.add(receipt)
        self.send_response(202)
        self.end_headers()


def call_back(server: HTTPServer, url: str, outcome: dict[str, Any]) -> None:
    request = urllib.request.Request(url, json.dumps(outcome).encode(), {"Content-Type": "application/json"})  # noqa: S310
    urllib.request.urlopen(request, timeout=10).close()  # noqa: S310
    if outcome["success"]:
        server.shutdown()


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
