"""Opens pages in a real browser. A page with an error in its console, a request that fails or a breach of the CSP fails its test."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, Response, async_playwright

CHROMIUM = shutil.which("chromium")
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Browsing:
    """Is one person's browser: tabs that share cookies. It collects every fault of every page."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.faults: list[str] = []
        self.forgiven: list[str] = []
        """Patterns of faults that the test causes itself."""

    async def open(self, address: str) -> Page:
        """Opens a page in a tab of its own."""
        page = await self.context.new_page()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)
        await page.goto(address)
        return page

    @contextlib.asynccontextmanager
    async def without_scripts(self) -> AsyncIterator[Browsing]:
        """Opens another window of the browser, in which scripts are switched off."""
        assert self.context.browser is not None
        context = await self.context.browser.new_context(viewport=WIDE, java_script_enabled=False)
        other = Browsing(context)
        yield other
        other.check()

    def forgive(self, pattern: str) -> None:
        """Ignores faults that match, for a test that stops a server or sends a wrong form."""
        self.forgiven.append(pattern)

    def check(self) -> None:
        left = [one for one in self.faults if not any(re.search(pattern, one) for pattern in self.forgiven)]
        assert not left, left

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _failed(self, request: Request) -> None:
        if (
            request.failure != "net::ERR_ABORTED"
        ):  # the browser itself ends the streams of a page that is left
            self.faults.append(f"failed: {urlsplit(request.url).path} {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"answered: {urlsplit(response.url).path} {response.status}")


@contextlib.asynccontextmanager
async def browsing(**options: Any) -> AsyncIterator[Browsing]:
    """Opens a browser, and checks at the end that its pages had no fault."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            context = await browser.new_context(viewport=WIDE, **options)
            context.set_default_timeout(15_000)
            opened = Browsing(context)
            yield opened
            opened.check()
        finally:
            await browser.close()


async def sign_in(page: Page, token: str) -> None:
    """Fills in the form of the sign-in."""
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Sign in").click()


async def assert_accessible(page: Page) -> None:
    """Checks a page with axe, in light and in dark."""
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found = await Axe().run(page)
        told = [
            (one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found.response["violations"]
        ]
        assert not told, f"{theme}: {told}"
