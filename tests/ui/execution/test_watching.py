"""The pages of one execution in a browser: they follow an execution from its first error to its end, and everyone can read them."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Page, expect
from support.browse.browsing import PHONE, assert_accessible

SLOW = """
name: sync-orders
workflow:
  - {step: fetch, type: python, task: t, retry: {max_attempts: 3, backoff: fixed, initial_delay: 3s, jitter: 0}}
  - {step: store, type: python, task: t, needs: [fetch]}
"""
FAN_OUT = f"""
name: a-workflow-with-a-name-that-is-rather-long-and-has-no-place-to-break-it
budget: {{cost_usd: 2, tokens: 1000}}
workflow:
  - {{step: render, type: python, task: t, for_each: {list(range(60))}, parallelism: 200, tolerate: 100%, retry: {{max_attempts: 1}}}}
  - {{step: approve, type: wait, deadline: 1h}}
"""


async def test_a_failing_execution_is_watched_from_its_first_error_to_its_recovery(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit, SLOW)
    page = await browser.open(f"{server.url}/executions")
    await page.get_by_role("link", name=str(execution), exact=True).click()
    await expect(page.locator("#execution_head .badge")).to_have_text("running")
    await page.evaluate("window.sameDocument = true")
    diagnosis, bars = page.locator("#diagnosis"), page.locator("#timeline .tx-bar.tx-attempt")

    await asyncio.to_thread(hand.fail)
    await expect(diagnosis).to_contain_text("attempt 1 has failed (transient (connection_failed)")
    countdown = diagnosis.locator("time[data-countdown]").first
    await expect(countdown).to_have_text(re.compile("^in [123]s$"))
    await expect(bars).to_have_count(1)
    await expect(page.locator("#graph .tx-step-retrying")).to_have_count(1)
    await expect(countdown).to_have_text("in 1s")  # it ticks

    await asyncio.to_thread(hand.succeed, {"rows": 3})
    await expect(bars).to_have_count(2)
    await expect(page.locator("#graph .tx-step-completed")).to_have_count(1)
    await asyncio.to_thread(hand.succeed)
    await expect(page.locator("#execution_head .badge")).to_have_text("completed")
    await expect(diagnosis).to_contain_text(f"Execution {execution} completed in")
    assert await page.evaluate("window.sameDocument"), "the page was loaded again"

    await bars.first.click()
    await expect(page).to_have_url(f"{server.url}/executions/{execution}/steps/fetch#attempt-1")
    first = page.locator("#attempt-1")
    await expect(first).to_contain_text("Retried after 3.0s: nothing stands against it")
    await expect(first).to_contain_text("connection reset by peer")


async def _open_all(page: Page, address: str, size: str) -> None:
    if size == "phone":
        await page.set_viewport_size(PHONE)
    for part in (
        "",
        "/attempts",
        "/data",
        "/steps/render",
        "/steps/render/items?state=failed",
        "/steps/render/items/3",
        "/steps",
    ):
        await page.goto(f"{address}{part}")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await assert_accessible(page)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), part


@pytest.mark.parametrize("size", ["wide", "phone"])
async def test_each_page_is_accessible_and_fits_the_window(server, hand, browser, size):
    execution = await asyncio.to_thread(hand.submit, FAN_OUT)
    for n in range(8):
        await asyncio.to_thread(hand.fail, "x" * 500) if n % 4 == 3 else await asyncio.to_thread(hand.succeed)
    address = f"{server.url}/executions/{execution}"
    await _open_all(await browser.open(address), address, size)


async def test_the_pages_read_well_without_scripts(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit, SLOW)
    await asyncio.to_thread(hand.fail)
    async with browser.without_scripts() as plain:
        page = await plain.open(f"{server.url}/executions/{execution}")
        await expect(page.locator("#diagnosis")).to_contain_text(
            re.compile(r"and the next one is due 2\d{3}-\d\d-\d\d")
        )
        await page.get_by_role("link", name="Attempts").click()
        await expect(page.locator("#attempts")).to_contain_text("connection reset by peer")


async def test_what_is_unfolded_stays_so_while_the_page_follows(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit, SLOW)
    await asyncio.to_thread(hand.fail, "first\nsecond line")
    page = await browser.open(f"{server.url}/executions/{execution}/steps/fetch")
    message = page.locator("#attempt-1 details").first
    await message.locator("summary").click()
    await expect(message.get_by_role("region")).to_be_visible()
    await asyncio.to_thread(hand.succeed)
    await expect(page.locator("#attempt-2 .badge")).to_have_text("succeeded")
    await expect(page.locator("#attempt-1").get_by_text("second line")).to_be_visible()
