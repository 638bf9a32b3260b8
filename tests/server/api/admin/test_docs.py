"""Tests the page of the API: this server serves everything that it loads, and it names no other host to load from."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from fastapi import FastAPI

from tenax.server.api.admin.docs import ASSETS, POLICY
from tenax.server.app import API
from tenax.server.schema.openapi import describe

PAGE = Path(str(files("tenax.server").joinpath("docs_page")))
CHROMIUM = shutil.which("chromium")
LARGEST = 2_000_000
OURS = ("index.html", "page.css", "page.js")


def test_what_the_page_loads_is_served_here(standing):
    with standing.http() as http:
        page = http.get("/docs")
        assert page.headers["content-security-policy"] == POLICY
        named = set(re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text))
        assert {urlsplit(urljoin("/docs", one)).path for one in named} == {f"/docs/{name}" for name in ASSETS}
        for name, media_type in ASSETS.items():
            answer = http.get(f"/docs/{name}")
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith(media_type)
            assert answer.content == (PAGE / name).read_bytes()


@pytest.mark.parametrize("name", OURS)
def test_our_files_name_no_other_host(name):
    assert not re.search(r"(?:https?:)?//[a-z0-9]", (PAGE / name).read_text().replace("</", ""))


def test_the_vendored_files_are_those_that_were_checked():
    [package] = json.loads((PAGE / "vendored.json").read_text())
    listed = {name: file["sha256"] for name, file in package["files"].items()}
    assert {name: hashlib.sha256((PAGE / name).read_bytes()).hexdigest() for name in listed} == listed
    assert {one.name for one in PAGE.iterdir()} == {*listed, *OURS, "vendored.json"}
    assert sum(one.stat().st_size for one in PAGE.iterdir()) < LARGEST


def test_the_page_needs_no_token_and_the_description_does(start):
    server = start()
    server.token("viewer")
    with server.http() as http:
        assert [http.get(path).status_code for path in ("/docs", "/docs/page.js", "/openapi.json")] == [
            200,
            200,
            401,
        ]


def browsed(url: str, folder: Path) -> tuple[str, set[str]]:
    """Opens a page in a browser. Returns the document after its scripts have run, and the hosts that it made requests to."""
    log = folder / "net.json"
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking --disable-component-update "
        "--disable-sync --no-first-run --virtual-time-budget=20000 --dump-dom"
    )
    done = subprocess.run(
        [str(CHROMIUM), *flags.split(), f"--user-data-dir={folder}", f"--log-net-log={log}", f"{url}/docs"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    events = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    asked = [one["url"] for one in events if one.get("initiator") == url and "url" in one]
    return done.stdout, {urlsplit(one).netloc for one in asked if not one.startswith("data:")}


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_a_browser_shows_the_routes_and_asks_no_other_host(standing, tmp_path):
    document, hosts = browsed(standing.url, tmp_path)
    assert hosts == {urlsplit(standing.url).netloc}
    with standing.http() as http:
        described = http.get("/openapi.json").json()["paths"]
    shown = set(re.findall(r'data-path="([^"]+)"', document))
    assert shown == set(described)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
def test_a_browser_asks_for_a_token_where_the_server_does(start, tmp_path):
    server = start()
    server.token("viewer")
    document, _ = browsed(server.url, tmp_path)
    assert '<form id="entrance">' in document
    assert "data-path" not in document


def operations() -> dict[str, dict[str, str]]:
    api = FastAPI()
    for module in API:
        api.include_router(module.router)
    return {
        f"{method.upper()} {path}": operation
        for path, methods in describe(api)["paths"].items()
        for method, operation in methods.items()
    }


@pytest.mark.parametrize(("route", "operation"), operations().items())
def test_each_operation_has_a_summary_and_a_description(route, operation):
    """FastAPI would make a summary of the name of the function: `Get`."""
    assert re.fullmatch(r"[A-Z][a-z]+s\b [^.]{5,60}", operation["summary"]), route
    sentences = re.split(r"(?<=\.) (?=[A-Z`])", operation["description"])
    assert 1 <= len(sentences) <= 2
    assert all(re.fullmatch(r"[A-Z`][^\n]{10,}\.", sentence) for sentence in sentences), route


def test_summaries_differ():
    summaries = [operation["summary"] for operation in operations().values()]
    assert len(summaries) == len(set(summaries)) > 30
