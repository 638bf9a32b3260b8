"""Shows the decisions on an execution: what was decided and why, with everything that the decision has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from tenax.drawing.figures.small_bars import delay_parts, draw_delay_bar
from tenax.engine.engine import Engine
from tenax.model.decision import Ledger
from tenax.model.definition.workflow import COMPENSATION
from tenax.model.metrics.pages import ExplainedDecision
from tenax.model.views import Explanation
from tenax.model.wire_types import LARGEST_ATTEMPT
from tenax.policy.retry.explain import rule_meaning, value_words, work_name
from tenax.ui.answers import answer_live, answer_page, dashboard, engine, render_blocks, visitor
from tenax.ui.live.topics import Subject
from tenax.ui.pages.acting.frame import FRAME, FRAME_BLOCKS, EventId, ExecutionId, ItemNumber, StepName, frame
from tenax.ui.words import query

PAGE_SIZE = 10
EVERY = 15.0  # seconds after which the decisions are read again without news
TEMPLATE = "executions/decisions.html"
BLOCKS = ("decisions",)
router = APIRouter(prefix="/executions/{execution_id}/decisions")

AttemptNumber = Annotated[int | None, Query(ge=1, le=LARGEST_ATTEMPT)]


class About(NamedTuple):
    """Names the decisions that a page shows."""

    step: str | None = None
    item: int | None = None
    attempt: int | None = None
    before: int | None = None

    def query(self, **changed: Any) -> str:
        return query(**self._replace(**changed)._asdict())


class CheckLine(NamedTuple):
    """Is a rule that was looked at."""

    rule: str
    meaning: str
    hit: bool
    saw: list[tuple[str, str]]


class LedgerLine(NamedTuple):
    """Is a field of the ledger, before and after the decision."""

    name: str
    before: str
    after: str


class ShownDecision(NamedTuple):
    """Is a decision as the page shows it."""

    event: int
    explanation: Explanation
    name: str
    delay: Markup | None
    delay_words: str | None
    roll: str
    checks: list[CheckLine]
    ledger: list[LedgerLine]
    limits: list[tuple[str, str]]
    policy: Mapping[str, Any] | None
    matched: Mapping[str, Any] | None
    """The entry of the policy's rules that matched the failure."""


@router.get("")
async def show(
    request: Request,
    execution_id: ExecutionId,
    step: StepName = None,
    item: ItemNumber = None,
    attempt: AttemptNumber = None,
    before: EventId = None,
) -> Response:
    """Shows decisions, the newest first: all of them, or those on a step, an item or an attempt."""
    about = About(step or None, item, attempt, before)
    values = await _values(engine(request), execution_id, about)
    live = f"/executions/{execution_id}/decisions/live{about.query()}" if before is None else None
    return answer_page(request, TEMPLATE, live=live, **values)


@router.get("/live")
async def live(
    request: Request,
    execution_id: ExecutionId,
    step: StepName = None,
    item: ItemNumber = None,
    attempt: AttemptNumber = None,
) -> Response:
    """Keeps the newest decisions up to date."""
    here, may_act = dashboard(request), visitor(request).may_act
    about = About(step or None, item, attempt)

    async def render() -> dict[str, str]:
        values = await _values(here.engine, execution_id, about)
        values |= {"may_act": may_act}
        return {
            **render_blocks(here, FRAME, FRAME_BLOCKS, values),
            **render_blocks(here, TEMPLATE, BLOCKS, values),
        }

    key = ("decisions", execution_id, about, may_act)
    return answer_live(request, Subject(key, render, lambda: here.engine.changes(execution_id), every=EVERY))


async def _values(on: Engine, execution_id: int, about: About) -> dict[str, Any]:
    execution = await on.get(execution_id)
    page = await on.decisions(
        execution_id,
        step=about.step,
        item=about.item,
        attempt=about.attempt,
        before=about.before,
        limit=PAGE_SIZE,
    )
    here = f"/executions/{execution_id}/decisions"
    return {
        **await frame(on, execution, "Decisions"),
        "about": about,
        "decisions": [_shown(one, page.policies) for one in page.decisions],
        "is_open": len(page.decisions) == 1,
        "older": None if page.older is None else here + about.query(before=page.older),
        "newest": here + about.query(before=None) if about.before is not None else None,
        "looked_until": page.looked_until,
    }


def _shown(one: ExplainedDecision, policies: Mapping[str, Mapping[str, Any]]) -> ShownDecision:
    told = one.explanation
    decision = told.decision
    parts = delay_parts(decision)
    policy = policies.get(f"{COMPENSATION if told.compensation else ''}{told.step}")
    return ShownDecision(
        event=one.event,
        explanation=told,
        name=work_name(told.step, told.item, compensation=told.compensation),
        delay=None if parts is None else Markup(draw_delay_bar(parts, width=320)),  # noqa: S704 -- the drawing escapes its texts
        roll=f"{decision.get('roll', 0.0):.6g}",
        delay_words=_line_of(told.text, "Delay: "),
        checks=[_check(check) for check in decision.get("checks", ())],
        ledger=list(_ledger(decision)),
        limits=list(_limits(decision, policy)),
        policy=policy,
        matched=_matched(decision, policy),
    )


def _line_of(text: str, start: str) -> str | None:
    """Returns the rest of the line of an explanation that begins in this way."""
    return next((line.removeprefix(start) for line in text.split("\n") if line.startswith(start)), None)


def _check(check: Mapping[str, Any]) -> CheckLine:
    saw = [(name, value_words(name, value)) for name, value in check["saw"].items()]
    return CheckLine(check["rule"], rule_meaning(check["rule"]), bool(check["hit"]), saw)


def _ledger(decision: Mapping[str, Any]) -> Iterator[LedgerLine]:
    """Yields the fields of the ledger that have a value before or after the decision."""
    before, after = decision.get("before", {}), decision.get("after", {})
    for name in Ledger.__struct_fields__:
        if name in before or name in after:
            yield LedgerLine(name, *(_field(name, one.get(name)) for one in (before, after)))


def _field(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {part}" for key, part in value.items()) or "none"
    return value_words(name, value)


_LIMITS = ("give_up_after", "max_delay", "max_retry_after", "max_snoozes", "infra_attempts", "poison_after")


def _limits(decision: Mapping[str, Any], policy: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yields the limits that hold for the decision."""
    yield (
        "max_attempts",
        "unlimited" if decision.get("max_attempts") is None else str(decision["max_attempts"]),
    )
    for name in _LIMITS:
        if policy is not None and name in policy:
            yield name, value_words(name, policy[name])


def _matched(decision: Mapping[str, Any], policy: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    number = decision.get("matched_rule")
    rules = (policy or {}).get("rules", [])
    return rules[number] if number is not None and number < len(rules) else None
