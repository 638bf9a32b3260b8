"""Tests what the scripts of all pages do: keys, theme, times, copying, and charts under the CSP."""

from __future__ import annotations

import asyncio
import json

from playwright.async_api import expect

from tenax.ui.assets import asset_url


async def test_keys_lead_through_the_pages(server, browser):
    page = await browser.open(f"{server.url}/executions?filter=status%3Dfailed")
    await page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    await expect(keys).to_contain_text("Executions")
    await page.keyboard.press("Escape")
    await expect(keys).to_be_hidden()
    await page.keyboard.press("g")
    await page.keyboard.press("e")
    await expect(page).to_have_url(f"{server.url}/executions")
    await page.keyboard.press("/")
    await page.keyboard.type("get")
    await expect(page.get_by_role("searchbox")).to_have_value("get")
    await expect(page).to_have_url(f"{server.url}/executions")


async def test_the_theme_is_kept(server, browser):
    page = await browser.open(f"{server.url}/executions")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = await page.evaluate(ground)
    await page.get_by_role("button", name="Theme").click()
    dark = await page.evaluate(ground)
    assert dark != light
    await page.reload()
    assert await page.evaluate(ground) == dark
    await page.keyboard.press("t")
    assert await page.evaluate(ground) == light
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(ground) == light


async def test_times_tick_and_stay_when_the_page_is_updated(server, hand, browser):
    execution = await asyncio.to_thread(hand.submit)
    page = await browser.open(f"{server.url}/executions")
    time = page.locator(f"#execution-{execution} time[data-relative]")
    await expect(time).to_have_text("now")
    assert (await time.get_attribute("title") or "").endswith(" UTC")
    took = page.locator(f"#execution-{execution} time[data-elapsed]")
    first = await took.inner_text()
    await expect(took).not_to_have_text(first)


async def test_the_navigation_can_be_used_by_keyboard_alone(server, browser):
    page = await browser.open(f"{server.url}/executions")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()


async def test_a_chart_is_drawn_and_drawn_again_with_new_values(server, browser):
    """No breach of the CSP: uPlot sets its styles by script, and its style sheet is a file of this server."""
    page = await browser.open(f"{server.url}/executions")
    data = {
        "times": [1, 2, 3],
        "series": [{"name": "failed", "tone": "bad", "values": [1, 5, 2]}],
        "unit": "",
    }
    await page.evaluate(
        """(data) => {
            const box = document.createElement("div");
            box.className = "chart-box";
            box.dataset.chart = data;
            document.getElementById("main").append(box);
        }""",
        json.dumps(data),
    )
    await page.evaluate(
        """(address) => new Promise((done) => {
            const link = Object.assign(document.createElement("link"), {rel: "stylesheet", href: address, onload: done});
            document.head.append(link);
        })""",
        asset_url("uplot.min.css"),
    )
    for name in ("uplot.min.js", "charts.js"):
        await page.add_script_tag(url=asset_url(name))
    await page.evaluate("document.dispatchEvent(new Event('tenax:changed'))")
    chart = page.locator("[data-chart] canvas")
    await expect(chart).to_have_count(1)
    before = await chart.evaluate("(canvas) => canvas.toDataURL()")
    data["series"][0]["values"] = [9, 1, 9]
    await page.evaluate(
        "(data) => { document.querySelector('[data-chart]').dataset.chart = data; document.dispatchEvent(new Event('tenax:changed')) }",
        json.dumps(data),
    )
    await expect(chart).to_have_count(1)
    assert await chart.evaluate("(canvas) => canvas.toDataURL()") != before
