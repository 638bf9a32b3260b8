"""Tests the files of the dashboard: small, checked, kept by browsers, and of this server only."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from tenax.ui.assets import KEPT, NAMES, asset_url, load_asset

STATIC = Path(str(files("tenax.ui").joinpath("static")))
TEMPLATES = Path(str(files("tenax.ui").joinpath("templates")))
LARGEST = 200_000  # bytes of all files that a browser loads
OURS = ("ui.css", "ui.js", "theme.js", "charts.js", "icon.svg")


def test_all_files_together_are_small():
    assert sum(len(load_asset(name).content) for name in NAMES) < LARGEST


def test_the_vendored_files_are_those_that_were_checked():
    packages = json.loads((STATIC / "vendored.json").read_text())
    listed = {name: file["sha256"] for package in packages for name, file in package["files"].items()}
    assert {name: hashlib.sha256((STATIC / name).read_bytes()).hexdigest() for name in listed} == listed
    assert {one.name for one in STATIC.iterdir()} == {*listed, *OURS, "vendored.json"}
    assert [package["package"] for package in packages] == ["htmx.org", "uplot"]


def test_a_file_is_kept_for_ever_under_the_address_of_its_content(standing):
    with standing.http() as http:
        for name in NAMES:
            answer = http.get(asset_url(name))
            assert answer.content == load_asset(name).content
            assert answer.headers["cache-control"] == KEPT
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert re.match(r"text/(css|javascript)|image/svg\+xml", answer.headers["content-type"])
            assert http.get(f"/assets/{name}?v=old").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", ["nothing.js", "vendored.json", "..%2f__init__.py", "LICENSE.htmx"])
def test_other_files_are_not_served(standing, name):
    with standing.http() as http:
        assert http.get(f"/assets/{name}").status_code == 404


@pytest.mark.parametrize("name", [*OURS, *(str(p.relative_to(TEMPLATES)) for p in TEMPLATES.rglob("*.html"))])
def test_our_files_name_no_other_host_and_need_nothing_that_the_csp_refuses(name):
    text = ((STATIC if name in OURS else TEMPLATES) / name).read_text()
    assert not re.search(r"(?:https?:)?//[a-z0-9][\w-]*\.", text.replace("http://www.w3.org/2000/svg", ""))
    if name.endswith(".html"):
        assert not re.search(r"\sstyle=|<style|\son[a-z]+=|hx-on|js:|<script(?![^>]*\bsrc=)", text)
