"""Tests the list of executions in a browser: it follows what happens, filters, pages, and reads well for everyone."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible

ONE = "name: one\nworkflow: [{step: a, type: python, task: t}]\n"


async def test_the_list_shows_a_failure_and_its_recovery_without_a_reload(server, hand, browser):
    page = await browser.open(f"{server.url}/executions")
    await expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    execution = await asyncio.to_thread(hand.submit)
    row = page.locator(f"#execution-{execution}")
    await expect(row).to_contain_text("running")
    await asyncio.to_thread(hand.fail)
    await expect(row).to_contain_text("connection reset by peer")
    await expect(row).to_contain_text("attempt 1 of 3")
    await asyncio.to_thread(hand.succeed)
    await expect(row.locator(".badge")).to_have_text("completed")


async def test_the_filter_is_in_the_address_and_narrows_the_list(server, hand, browser):
    [kept, left_out] = [
        await asyncio.to_thread(hand.submit, source) for source in (ONE, ONE.replace("one", "two"))
    ]
    page = await browser.open(f"{server.url}/executions")
    await page.keyboard.press("/")
    await page.keyboard.type("workflow=one")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/executions?filter=workflow%3Done")
    await expect(page.locator(f"#execution-{kept}")).to_be_visible()
    await expect(page.locator(f"#execution-{left_out}")).to_have_count(0)
    later = await asyncio.to_thread(hand.submit, ONE)
    await expect(page.locator(f"#execution-{later}")).to_be_visible()


async def test_a_wrong_filter_is_explained_beside_its_field(server, browser):
    browser.forgive(r"status of 400|answered: /executions 400")
    page = await browser.open(f"{server.url}/executions?filter=stauts%3Dfailed")
    await expect(page.get_by_role("alert")).to_contain_text("did you mean")
    await expect(page.get_by_role("searchbox")).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_text("No execution fits")).to_have_count(0)


async def test_older_executions_are_on_the_next_page(server, hand, browser):
    with server.http() as http:
        batch = {"submissions": [{"source": ONE}] * 60}
        ids = [one["id"] for one in http.post("/v1/executions/batch", json=batch).json()]
    page = await browser.open(f"{server.url}/executions")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(50)
    await page.get_by_role("link", name="Older").click()
    await expect(rows).to_have_count(10)
    await expect(page.locator(f"#execution-{min(ids)}")).to_be_visible()
    await page.get_by_role("link", name="Newest").click()
    await expect(page.locator(f"#execution-{max(ids)}")).to_be_visible()


@pytest.mark.parametrize("size", ["wide", "phone"])
async def test_the_list_is_accessible_and_fits_the_window(server, hand, browser, size):
    await asyncio.to_thread(hand.submit)
    await asyncio.to_thread(hand.fail, "x" * 500)
    page = await browser.open(f"{server.url}/executions")
    if size == "phone":
        await page.set_viewport_size(PHONE)
    await assert_accessible(page)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
