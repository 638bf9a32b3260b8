"""Tests the way from a list to a bulk job and its result: in a browser, and by plain forms."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlencode

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible
from support.waiting import eventually

ONE = "name: {name}\nworkflow: [{{step: load, type: python, task: t, retry: {{max_attempts: 1}}}}]\n"


def fail(hand, number: int, name: str = "orders", message: str = "no such order 17") -> list[int]:
    """Makes executions that have failed for good."""
    made = []
    for _ in range(number):
        made.append(hand.submit(ONE.format(name=name)))
        hand.fail(message)
    return made


def state_of(server, execution: int) -> str:
    with server.http() as http:
        return http.get(f"/v1/executions/{execution}").json()["status"]


def send(http, page: str, address: str, **fields: str):
    """Sends a form as a browser without scripts does: with the hidden text of the page that shows it."""
    token = re.search(r'name="form_token" value="([0-9a-f]+)"', http.get(page).text)[1]
    return http.post(address, data={**fields, "form_token": token}, follow_redirects=True)


async def test_from_a_filter_to_the_result_of_a_bulk_retry(server, hand, browser):
    failed = await asyncio.to_thread(fail, hand, 3)
    [other] = await asyncio.to_thread(fail, hand, 1, "billing")
    page = await browser.open(f"{server.url}/executions")
    await page.get_by_text("Fields", exact=True).click()
    await page.get_by_label("failed", exact=True).check()
    await page.get_by_label("Workflow", exact=True).fill("ord*")
    await page.get_by_role("button", name="Apply the fields").click()
    await expect(page.get_by_role("searchbox")).to_have_value("status=failed workflow=ord*")
    await expect(page.locator("#executions tbody tr")).to_have_count(3)
    await expect(page.get_by_role("link", name=re.compile("Failed"))).to_have_attribute(
        "aria-current", "page"
    )
    await expect(page.get_by_role("link", name=re.compile("Failed"))).to_contain_text("3")
    act = page.get_by_role("button", name="Act on the selection")
    await expect(act).to_be_disabled()
    await page.get_by_label("All on this page").check()
    await expect(page.get_by_text("3 chosen")).to_be_visible()
    await assert_accessible(page)
    await page.get_by_label("All that match").check()
    await act.click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Filter")).to_have_value("status=failed workflow=ord*")
    await dialog.get_by_label("Canary").fill("1")
    await dialog.get_by_label("At most").fill("1000")
    await dialog.get_by_label("Reason").fill("the order service is back")
    await assert_accessible(page)
    await dialog.get_by_role("button", name="Preview").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Bulk job 1: retry 3 executions")
    await expect(page.get_by_text("nothing has been done")).to_be_visible()
    await assert_accessible(page)
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_text("1 of 3")).to_be_visible()
    assert sorted(await asyncio.gather(*[asyncio.to_thread(state_of, server, one) for one in failed])) == [
        "failed", "failed", "running",
    ]  # fmt: skip
    await asyncio.to_thread(hand.succeed)
    await expect(page.locator(".head .badge")).to_have_text("completed")
    await expect(page.get_by_text("3 of 3")).to_be_visible()
    await expect(page.get_by_text("the order service is back")).to_be_visible()
    for _ in range(2):
        await asyncio.to_thread(hand.succeed)
    await expect(page.locator("tbody .badge", has_text="completed")).to_have_count(3)
    assert await asyncio.to_thread(state_of, server, other) == "failed"
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_chosen_rows_stay_chosen_while_the_list_changes(server, hand, browser):
    [first, second] = await asyncio.to_thread(fail, hand, 2)
    page = await browser.open(f"{server.url}/executions")
    await page.get_by_label(f"Choose execution {first}").check()
    [third] = await asyncio.to_thread(fail, hand, 1)
    await expect(page.locator(f"#execution-{third}")).to_contain_text("failed")
    await expect(page.get_by_label(f"Choose execution {first}")).to_be_checked()
    await expect(page.get_by_label(f"Choose execution {second}")).not_to_be_checked()
    await page.get_by_role("button", name="Act on the selection").click()
    await expect(page.get_by_role("dialog").get_by_label("Filter")).to_have_value(f"id={first}")


async def test_a_view_is_saved_used_and_removed(server, hand, browser):
    await asyncio.to_thread(fail, hand, 1)
    page = await browser.open(f"{server.url}/executions?filter=status%3Dfailed")
    await page.get_by_role("link", name="Save view").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("broken")
    await page.get_by_role("dialog").get_by_label("Reason").fill("for whoever is on call")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("searchbox")).to_have_value("@broken")
    await expect(page.locator("#executions tbody tr")).to_have_count(1)
    await assert_accessible(page)
    await page.get_by_role("link", name="Remove the view broken").click()
    await page.get_by_role("dialog").get_by_label("Reason").fill("they are mended")
    await page.get_by_role("button", name="Remove the view").click()
    await expect(page.get_by_role("navigation", name="Saved views")).to_have_count(0)
    await expect(page).to_have_url(f"{server.url}/executions")
    with server.http() as http:
        told = [(one["action"], one["reason"]) for one in http.get("/v1/audit?target=filter:broken").json()]
    assert told == [("filter_remove", "they are mended"), ("filter_save", "for whoever is on call")]


def test_without_scripts_chosen_rows_are_cancelled_by_a_job(server, hand):
    chosen, left = hand.submit(ONE.format(name="a")), hand.submit(ONE.format(name="b"))
    with server.http() as http:
        form = http.get(f"/bulk/new?rows=1&filter=workflow%3Da&id={chosen}")
        assert f'value="id={chosen}"' in form.text
        made = send(
            http, "/bulk/new?filter=x", "/bulk/new", action="cancel", filter=f"id={chosen}", reason="by hand"
        )
        assert "Bulk job 1: cancel 1 executions" in made.text
        assert state_of(server, chosen) == "running"
        started = send(http, "/bulk/1", "/bulk/1/start")
        assert started.url.path == "/bulk/1"
        eventually(lambda: state_of(server, chosen) == "cancelled")
        eventually(lambda: "1</span> done" in http.get("/bulk/1").text)
        assert "cancel" in http.get("/bulk").text
    assert state_of(server, left) == "running"


def test_a_canary_that_fails_stops_the_job_and_a_person_may_overrule_it(server, hand):
    fail(hand, 2)
    with server.http() as http:
        fields = {"action": "retry", "filter": "status=failed", "reason": "again", "canary": "1"}
        send(http, "/bulk/new?filter=x", "/bulk/new", **fields)
        send(http, "/bulk/1", "/bulk/1/start")
        hand.fail("no such order 17")
        eventually(lambda: "its canary failed" in http.get("/bulk/1").text)
        page = http.get("/bulk/1").text
        assert "Resume" in page
        assert "this overrules it" in http.get("/bulk/1/resume").text
        send(http, "/bulk/1/resume", "/bulk/1/resume", reason="all the same")
        eventually(lambda: "overruled" in http.get("/bulk/1").text)


def test_a_running_job_is_stopped_with_a_reason(server, hand):
    fail(hand, 3)
    with server.http() as http:
        fields = {"action": "retry", "filter": "status=failed", "reason": "again", "rate": "1", "unit": "h"}
        send(http, "/bulk/new?filter=x", "/bulk/new", **fields)
        send(http, "/bulk/1", "/bulk/1/start")
        refused = send(http, "/bulk/1/stop", "/bulk/1/stop", reason=" ")
        assert (refused.status_code, "a reason is missing" in refused.text) == (400, True)
        stopped = send(http, "/bulk/1/stop", "/bulk/1/stop", reason="wrong hour")
        assert "stopped by anonymous@loopback: wrong hour" in stopped.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"filter": ""}, "a filter is missing"),
        ({"reason": ""}, "a reason is missing"),
        ({"filter": "stauts=failed"}, "did you mean"),
        ({"action": "explode"}, "no bulk action"),
        ({"canary": "few"}, "canary: expected a whole number"),
        ({"rate": "x"}, "rate: expected a number"),
        ({"rate": "nan"}, "must be from one a day"),
        ({"unit": "w"}, "no unit"),
        ({"max_failed": "5"}, "give a `canary` as well"),
        ({"action": "complete", "result": "{"}, "the result is not JSON"),
        ({"action": "reschedule", "policy": "[]"}, "the policy must be an object"),
        ({"action": "complete"}, "needs the `result`"),
    ],
)
def test_a_wrong_form_says_what_is_wrong(server, fields, said):
    with server.http() as http:
        given = {"action": "retry", "filter": "status=failed", "reason": "why", **fields}
        answer = send(http, "/bulk/new?filter=x", "/bulk/new", **given)
    assert answer.status_code == 400
    assert said in answer.text.replace("&#39;", "'").replace("&quot;", '"')


def test_a_job_has_the_step_the_result_and_the_pace_of_its_form(server, hand):
    hand.submit(ONE.format(name="quote"))
    with server.http() as http:
        send(
            http, "/bulk/new?filter=x", "/bulk/new", action="complete", filter="workflow=quote", reason="fixed",
            step="load", result='{"eur": 12}', rate="120", unit="m", canary="5", max_failed="20",
        )  # fmt: skip
        job = http.get("/v1/bulk/1").json()
        page = http.get("/bulk/1").text
    assert (job["step"], job["result"], job["rate"], job["canary"], job["max_failed"]) == (
        "load", {"eur": 12}, 2.0, 5, 20.0,
    )  # fmt: skip
    assert "at most 2 a second" in page
    assert "the first 5, of which 20 % may fail" in page


def test_the_list_says_how_far_it_has_looked_and_leads_on(server, hand, monkeypatch):
    from tenax.store.tables import execution_pages

    monkeypatch.setattr(execution_pages, "PAGE_SECONDS", 0.0)
    monkeypatch.setattr(execution_pages, "FIRST_WINDOW", 2)
    monkeypatch.setattr(execution_pages, "LARGEST_WINDOW", 2)
    oldest = hand.submit(ONE.format(name="wanted"))
    for _ in range(5):
        hand.submit(ONE.format(name="other"))
    with server.http() as http:
        page, further = http.get("/executions?filter=workflow%3Dwanted").text, 0
        while f'id="execution-{oldest}"' not in page:
            assert "Looked back until" in page
            page = http.get(re.search(r'<a href="([^"]+)">Look further', page)[1].replace("&amp;", "&")).text
            further += 1
        assert further > 0
        newer = re.search(r'<a class="button" href="([^"]+)" rel="prev"', page)[1].replace("&amp;", "&")
        assert "after=" in newer
        assert http.get(newer).status_code == 200


def test_a_viewer_sees_no_way_to_act(tokens):
    server, secrets = tokens
    with server.http(secrets["operator"]) as http:
        http.post("/v1/executions", json={"source": ONE.format(name="x")})
        query = urlencode({"filter": "status=running"})
        assert "Act on the selection" in http.get(f"/executions?{query}").text
        http.post("/bulk/new", data={"action": "cancel", "filter": "status=running", "reason": "why"})
        assert "Start" in http.get("/bulk/1").text
    with server.http(secrets["viewer"]) as http:
        listed = http.get(f"/executions?{query}").text
        assert all(word not in listed for word in ("Act on", "Save view", "Choose execution", "Cancel</a>"))
        assert "<button" not in re.sub(r'<header.*?</header>|<dialog.*?</dialog>|role="search">.*?</form>', "", http.get("/bulk/1").text, flags=re.DOTALL)  # fmt: skip
        refused = http.post("/bulk/1/start")
        assert refused.status_code == 403
