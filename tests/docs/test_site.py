"""The docs build as a site without a warning, and no page of it asks another host for anything."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from generate import ROOT

pytestmark = pytest.mark.full
"""The build needs the packages of requirements/site.txt: `make site` installs them."""

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
_FROM_ELSEWHERE = re.compile(r"^(https?:)?//")


class _Assets(HTMLParser):
    """Collects what a browser loads to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.classes |= set((values.get("class") or "").split())
        if tag in _LOADED and (values.get(_LOADED[tag])):
            self.found.append(str(values[_LOADED[tag]]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", "website/mkdocs.yml", "--site-dir", folder],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "No module named mkdocs" not in built.stderr, "install requirements/site.txt, as `make site` does"
    assert built.returncode == 0, built.stderr
    return folder


def _pages(site: Path) -> Iterator[tuple[Path, _Assets]]:
    for page in sorted(site.rglob("*.html")):
        assets = _Assets()
        assets.feed(page.read_text("utf-8"))
        yield page, assets


def test_every_page_of_the_docs_is_in_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").is_file()


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = list(_pages(site))
    assert len(pages) > 40
    elsewhere = [
        (page.name, asset) for page, assets in pages for asset in assets.found if _FROM_ELSEWHERE.match(asset)
    ]
    assert elsewhere == []


def test_everything_that_a_page_loads_is_there(site: Path) -> None:
    for page, assets in _pages(site):
        if page.name == "404.html":  # its addresses begin at the root of wherever the site is
            continue
        for asset in assets.found:
            path = asset.partition("?")[0].partition("#")[0]
            assert not path or (page.parent / path).resolve().exists(), (page, asset)


def test_no_style_loads_anything_from_another_host(site: Path) -> None:
    for style in site.rglob("*.css"):
        assert (
            re.findall(r"url\(\s*[\"']?(?:https?:)?//[^)]*\)|@import[^;]*//[^;]*", style.read_text("utf-8"))
            == []
        )


def test_no_page_has_a_diagram_that_a_browser_would_have_to_draw(site: Path) -> None:
    """The theme would load a library for these from another host."""
    assert [page.name for page, assets in _pages(site) if "mermaid" in assets.classes] == []


def test_the_search_finds_words_of_the_pages(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text("utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"] if "quarantine" in entry["text"]}
    assert {"fleet.html", "glossary.html"} & found
    assert not any(entry["location"].startswith("source/") for entry in index["docs"]), (
        "source code drowns the pages"
    )


def test_the_vendored_script_is_the_one_that_its_readme_names() -> None:
    folder = ROOT / "website/vendor/iframe-worker"
    digest = hashlib.sha256((folder / "shim.js").read_bytes()).hexdigest()
    assert f"SHA-256: {digest}" in (folder / "README.md").read_text("utf-8")
