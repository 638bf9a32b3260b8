"""`tenax run` of fan-outs, children, fallbacks, compensations and async steps; and `tenax store`."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

FAN_OUT = """
name: fan
workflow:
  - step: many
    type: process
    for_each: ELEMENTS
    parallelism: 10
    tolerate: 5
    command: ["sh", "-c", "test $0 != 3 || exit 7; echo $0", "{{ item }}"]
"""
PARENT = """
name: parent
workflow:
  - {step: child, type: workflow, file: parts/child.yaml, input: {n: 5}}
  - {step: after, type: process, needs: [child], command: ["echo", "{{ steps.child.result.deep.deep }}"]}
"""
CHILD = """
name: child
input: {n: {type: integer, required: true}}
workflow:
  - {step: deep, type: workflow, file: ../deep.yaml, input: {n: "{{ input.n }}"}}
"""
DEEP = """
name: deep
input: {n: {type: integer}}
workflow:
  - {step: deep, type: process, command: ["sh", "-c", "COMMAND", "{{ input.n }}"]}
"""
UNDONE = """
name: undone
workflow:
  - step: first
    type: process
    command: "true"
    compensate: {type: process, command: "echo undone >> first", cwd: FOLDER}
  - step: second
    type: process
    needs: [first]
    command: "true"
    compensate: {type: process, command: "echo it >&2; echo cannot >&2; exit 9"}
  - {step: third, type: process, needs: [second], command: "exit 3"}
"""
INSTEAD = """
name: instead
workflow:
  - {step: broken, type: process, command: "exit 3", on_failure: {value: [1, 2]}}
  - {step: after, type: process, needs: [broken], command: ["echo", "{{ steps.broken.result }}"]}
"""
CALLED = """
name: called
input: {url: {type: string, required: true}}
workflow:
  - {step: called, type: http, method: POST, url: "{{ input.url }}", json: {n: 5}, async: {deadline: 1m}}
"""
CALLED_BELOW = """
name: above
input: {url: {type: string, required: true}}
workflow:
  - {step: called, type: workflow, file: called.yaml, input: {url: "{{ input.url }}"}}
"""


@pytest.fixture
def tenax(command, database_url, tmp_path):
    """A command on the test's database. A busy machine is nothing that it tells of."""
    given = {"TENAX_DATABASE_URL": database_url, "TENAX_OVERLOAD_LAG": "1m"}
    return lambda *arguments, **more: command(*arguments, **given, **more)


def test_a_small_fan_out(tenax, tmp_path):
    (tmp_path / "fan.yaml").write_text(FAN_OUT.replace("ELEMENTS", "[1, 2, 3]"))
    ended = tenax("run", "fan.yaml")
    assert (ended.code, ended.err) == (0, "")
    assert "many  enqueued: 3 items, 10 at a time" in ended.out
    assert re.search(r"many\[2\]  attempt 1 of 1 started on run-", ended.out)
    assert (
        "many[2]  failed for good, tolerated (the limit is 1 attempt): transient (exit_code_7)" in ended.out
    )
    assert re.search(r"^many +completed +2 of 3 items done, 1 failed \(tolerated\)$", ended.out, re.MULTILINE)
    assert re.search(r"^  \[2\] +failed +1 of 1 +transient \(exit_code_7\).* +tenax show 1 --step many --item 2$", ended.out, re.MULTILINE)  # fmt: skip
    assert ended.out.count("[0]") > 3


def test_a_large_fan_out_is_summed_up(tenax, tmp_path):
    (tmp_path / "fan.yaml").write_text(FAN_OUT.replace("ELEMENTS", str(list(range(60)))))
    ended = tenax("run", "fan.yaml")
    assert (ended.code, ended.err) == (0, "")
    assert "many[0]" not in ended.out
    assert ended.out.count("many[3]  failed for good, tolerated") == 1
    assert ended.out.count("items done") <= 12
    assert re.search(
        r"^many +completed +59 of 60 items done, 1 failed \(tolerated\)$", ended.out, re.MULTILINE
    )
    assert re.search(r"^  \[3\] +failed", ended.out, re.MULTILINE)
    body = tenax("show", "1", "--json").json
    assert [one["item"] for one in body["steps"]["many"]["listed_items"]] == [3]
    assert body["steps"]["many"]["items"]["succeeded"] == 59
    words = tenax("explain", "1").out
    assert words.count("succeeded at once; there was nothing to decide") == 1


