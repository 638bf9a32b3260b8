"""A plain script: it sends a newsletter to all readers, and reports what was sent.

    python newsletter.py

The reader Ben's mail fails once and is tried again. Kill the script with Ctrl-C or `kill -9` and start it again: with the
same edition it goes on where it was, and sends no mail twice. It needs no server and no database: Tenax starts its own.
"""

from __future__ import annotations

import sys

from tenax import Retry, Tenax, Workflow, context, task


@task
def list_readers() -> list[str]:
    return ["ada@example.org", "ben@example.org", "cyd@example.org"]


@task(retry={"max_attempts": 5, "initial_delay": "200ms"}, timeout="10s")
def send(reader: str, edition: str) -> str:
    if reader.startswith("ben") and context().attempt == 1:
        raise Retry("the mail server is busy")
    return f"{edition} to {reader}"


@task
def report(sent: list[str]) -> str:
    return f"sent {len(sent)} mails, the last one: {sent[-1]}"


wf = Workflow("newsletter", input={"edition": str})
mails = wf.step(send, wf.item, wf.input.edition, for_each=wf.step(list_readers), parallelism=2)
wf.outputs = {"report": wf.step(report, mails)}


def main(edition: str) -> None:
    with Tenax.sync() as app, app.worker():
        handle = wf.submit_sync({"edition": edition}, key=f"newsletter-{edition}")
        print(handle.result()["report"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "spring")
