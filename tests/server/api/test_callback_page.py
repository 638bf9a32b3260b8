"""Tests that docs/callbacks.md is true: its commands, its table, its service."""

from __future__ import annotations

import asyncio
import re
import shlex
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from support.worker_requests import one_by_one, report_on

from tenax.model.wire import Submission
from tenax.sdk.client import Client
from tenax.worker.transport import HttpTransport
from tenax.worker.worker import Worker

PAGE = (Path(__file__).parents[3] / "docs/callbacks.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


[WORKFLOW] = blocks("yaml")
[SERVICE] = blocks("python")
INPUT = {"service": "http://callee.invalid", "text": "one"}


def accepted(http: httpx2.Client) -> str:
    """The callback URL of an attempt that its callee has taken on."""
    http.post("/v1/executions", json={"source": WORKFLOW, "input": INPUT})
    wanted = {"worker": "w", "grant": str(uuid4()), "slots": 1, "runtimes": ["http"], "wait": 20}
    [given] = one_by_one(http.post("/v1/worker/lease", json=wanted).json())
    http.post("/v1/worker/report", json=[report_on(given, {"status": "accepted"})])
    url: str = given["callback"]
    return url


def curl(http: httpx2.Client, command: str, url: str) -> httpx2.Response:
    """The request that a curl command of the page makes."""
    program, *words = shlex.split(command.replace("$CALLBACK_URL", url))
    assert program == "curl"
    method, content, headers, target = "GET", b"", {}, ""
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word == "-H":
            name, _, value = words.pop(0).partition(": ")
            headers[name] = value
        elif word == "-d":
            content = words.pop(0).encode()
        else:
            target = word
    return http.request(method, target, content=content, headers=headers)


@pytest.mark.parametrize("block", blocks("console"))
def test_the_commands_are_answered_as_the_page_says(server, block: str) -> None:
    lines = block.splitlines()
    assert len(lines) % 2 == 0
    with server.http() as http:
        url = accepted(http)
        for command, answer in zip(lines[::2], lines[1::2], strict=True):
            got = curl(http, command.removeprefix("$ "), url)
            assert (got.status_code, got.text) == (200, answer), command


def test_there_are_commands_of_every_kind() -> None:
    text = "".join(blocks("console"))
    for kind in ('"success": true', '"success": false', "problem+json", "Retry-After", '"late"', '"retry"'):
        assert kind in text


def test_the_service_of_the_page_works(server) -> None:
    async def go(service: str) -> dict[str, Any]:
        transport, stop = HttpTransport(server.url), asyncio.Event()
        working = asyncio.create_task(Worker(transport, name="w1").run(stop))
        try:
            async with Client(server.url) as client, asyncio.timeout(30):
                inputs = {"service": service, "text": "one\ftwo\fthree"}
                submitted = await client.submit(Submission(source=WORKFLOW, input=inputs))
                return await client.wait(submitted.id)
        finally:
            stop.set()
            await working
            await transport.close()

    names: dict[str, Any] = {"__name__": "the_service_of_the_page"}
    exec(compile(SERVICE, "docs/callbacks.md", "exec"), names)
    listener = ThreadingHTTPServer(("127.0.0.1", 0), quiet(names["Service"]))
    serving = threading.Thread(target=listener.serve_forever, args=(0.01,))
    serving.start()
    try:
        execution = asyncio.run(go(f"http://127.0.0.1:{listener.server_address[1]}"))
    finally:
        listener.shutdown()
        serving.join()
        listener.server_close()
    assert execution["result"] == {"convert": {"pages": 3}}
    assert list(names["DONE"].values()) == [{"pages": 3}]


def quiet(service: Any) -> Any:
    return type("Quiet", (service,), {"log_message": lambda *_: None})
