"""The pages of schedules: what starts next, what they did, and pause, resume and run now."""

from __future__ import annotations

from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible

SOURCE = """
name: nightly
schedule: {cron: "0 3 * * *", timezone: Europe/Zurich, overlap: queue}
workflow: [{step: a, type: python, task: "t:t"}]
"""


async def test_a_schedule_is_paused_resumed_and_run(server, browser):
    with server.http() as http:
        assert http.post("/v1/workflows", json={"source": SOURCE}).status_code == 201
    page = await browser.open(f"{server.url}/schedules")
    row = page.get_by_role("row", name="nightly")
    await expect(row).to_contain_text("cron 0 3 * * * in Europe/Zurich overlap: queue")
    await expect(row).to_contain_text("none yet")
    await assert_accessible(page)
    await row.get_by_role("link", name="Pause").click()
    dialog = page.get_by_role("dialog")
    await assert_accessible(page)
    await dialog.get_by_label("Reason").fill("the warehouse is down")
    await dialog.get_by_role("button", name="Pause the schedule").click()
    main = page.get_by_role("main")
    await expect(main).to_contain_text("the warehouse is down")
    await main.get_by_role("link", name="Resume").click()
    await dialog.get_by_label("Reason").fill("it is up again")
    await dialog.get_by_role("button", name="Resume the schedule").click()
    await expect(main).to_contain_text("03:00:00+0")
    await assert_accessible(page)
    await main.get_by_role("link", name="Run now").click()
    await dialog.get_by_label("Reason").fill("a test")
    await dialog.get_by_role("button", name="Run it now").click()
    await expect(page).to_have_url(f"{server.url}/executions/1")
    await page.goto(f"{server.url}/schedules/nightly")
    await expect(main).to_contain_text("started by hand")
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_viewers_see_schedules_and_change_none(tokens):
    server, secrets = tokens
    with server.http(secrets["admin"]) as http:
        http.post("/v1/workflows", json={"source": SOURCE})
    with server.http(secrets["viewer"]) as http:
        page = http.get("/schedules").text
        assert "nightly" in page
        assert "/schedules/nightly/pause" not in page
        assert http.get("/schedules/nightly").status_code == 200
        assert http.post("/schedules/nightly/pause", data={"reason": "x"}).status_code == 403
        assert http.get("/schedules/unknown").status_code == 404
        assert http.get("/schedules/nightly/delete").status_code == 422