def family(folder: Path, command: str) -> None:
    (folder / "parts").mkdir()
    (folder / "parent.yaml").write_text(PARENT)
    (folder / "parts/child.yaml").write_text(CHILD)
    (folder / "deep.yaml").write_text(DEEP.replace("COMMAND", command))


def test_children_from_files_are_run_and_shown_as_a_tree(tenax, tmp_path):
    family(tmp_path, "echo $0")
    ended = tenax("run", "parent.yaml")
    assert (ended.code, ended.err) == (0, "")
    assert "attempt 1 of 1 started: child execution " in ended.out
    tree = ended.out[ended.out.index("children:\n") :].splitlines()
    assert re.fullmatch(r"  child: execution \d+ of child: completed in \S+", tree[1])
    assert re.fullmatch(r"    deep: execution \d+ of deep: completed in \S+", tree[2])
    body = tenax("show", "1", "--json").json
    assert body["tree"]["children"][0]["children"][0]["workflow"] == "deep"
    inner = body["tree"]["children"][0]["id"]
    assert "child of execution 1, step child, attempt 1" in tenax("show", str(inner)).out


def test_a_failed_child_is_seen_from_above(tenax, tmp_path):
    family(tmp_path, "exit 4")
    ended = tenax("run", "parent.yaml")
    assert ended.code == 1
    assert "failure in step child: logical (child_failed)" in ended.out
    assert re.search(r"^    deep: execution \d+ of deep: failed in \S+ in step deep: transient \(exit_code_4\)", ended.out, re.MULTILINE)  # fmt: skip


@pytest.mark.parametrize("verb", ["run", "submit", "store"])
def test_a_child_that_is_not_there(tenax, tmp_path, verb):
    (tmp_path / "parent.yaml").write_text(PARENT)
    ended = tenax(verb, "parent.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("tenax: parent.yaml:4:")
    assert "parts/child.yaml: there is no such file" in ended.err


def test_what_was_done_is_undone_and_what_cannot_be_is_seen(tenax, tmp_path):
    (tmp_path / "undone.yaml").write_text(UNDONE.replace("FOLDER", str(tmp_path)))
    ended = tenax("run", "undone.yaml")
    assert ended.code == 1
    assert "compensations have failed: what they should undo is still done" in ended.err
    assert (tmp_path / "first").read_text() == "undone\n"
    assert ended.out.index("second  compensation: enqueued") < ended.out.index(
        "first   compensation: enqueued"
    )
    assert "compensations are over: 1 completed, 1 failed" in ended.out
    assert re.search(r"^execution 1 of undone: failed in \S+, compensation failed$", ended.out, re.MULTILINE)
    assert re.search(
        r"^first .*\n +1 .*succeeded\n  compensation +completed +1 of 1\n", ended.out, re.MULTILINE
    )
    assert "second, compensation, attempt 1:\n  the end of its stderr:\n    it\n    cannot\n" in ended.out
    line = tenax("list").out.splitlines()[1]
    assert "failed (compensation failed)" in line
    assert "Step second (compensation), attempt 1: fail." in tenax("explain", "1", "--step", "second").out
    whole = tenax("show", "1", "--step", "second").out
    assert "compensation, attempt 1: transient (exit_code_9): exit code 9: cannot\n  exit_code: 9\n" in whole


def test_a_value_stands_in_for_a_failure(tenax, tmp_path):
    (tmp_path / "instead.yaml").write_text(INSTEAD)
    ended = tenax("run", "instead.yaml")
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"^broken +completed .*on_failure: a value stands in for it$", ended.out, re.MULTILINE)
    assert tenax("graph", "1").out.endswith("after broken\n")
    assert "goal" in tenax("graph", "1").out.splitlines()[2]
    assert "on failure: value" in tenax("graph", "1").out, "as of the file"


