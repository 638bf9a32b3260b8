"""Tests that links within the project lead to existing files and headings."""

from __future__ import annotations

import re
from pathlib import Path

import generate
import pytest

_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def _links(page: Path) -> list[str]:
    text = _FENCE.sub("", page.read_text("utf-8"))
    return [link for link in _LINK.findall(text) if not link.startswith(("http://", "https://"))]


def _anchors(page: Path) -> set[str]:
    """Headings as GitHub names them."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", generate.pages(), ids=lambda page: str(page.relative_to(generate.ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        known = target.exists() and (not anchor or anchor in _anchors(target))
        if not known:
            broken.append(link)
    assert broken == []


def test_every_page_of_the_docs_can_be_come_to() -> None:
    reached: set[Path] = set()
    ahead = [generate.ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        ahead += [(page.parent / link.partition("#")[0]).resolve() for link in _links(page)]
    assert {page.name for page in generate.pages()} - {page.name for page in reached} == set()


def test_no_page_names_this_machine() -> None:
    for page in generate.pages():
        text = page.read_text("utf-8")
        assert not re.search(r"/(work|root|home/\w+|tmp/docs)\b", text), page
