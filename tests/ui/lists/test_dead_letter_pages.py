"""Tests the triage of dead letters: groups, letters, one letter, redriving and discarding them."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible
from support.waiting import eventually

ONE = "name: {name}\ninput: {{order: {{type: integer, default: 7}}}}\nworkflow: [{{step: load, type: python, task: t, retry: {{max_attempts: 1}}}}]\n"


def fail(hand, message: str, name: str = "orders") -> int:
    execution = hand.submit(ONE.format(name=name))
    hand.fail(message)
    return execution


def letters(server, query: str = "") -> list[dict]:
    with server.http() as http:
        return http.get(f"/v1/dead-letters?all=true&{query}").json()


def send(http, page: str, address: str, **fields: str):
    """Sends a form as a browser without scripts does: with the hidden text of the page that shows it."""
    token = re.search(r'name="form_token" value="([0-9a-f]+)"', http.get(page).text)[1]
    return http.post(address, data={**fields, "form_token": token}, follow_redirects=True)


async def test_a_group_is_redriven_by_a_job_from_its_cause_to_its_recovery(server, hand, browser):
    page = await browser.open(f"{server.url}/dead-letters")
    await expect(page.get_by_text("No open dead letters")).to_be_visible()
    for number in (17, 18):
        await asyncio.to_thread(fail, hand, f"no such order {number}")
    await asyncio.to_thread(fail, hand, "x" * 100_000, "a-very-long-name-" * 8)
    group = page.locator("tbody tr").filter(has_text="no such order <n>")
    await expect(group).to_contain_text("2")
    await expect(group).to_contain_text("load of orders")
    await expect(group.locator("svg")).to_be_visible()
    await assert_accessible(page)
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.set_viewport_size({"width": 1280, "height": 800})
    await group.get_by_role("link", name="no such order").click()
    await expect(page.locator("#letters tbody tr")).to_have_count(2)
    await expect(page.locator(".group-shape")).to_have_text("no such order <n>")
    await assert_accessible(page)
    await page.get_by_label("All that match").check()
    await page.get_by_role("button", name="Redrive").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Filter")).to_have_value(re.compile("^fingerprint=[0-9a-f]{16}$"))
    await dialog.get_by_label("Reason").fill("the orders are there now")
    await dialog.get_by_role("button", name="Preview").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Bulk job 1: redrive 2 dead letters")
    await expect(page.locator("tbody tr")).to_have_count(2)
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator(".head .badge")).to_have_text("completed")
    await expect(page.get_by_text("2 of 2")).to_be_visible()
    for _ in range(2):
        await asyncio.to_thread(hand.succeed)
    await expect(page.locator("tbody .badge", has_text="completed")).to_have_count(2)
    await page.locator("tbody tr").first.locator("a[href^='/dead-letters/']").click()
    await expect(page.locator(".head .badge")).to_have_text("recovered")
    await expect(page.get_by_role("region", name="Attempts").locator("tbody tr")).to_have_count(2)
    await assert_accessible(page)


async def test_one_letter_tells_what_happened_and_is_redriven(server, hand, browser):
    execution = await asyncio.to_thread(fail, hand, "boom\n" + "x" * 100_000)
    page = await browser.open(f"{server.url}/dead-letters?view=letters")
    await page.locator("#letters tbody tr td a").first.click()
    await expect(page.get_by_role("heading", name=re.compile("Dead letter"))).to_be_visible()
    await expect(page.locator(f"a[href='/executions/{execution}']")).to_have_text(str(execution))  # fmt: skip
    await expect(page.get_by_text("attempts_exhausted").first).to_be_visible()
    await expect(page.get_by_role("region", name="Input of the execution")).to_contain_text('"order": 7')
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await assert_accessible(page)
    await page.get_by_role("link", name="Redrive").click()
    await page.get_by_role("dialog").get_by_label("Reason").fill("again")
    await page.get_by_role("button", name="Redrive", exact=True).click()
    await expect(page.locator(".head .badge")).to_have_text("redriven")
    await asyncio.to_thread(hand.succeed)
    await expect(page.locator(".head .badge")).to_have_text("recovered")
    await page.get_by_role("link", name="Dead letters", exact=True).last.click()
    await expect(page).to_have_url(f"{server.url}/dead-letters?view=letters")


def test_without_scripts_letters_are_discarded_with_a_note(server, hand):
    for number in (1, 2):
        fail(hand, f"no such order {number}")
    fail(hand, "another cause")
    with server.http() as http:
        [kept] = [one for one in letters(server) if one["message"] == "another cause"]
        [group] = {one["fingerprint"] for one in letters(server) if one["id"] != kept["id"]}
        form = http.get(f"/dead-letters/discard?filter=fingerprint%3D{group}").text
        assert "Discard 2 dead letters?" in form
        address = "/dead-letters/discard?filter=x%3D"
        refused = send(http, f"/dead-letters/discard?filter=fingerprint%3D{group}", "/dead-letters/discard", filter=f"fingerprint={group}", note="")  # fmt: skip
        assert (refused.status_code, "a note is missing" in refused.text) == (400, True)
        assert http.get(address).status_code == 400
        done = send(http, f"/dead-letters/discard?filter=fingerprint%3D{group}", "/dead-letters/discard", filter=f"fingerprint={group}", note="test orders")  # fmt: skip
        assert "2 dead letters discarded" in done.text
        assert {one["status"]: one["note"] for one in letters(server, f"fingerprint={group}")} == {
            "discarded": "test orders"
        }
        letter = kept["id"]
        send(http, f"/dead-letters/{letter}/discard", f"/dead-letters/{letter}/discard", note="done by hand")
        page = http.get(f"/dead-letters/{letter}").text
        assert "done by hand" in page
        assert f"/dead-letters/{letter}/discard" not in page
        assert http.get("/dead-letters").text.count("<tr") == 0


def test_chosen_letters_are_redriven_or_discarded(server, hand):
    for number in (1, 2, 3):
        fail(hand, f"no such order {number}")
    [first, second, _] = sorted(one["id"] for one in letters(server))
    with server.http() as http:
        chosen = f"rows=1&filter=status%3Dopen&id={first}&id={second}"
        assert (
            f'value="id={first},{second}"' in http.get(f"/dead-letters/chosen?action=redrive&{chosen}").text
        )
        assert "Discard 2 dead letters?" in http.get(f"/dead-letters/chosen?action=discard&{chosen}").text
        assert "nothing is chosen" in http.get("/dead-letters/chosen?action=discard&rows=1&filter=x").text
        send(
            http, "/bulk/new?action=redrive&filter=x", "/bulk/new",
            action="redrive", filter=f"id={first}", reason="one", canary="1",
        )  # fmt: skip
        assert "Bulk job 1: redrive 1 dead letters" in http.get("/bulk/1").text
        send(http, "/bulk/1", "/bulk/1/start")
        eventually(lambda: [one["id"] for one in letters(server) if one["status"] == "redriven"] == [first])


def test_a_letter_that_cannot_be_redriven_says_why(server, hand):
    execution = fail(hand, "boom")
    [letter] = [one["id"] for one in letters(server)]
    with server.http() as http:
        send(http, f"/dead-letters/{letter}/redrive", f"/dead-letters/{letter}/redrive", reason="again")
        http.post(f"/v1/executions/{execution}/cancel", json={"reason": "no more"})
        eventually(lambda: letters(server)[0]["status"] == "resolved")
        page = http.get(f"/dead-letters/{letter}").text
        assert "not now:" in page
        refused = send(http, f"/dead-letters/{letter}/redrive", f"/dead-letters/{letter}/redrive", reason="x")
        assert refused.status_code == 409
        assert "cannot be redriven" in refused.text


def test_letters_are_filtered_by_fields_and_paged(server, hand):
    for number in range(55):
        fail(hand, f"no such order {number}", "orders" if number else "billing")
    with server.http() as http:
        answer = http.get(
            "/dead-letters/filter?view=letters&workflow=ord*&status=open", follow_redirects=True
        )
        assert answer.url.params["filter"] == "workflow=ord* status=open"
        first = answer.text
        assert first.count('id="letter-') == 50
        older = re.search(r'<a class="button" href="([^"]+)" rel="next"', first)[1].replace("&amp;", "&")
        second = http.get(older).text
        assert second.count('id="letter-') == 4
        assert 'rel="first"' in second
        assert "letters/live" not in second
        group = re.search(r"group=([0-9a-f]{16})", http.get("/dead-letters").text)[1]
        own = http.get(f"/dead-letters?group={group}&filter=workflow%3Dbilling").text
        assert own.count('id="letter-') == 1
        wrong = http.get("/dead-letters?filter=stepp%3Dx")
        assert (wrong.status_code, "did you mean" in wrong.text) == (400, True)
        assert "No dead letter fits" not in wrong.text
        assert http.get("/dead-letters/999999").status_code == 404


@pytest.mark.parametrize("path", ["/dead-letters", "/dead-letters?view=letters", "/dead-letters/{}"])
def test_a_viewer_reads_and_cannot_act(tokens, path):
    from support.browse.worker_by_hand import WorkerByHand

    server, secrets = tokens
    with server.http(secrets["operator"]) as http, server.http(secrets["worker"]) as at_work:
        http.post("/v1/executions", json={"source": ONE.format(name="x")})
        WorkerByHand(at_work).fail("boom")
        [letter] = [one["id"] for one in http.get("/v1/dead-letters").json()]
        assert "Redrive" in http.get(path.format(letter)).text
    with server.http(secrets["viewer"]) as http:
        page = http.get(path.format(letter)).text
        assert "boom" in page
        assert all(word not in page for word in ("Redrive", ">Discard", "Choose letter"))
        assert http.post(f"/dead-letters/{letter}/redrive").status_code == 403
