"""Tests running a workflow from the form of its inputs."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect
from support.browse.browsing import PHONE, assert_accessible

FLOW = """
name: sync-orders
input:
  shop: {type: string, required: true, minLength: 3, description: "The shop, by its name in the registry"}
  since: {type: string, format: date}
  limit: {type: integer, default: 500, maximum: 1000}
  rate: {type: number, default: 0.5}
  mode: {type: string, enum: [full, incremental], default: incremental}
  level: {enum: [1, 2, 3]}
  notify: {type: boolean, default: true}
  filters: {type: object, default: {country: [DE]}, properties: {country: {type: array, items: {type: string}}}}
workflow: [{step: a, type: python, task: t}]
"""


@pytest.fixture
def http(server):
    with server.http() as http:
        assert http.post("/v1/workflows", json={"source": FLOW}).status_code == 201
        yield http


def send(http, fields: dict[str, str]):
    page = http.get("/workflows/sync-orders/run").text
    [token] = set(re.findall(r'name="form_token" value="([^"]+)"', page))
    return http.post(
        "/workflows/sync-orders/run", data={"form_token": token, **fields}, follow_redirects=False
    )


async def test_a_workflow_is_run_from_its_form(server, http, browser):
    browser.forgive("status of 422|answered: .* 422|answered: /executions/[0-9]+ 404|status of 404")
    page = await browser.open(f"{server.url}/workflows")
    await page.get_by_role("link", name="Run sync-orders").click()
    await assert_accessible(page)
    await page.get_by_label("limit").fill("2000")
    await page.get_by_label("since").fill("2026-01-31")
    await page.get_by_label("mode").select_option("full")
    await page.get_by_label("level").select_option("2")
    await page.get_by_label("notify").uncheck()
    await page.get_by_label("filters").fill('{"country": [1]}')
    await page.get_by_role("button", name="Run").click()
    await expect(page.get_by_label("limit")).to_have_value("2000")
    for name, said in (("shop", "required"), ("limit", "2000"), ("filters", "country[0]")):
        field = page.get_by_label(name)
        await expect(field).to_have_attribute("aria-invalid", "true")
        error = page.locator(f"#error-{await field.get_attribute('id')}")
        await expect(error).to_contain_text(said)
    await assert_accessible(page)
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_label("shop").fill("berlin")
    await page.get_by_label("limit").fill("20")
    await page.get_by_label("filters").fill('{"country": ["AT"]}')
    await page.get_by_role("button", name="Run").click()
    await page.wait_for_url(re.compile("/executions/[0-9]+$"))
    found = http.get(f"/v1{page.url.removeprefix(server.url)}").json()
    assert (
        found["workflow"]["name"] == "sync-orders" if isinstance(found["workflow"], dict) else "sync-orders"
    )
    assert found["input"] == {
        "shop": "berlin",
        "since": "2026-01-31",
        "limit": 20,
        "rate": 0.5,
        "mode": "full",
        "level": 2,
        "notify": False,
        "filters": {"country": ["AT"]},
    }


def test_a_key_that_was_used_before_leads_to_its_execution(http):
    fields = {"input.shop": "berlin", "input.notify": "on", "key": "order 7"}
    first = send(http, fields)
    assert first.status_code == 303
    again = send(http, fields)
    assert again.status_code == 409
    assert "The key order 7 was used before" in again.text
    assert f'href="{first.headers["location"]}"' in again.text
    assert len(http.get("/v1/executions").json()) == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input.shop": "x"}, "shop"),
        ({"input.shop": "berlin", "input.filters": "{"}, "not valid JSON"),
        ({"input.shop": "berlin", "key": "x" * 10_000}, "the key cannot be used"),
        ({"input.shop": "berlin", "key": "tenax:1"}, "own"),
    ],
)
def test_what_does_not_fit_starts_nothing(http, fields, said):
    answer = send(http, fields)
    assert answer.status_code in (400, 422)
    assert said in answer.text
    assert http.get("/v1/executions").json() == []


def test_a_paused_workflow_says_that_the_execution_begins_paused(http):
    http.post("/v1/workflows/sync-orders/pause")
    assert "begins paused" in http.get("/workflows/sync-orders/run").text


def test_a_viewer_does_not_get_the_form(tokens):
    server, secrets = tokens
    with server.http(secrets["operator"]) as http:
        http.post("/v1/workflows", json={"source": FLOW})
        assert http.get("/workflows/sync-orders/run").status_code == 200
    with server.http(secrets["viewer"]) as http:
        assert http.get("/workflows/sync-orders/run").status_code == 403
        assert http.post("/workflows/sync-orders/run", data={"input.shop": "berlin"}).status_code == 403
        page = http.get("/workflows/sync-orders")
        assert page.status_code == 200
        assert "/workflows/sync-orders/run" not in page.text
        assert "/workflows/sync-orders/pause" not in page.text
        assert http.get("/v1/executions").json() == []
