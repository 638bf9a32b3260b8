"""Prints the events of an execution, and explains why an execution, a worker or a queue is in its state."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import to_builtins

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import run_async
from tenax.cli.flags import DEFAULT_TARGET, ExecutionId, Json, TargetFlags
from tenax.cli.output import print_json, say, say_wrapped, show
from tenax.drawing.text_lines import one_line, printable
from tenax.errors import UsageError
from tenax.model.execution_views import Event

_MAX_REQUEST = 400  # characters of a request


def events(
    execution_id: ExecutionId,
    /,
    *,
    after: Annotated[int, Parameter(help="Only events after this sequence number.")] = 0,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Print the events of an execution, in their order."""
    # The table needs all events, since earlier ones tell how many attempts counted.
    found = run_async(_events(where, execution_id, after if json else 0))
    if json:
        print_json(to_builtins(found))
    elif any(event.seq > after for event in found):
        show(_event_table(found, after))
    else:
        say("no events")


async def _events(where: TargetFlags, execution_id: int, after: int) -> Sequence[Event]:
    async with open_backend(where.settings()) as backend:
        return await backend.events(execution_id, after=after)


def _event_table(found: Sequence[Event], after: int) -> Any:
    from rich.text import Text

    from tenax.cli.render.table import Column, RankedTable
    from tenax.drawing.event_lines import EventWording

    with_items = any(event.item is not None for event in found)
    columns = (
        Column("seq", right=True),
        Column("at", rank=1),
        Column("type"),
        Column("step", rank=4, least=8),
        *([Column("item", rank=3, right=True)] if with_items else []),
        Column("attempt", rank=2, right=True),
        Column("what", rank=5, least=24, wrapped=True),
    )
    rows = []
    wording = EventWording()
    for event in found:
        words = one_line(wording.words(event))
        if event.seq <= after:
            continue
        item, attempt = ("" if number is None else str(number) for number in (event.item, event.attempt))
        cells = (str(event.seq), event.at, event.type, event.step or "")
        rows.append([*map(Text, (*cells, *([item] if with_items else []), attempt, words))])
    return RankedTable(columns, rows)


def explain(
    execution_id: Annotated[int | None, Parameter(name="ID", help="The number of an execution.")] = None,
    /,
    *,
    step: Annotated[str | None, Parameter(help="Only this step.")] = None,
    item: Annotated[
        int | None,
        Parameter(help="Only the decisions on this item, in every fan-out if --step is not given."),
    ] = None,
    attempt: Annotated[int | None, Parameter(help="Only the decision on this attempt.")] = None,
    worker: Annotated[str | None, Parameter(help="Explain why this worker gets no work.")] = None,
    queue: Annotated[str | None, Parameter(help="Explain why this queue does not move.")] = None,
    all_rules: Annotated[
        bool, Parameter(name="--all", help="All rules that were looked at, for the earlier attempts too.")
    ] = False,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Explain why an execution, a step, an item, a worker or a queue is in its state.

    The first sentence names the cause. Then come what happens next, what you can do, the evidence, and the decisions on the
    attempts. The last decision on each step or item, and the one on --attempt, have all rules that were looked at. Earlier
    ones have the rules that applied.
    """
    of_execution = step is not None or item is not None or attempt is not None or all_rules
    if [execution_id, worker, queue].count(None) != 2:
        raise UsageError(
            "name one thing to explain: the number of an execution, --worker NAME or --queue NAME",
            remedy="`tenax list` shows the executions there are",
        )
    if execution_id is None:
        if of_execution:
            raise UsageError("--step, --item, --attempt and --all are for executions: give the number of one")
        _print_diagnosis(run_async(_of_fleet(where, worker, queue)), where, json=json)
        return
    diagnosis, found = run_async(_explained(where, execution_id, step, item, attempt))
    if json:
        print_json({"diagnosis": diagnosis, "decisions": found})
        return
    if diagnosis is not None:
        _print_diagnosis(diagnosis, where, json=False)
    if found:
        brief = set() if all_rules or attempt is not None else _earlier(found)
        text = "\n\n".join(_explanations(where, execution_id, found, brief))
        say_wrapped(text if diagnosis is None else f"\n{text}")
        if brief:
            flags = [*(["--step", step] if step else []), *(["--item", item] if item is not None else [])]
            say(f"\nall rules for each attempt: {where.command('explain', execution_id, *flags, '--all')}")


def _print_diagnosis(diagnosis: dict[str, Any], where: TargetFlags, *, json: bool) -> None:
    from tenax.cli.render.operators.diagnosis import diagnosis_lines

    if json:
        print_json(diagnosis)
    else:
        say("\n".join(diagnosis_lines(diagnosis, where)))


async def _of_fleet(where: TargetFlags, worker: str | None, queue: str | None) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        if worker is not None:
            return await backend.diagnose_worker(worker)
        assert queue is not None
        return await backend.diagnose_queue(queue)


def _earlier(found: Sequence[dict[str, Any]]) -> set[int]:
    """Returns the indices of the decisions that a later one on the same step, item or compensation follows."""
    last: dict[tuple[Any, ...], int] = {}
    with_rules = [index for index, one in enumerate(found) if "checks" in one["decision"]]
    for index in with_rules:
        one = found[index]
        last[one["step"], one.get("item"), one.get("compensation")] = index
    return set(with_rules).difference(last.values())


def _explanations(
    where: TargetFlags, execution_id: int, found: Sequence[dict[str, Any]], brief: Container[int]
) -> Iterator[str]:
    """Yields the explanations. Items that succeeded at once need none and may be thousands, so they are only counted."""
    plain = 0
    for index, one in enumerate(found):
        if one.get("item") is not None and "checks" not in one["decision"]:
            plain += 1
        else:
            yield _explanation(where, execution_id, one, brief=index in brief)
    if plain:
        yield f"{plain:,} item{'s' if plain != 1 else ''} succeeded at once; there was nothing to decide."


def _explanation(where: TargetFlags, execution_id: int, one: dict[str, Any], *, brief: bool) -> str:
    from tenax.cli.render.evidence import last_lines

    which: list[object] = ["--step", one["step"]]
    if not one.get("compensation"):
        which += [] if one.get("item") is None else ["--item", one["item"]]
        which += [] if one["attempt"] is None else ["--attempt", one["attempt"]]
    whole = where.command("show", execution_id, *which)
    evidence = last_lines(one["failure"], whole=whole) if one["failure"] else []
    if evidence:
        evidence.insert(0, "What it left behind:")
    if one["failure"] and (request := one["failure"].get("request")):
        evidence.insert(0, f"What it was asked to do: {one_line(request, _MAX_REQUEST)}")
    return "\n".join([printable(_in_brief(one) if brief else one["text"]), *evidence])


def _in_brief(one: dict[str, Any]) -> str:
    from tenax.policy.retry.explain import explain_decision, work_name

    name = work_name(one["step"], one.get("item"), compensation=bool(one.get("compensation")))
    return explain_decision(one["decision"], one["failure"], step=name, attempt=one["attempt"], brief=True)


async def _explained(
    where: TargetFlags, execution_id: int, step: str | None, item: int | None, attempt: int | None
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Returns the diagnosis, and the decisions. One attempt has no diagnosis, nor has an item without its step."""
    async with open_backend(where.settings()) as backend:
        decisions = await backend.explain(execution_id, step=step, attempt=attempt, item=item)
        if attempt is not None or (item is not None and step is None):
            return None, list(decisions)
        return await backend.diagnose(execution_id, step=step, item=item), list(decisions)
