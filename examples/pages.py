"""The task of pages.yaml: it reads pages, and goes on where the attempt before it was."""

from tenax import TaskContext, task

PAGES = 30


@task
def read_pages(ctx: TaskContext) -> dict:
    first = ctx.resumed_from or 1
    for page in range(first, PAGES + 1):
        ctx.progress(page / PAGES, f"page {page} of {PAGES}")
        if page == 12 and ctx.attempt == 1:
            raise ConnectionError("the connection was lost")
        print(f"read page {page}")
        ctx.checkpoint(page + 1)
    return {"began_at": first}
