"""Adds to the site the files outside `docs/` that pages link to: Markdown as pages, source code as pages that show it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROOT_PAGES = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CODE_OF_CONDUCT.md": "CODE_OF_CONDUCT.md",
    "SECURITY.md": "security-policy.md",  # `security.md` is a page of the docs
}
"""Pages of the root, and their names on the site."""
SHIM = Path(__file__).parent / "vendor/iframe-worker/shim.js"
SHIM_ELSEWHERE = re.compile(r"https://[a-z.]+/iframe-worker/shim")
SHIM_HERE = "assets/vendor/iframe-worker.js"
LANGUAGES = {".py": "python", ".sql": "sql", ".yaml": "yaml", ".toml": "toml", ".in": "text"}

_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Adds a page for each page of the root and for each source file that some page names."""
    for name, place in ROOT_PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text("utf-8")))
    files.append(File.generated(config, SHIM_HERE, content=SHIM.read_text("utf-8")))
    for path in sorted(_linked_sources()):
        files.append(File.generated(config, _page_of(path), content=_source_page(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turns links to files outside `docs/` into links to their pages on the site."""
    here = posixpath.dirname(page.file.src_uri)
    base = ROOT if page.file.src_uri in ROOT_PAGES.values() else DOCS / here

    def moved(found: re.Match[str]) -> str:
        link = found[2]
        if "://" in link or link.startswith("mailto:"):
            return found[0]
        target = (base / link).resolve()
        if not target.is_relative_to(ROOT):
            return found[0]
        return f"{found[1]}{posixpath.relpath(_place(target), here or '.')}{found[3] or ''}{found[4]}"

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(moved, part) for part in parts)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Lets pages load the shim of the search from the site itself."""
    return SHIM_ELSEWHERE.sub(get_relative_url(SHIM_HERE, page.url), output)


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Does the same for pages that the theme makes by itself, such as 404.html."""
    return (
        SHIM_ELSEWHERE.sub(f"/{SHIM_HERE}", output_content)
        if template_name.endswith(".html")
        else output_content
    )


def _place(target: Path) -> str:
    """Returns where the site has a file."""
    if target.is_relative_to(DOCS):
        return (
            target.relative_to(DOCS).as_posix()
            if target.suffix
            else f"{target.relative_to(DOCS).as_posix()}/index.md"
        )
    name = target.relative_to(ROOT).as_posix()
    if name in ROOT_PAGES:
        return ROOT_PAGES[name]
    return "index.md" if name == "README.md" else _page_of(target)


def _page_of(path: Path) -> str:
    return f"source/{path.relative_to(ROOT).as_posix().lstrip(chr(46))}.md"


def _linked_sources() -> Iterator[Path]:
    pages = [*DOCS.rglob("*.md"), *(ROOT / name for name in ROOT_PAGES)]
    found: set[Path] = set()
    for page in pages:
        for link in _LINK.finditer(_FENCE.sub("", page.read_text("utf-8"))):
            if "://" in link[2]:
                continue
            target = Path(os.path.normpath(page.parent / link[2]))
            if target.is_relative_to(ROOT) and not target.is_relative_to(DOCS) and target.exists():
                found.add(target)
    yield from found - {ROOT / name for name in (*ROOT_PAGES, "README.md")}


def _source_page(path: Path) -> str:
    name = path.relative_to(ROOT).as_posix()
    head = f"---\ntitle: {name}\nsearch: {{exclude: true}}\n---\n\n# `{name}`\n\n"
    if path.is_dir():
        return (
            head
            + "\n".join(f"- `{one.name}`" for one in sorted(path.iterdir()) if one.name != "__pycache__")
            + "\n"
        )
    text = path.read_text("utf-8")
    return f"{head}`````{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n`````\n"