def test_stored_workflows_are_found_by_their_name(tenax, tmp_path):
    (tmp_path / "deep.yaml").write_text(DEEP.replace("COMMAND", "echo $0").replace("name: deep", "name: deep\nversion: 2"))  # fmt: skip
    assert tenax("workflows").out == "no workflows\n"
    stored = tenax("store", "deep.yaml")
    assert (stored.code, stored.err) == (0, "")
    assert re.fullmatch(r"workflow deep, version 2, is stored: content [0-9a-f]{12}\n", stored.out)
    again = tenax("store", "-", "--json", stdin=(tmp_path / "deep.yaml").read_text())
    assert (again.json["name"], again.json["created"]) == ("deep", False)
    assert "was stored before; its name means this definition again" in tenax("store", "deep.yaml").out
    [_, line] = tenax("workflows").out.splitlines()
    assert line.split()[:2] == ["deep", "2"]
    assert tenax("workflows", "--name", "none", "--json").json == []
    caller = "name: caller\nworkflow:\n  - {step: c, type: workflow, workflow: deep@2, input: {n: 1}}\n"
    (tmp_path / "caller.yaml").write_text(caller)
    ended = tenax("run", "caller.yaml", "--json")
    assert (ended.code, ended.json["status"]) == (0, "completed")
    assert tenax("list", "--json").json[-1]["workflow"] == "caller"


class Callee(ThreadingHTTPServer):
    """Accepts work, and calls back from another thread unless it is dumb. Keeps what it was told."""

    def __init__(self, *, dumb: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Taken)
        self.dumb = dumb
        self.urls: list[str] = []
        self.answers: list[tuple[str, int, Any]] = []
        self.calls: list[threading.Thread] = []

    def call_back(self, url: str, n: int) -> None:
        elsewhere = urlsplit(url)._replace(path="/v1/executions", query="").geturl()
        self._ask(urllib.request.Request(elsewhere))
        body = json.dumps({"success": True, "result": {"doubled": 2 * n}}).encode()
        self._ask(urllib.request.Request(url, body, {"Content-Type": "application/json"}))

    def _ask(self, request: urllib.request.Request) -> None:
        path = urlsplit(request.full_url).path
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                self.answers.append((path, answer.status, json.load(answer)))
        except urllib.error.HTTPError as error:
            self.answers.append((path, error.code, None))


class _Taken(BaseHTTPRequestHandler):
    server: Callee

    def do_POST(self) -> None:
        n = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["n"]
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()
        url = self.headers["Tenax-Callback-Url"]
        self.server.urls.append(url)
        if not self.server.dumb:
            self.server.calls.append(threading.Thread(target=self.server.call_back, args=(url, n)))
            self.server.calls[-1].start()

    def log_message(self, *_: object) -> None:
        """The test looks at what was answered."""


@contextlib.contextmanager
def callee(*, dumb: bool = False) -> Iterator[Callee]:
    with Callee(dumb=dumb) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        for one in (thread, *server.calls):
            one.join()


@pytest.mark.parametrize("file", ["called.yaml", "above.yaml"])
def test_an_async_step_is_called_back_by_way_of_the_command_itself(tenax, tmp_path, file):
    """Its own step, or one of a child. Nothing but callbacks is to be had there."""
    (tmp_path / "called.yaml").write_text(CALLED)
    (tmp_path / "above.yaml").write_text(CALLED_BELOW)
    with callee() as service:
        url = f"http://127.0.0.1:{service.server_port}/work"
        ended = tenax("run", file, "--input", f"url={url}")
    assert (ended.code, ended.err) == (0, "")
    assert '"doubled": 10' in ended.out
    [elsewhere, (path, status, answer)] = service.answers
    assert elsewhere == ("/v1/executions", 401, None)
    assert path.startswith("/v1/callbacks/")
    assert (status, answer) == (200, {"status": "applied", "verdict": "complete"})


def test_an_async_step_where_the_settings_say_who_is_called_back(tenax, tmp_path):
    """The command does not listen then: whoever is at that address hears the callback."""
    (tmp_path / "called.yaml").write_text(CALLED.replace("deadline: 1m", "deadline: 100ms"))
    with callee(dumb=True) as service:
        url = f"http://127.0.0.1:{service.server_port}/work"
        there = "https://tenax.example/behind/a/proxy"
        ended = tenax("run", "called.yaml", "--input", f"url={url}", TENAX_CALLBACK_URL=there)
    assert ended.code == 1
    assert "timeout (callback_deadline)" in ended.out
    assert [url.partition("/v1/callbacks/")[0] for url in service.urls] == [there]
