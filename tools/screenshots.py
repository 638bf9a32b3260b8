"""Takes the pictures of the dashboard in the docs: `make screenshots`.

Runs `tenax up` in a temporary home, prepares executions that fail in different ways, and opens the pages in chromium.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from tenax.credentials.token_file import read_token
from tenax.demo.household import Household, household
from tenax.errors import Unreachable
from tenax.model.wire import Submission
from tenax.sdk.client import Client

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
START_SECONDS = 90.0
SETTLE_SECONDS = 25.0  # seconds for which the prepared executions fail, wait and recover before the pictures
COUNTED_SECONDS = 65.0  # seconds after which the minute of the executions is over, so that charts show it

SYNC = """
name: nightly-sync
input: {url: {type: string, required: true}, region: {type: string, default: eu}}
workflow:
  - step: fetch_orders
    type: http
    url: "{{ input.url }}"
    retry: {max_attempts: 8, initial_delay: 1s, backoff_multiplier: 2, jitter: 0.2}
  - {step: count_rows, type: process, needs: [fetch_orders], command: "echo '{\\"rows\\": 412}'"}
  - step: load_warehouse
    type: process
    needs: [count_rows]
    command: 'test "$(date +%S | cut -c2)" -gt 2 || { echo "connection to warehouse lost" >&2; exit 7; }'
    retry: {max_attempts: 8, initial_delay: 2s, jitter: full}
  - {step: send_report, type: process, needs: [load_warehouse], command: "echo sent"}
"""
THUMBNAILS = """
name: thumbnails
input: {images: {type: array, required: true}}
workflow:
  - step: render
    type: process
    for_each: "{{ input.images }}"
    parallelism: 30
    tolerate: 60
    env: {IMAGE: "{{ item }}"}
    command: 'test $((IMAGE % 23)) -ne 5 || { echo "corrupt JPEG in image $IMAGE" >&2; exit 4; }'
    retry: {max_attempts: 2, initial_delay: 300ms}
"""
INVOICES = """
name: invoices
input: {url: {type: string, required: true}, customer: {type: integer, required: true}}
workflow:
  - {step: post_invoice, type: http, method: POST, url: "{{ input.url }}", json: {customer: "{{ input.customer }}"},
     retry: {max_attempts: 3, initial_delay: 500ms, rules: [{on: [http_429], initial_delay: 5s}]}}
"""
RELEASE = """
name: release
workflow:
  - {step: build, type: process, command: "echo built"}
  - {step: approve, type: wait, needs: [build], deadline: 8h}
  - {step: publish, type: process, needs: [approve], command: "echo published"}
"""


class Service(ThreadingHTTPServer):
    """Answers `/N/KEY` with 503 to the first N requests of a key and then with 200, and anything else with its number."""

    daemon_threads = True
    seen: Counter[str]


class Handler(BaseHTTPRequestHandler):
    server: Service

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        first, _, key = self.path.strip("/").partition("/")
        self.server.seen[key] += 1
        status = int(first) if int(first) >= 100 else 503 if self.server.seen[key] <= int(first) else 200
        body = json.dumps({"orders": 412} if status == 200 else {"error": "not now"}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer  # noqa: N815 -- the names that http.server gives them

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name that http.server gives it
        """Logs nothing."""


@contextmanager
def service() -> Iterator[str]:
    server = Service(("127.0.0.1", 0), Handler)
    server.seen = Counter()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


async def prepare(client: Client, url: str) -> dict[str, int]:
    """Submits executions that fail in different ways. Returns the ids of those whose pages are shown."""

    async def submit(source: str, **values: object) -> int:
        return (await client.submit(Submission(source=source, filename="w.yaml", input=values))).id

    shown = {"thumbnails": await submit(THUMBNAILS, images=list(range(400)))}
    for n in range(40):
        await submit(
            INVOICES, url=f"{url}/{(0, 1, 0, 404, 0, 2, 500, 0)[n % 8]}/invoice-{n}", customer=1000 + n
        )
    for n in range(6):
        await submit(SYNC, url=f"{url}/{n % 4}/sync-{n}", region=("eu", "us", "asia")[n % 3])
    shown["recovering"] = await submit(SYNC, url=f"{url}/6/sync-live")
    shown["failed"] = await submit(INVOICES, url=f"{url}/500/invoice-down", customer=17)
    shown["waiting"] = await submit(RELEASE)
    return shown


async def take(browser: Browser, house: Household, shown: dict[str, int]) -> None:
    """Takes a picture of each page."""
    context = await browser.new_context(viewport=WIDE, reduced_motion="reduce")
    page = await context.new_page()
    await page.goto(house.sign_in)
    await page.wait_for_url(f"{house.url}/")
    recovering = f"/executions/{shown['recovering']}"
    pages = {
        "executions": ("/executions", "light", WIDE),
        "execution": (recovering, "light", WIDE),
        "execution-dark": (recovering, "dark", WIDE),
        "execution-phone": (recovering, "light", PHONE),
        "decisions": (f"{recovering}/decisions", "light", WIDE),
        "fan-out": (f"/executions/{shown['thumbnails']}", "light", WIDE),
        "dead-letters": ("/dead-letters", "light", WIDE),
        "workflow": ("/workflows/nightly-sync/policies", "light", WIDE),
    }
    pages["overview"] = ("/?range=15m", "light", WIDE)
    for name, (path, theme, size) in pages.items():
        if name == "overview":
            await asyncio.sleep(COUNTED_SECONDS)
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
        await page.goto(f"{house.url}{path}")
        await page.locator("html[data-live=on], html:not([data-live])").first.wait_for(state="attached")
        await page.wait_for_timeout(1500)  # charts are drawn, and the first live update has come
        await page.screenshot(path=IMAGES / f"dashboard-{name}.png", animations="disabled")
        print(f"docs/images/dashboard-{name}.png")


async def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("there is no chromium; on Debian: apt-get install chromium", file=sys.stderr)
        return 2
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with service() as url:
        async with household(port, print) as house, async_playwright() as playwright:
            async with asyncio.timeout(START_SECONDS), Client(house.url) as anyone:
                await _until_ready(anyone)
            async with Client(house.url, read_token(house.home)) as client:
                shown = await prepare(client, url)
                await asyncio.sleep(SETTLE_SECONDS)
                browser = await playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox", "--force-color-profile=srgb"]
                )
                await take(browser, house, shown)
                await browser.close()
    return 0


async def _until_ready(client: Client) -> None:
    while True:
        try:
            if await client.ready():
                return
        except Unreachable:
            pass
        await asyncio.sleep(0.2)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
