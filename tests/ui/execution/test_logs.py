"""What attempts print and how far they are, on the pages of an execution."""

from __future__ import annotations

import asyncio

from playwright.async_api import expect
from support.browse.browsing import assert_accessible

SOURCE = """
name: pages
workflow:
  - {step: crawl, type: python, task: t}
"""


async def test_the_output_and_the_progress_of_an_attempt_are_followed(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit, SOURCE)
    given = await asyncio.to_thread(hand.take)
    page = await browser.open(f"{server.url}/executions/{execution}/logs")
    await expect(page.locator("#output")).to_contain_text("No attempt has printed anything")
    await asyncio.to_thread(hand.tell, given, "page 1\n<b>page 2</b>\n", 0, 0.4)
    await expect(page.locator("#output")).to_contain_text("crawl, attempt 1")
    await expect(page.locator("#output")).to_contain_text("<b>page 2</b>")
    await asyncio.to_thread(hand.tell, given, "page 99\n", 1000)
    await expect(page.locator("#output")).to_contain_text("bytes were cut")
    await assert_accessible(page)

    await page.goto(f"{server.url}/executions/{execution}")
    await expect(page.locator("#step_list")).to_contain_text("40 %")
    await asyncio.to_thread(hand.tell, given, "page 100\n", 2000, 0.9)
    await expect(page.locator("#step_list")).to_contain_text("90 %")
    await expect(page.locator("#step_list progress")).to_have_attribute("value", "0.9")
    await assert_accessible(page)
    await page.get_by_role("link", name="crawl").first.click()
    await expect(page.locator("#step_state")).to_contain_text("on its way")
    await page.get_by_role("link", name="What they printed").click()
    await expect(page.locator("main")).to_contain_text("Only step crawl.")


async def test_the_page_can_be_restricted(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit, SOURCE)
    given = await asyncio.to_thread(hand.take)
    await asyncio.to_thread(hand.tell, given, "page 1\n")
    page = await browser.open(f"{server.url}/executions/{execution}/logs?attempt=2")
    await expect(page.locator("#output")).to_contain_text("No attempt has printed anything")
    await page.get_by_role("link", name="All output").click()
    await expect(page.locator("#output")).to_contain_text("page 1")
