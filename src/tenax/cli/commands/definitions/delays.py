"""Prints the attempts and delays that the policies of a workflow file give."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tenax.cli.flags import Json
from tenax.cli.input.check_definition import shown_name
from tenax.cli.input.inputs import read_bytes
from tenax.cli.input.policies import default_retry, policies_of
from tenax.cli.output import new_table, print_json, say, show
from tenax.drawing.policy_words import changes_schedule, policy_words, rule_words
from tenax.drawing.text_lines import printable
from tenax.errors import UsageError
from tenax.model.durations import format_duration
from tenax.model.policy import Policy, rule_as_dict
from tenax.policy.check import load_workflow
from tenax.policy.retry.delay_table import DelayRow, delay_table, within_rule
from tenax.policy.retry.resolve import CompiledRule, compile_policy

File = Annotated[str, Parameter(help="The workflow file; - is stdin.")]
MAX_ROWS = 10_000  # attempts of one step that are printed


def delays(
    file: File,
    /,
    *,
    limit: Annotated[int, Parameter(help="The number of attempts of each step to print. [20]")] = 20,
    json: Json = False,
) -> None:
    """Print the attempts of each step if all fail, with the least, the nominal and the largest delay before each.

    Each entry of a policy's `rules` follows, with the attempts if every failure matches it and is retried. It has a table
    of its own if it changes the delays or the number of attempts.
    """
    if not 1 <= limit <= MAX_ROWS:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MAX_ROWS}")
    server_retry = default_retry()
    workflow = load_workflow(read_bytes(file), filename=shown_name(file), server_retry=server_retry)
    policies = policies_of(workflow, server_retry)
    if json:
        print_json({"name": workflow.name, "steps": {n: _as_json(p, limit) for n, p in policies.items()}})
        return
    for index, (name, policy) in enumerate(policies.items()):
        if index:
            say("")
        say(f"{name}: {policy_words(policy)}")
        show(_table(delay_table(policy, limit=limit)))
        for rule in compile_policy(policy).rules:
            _show_rule(name, policy, rule, limit)


def _show_rule(step: str, policy: Policy, rule: CompiledRule, limit: int) -> None:
    within = within_rule(policy, rule)
    title = printable(f"{step}, {rule.name} ({rule_words(rule)})")
    if not changes_schedule(policy, within):
        say(f"\n{title}: the same attempts and delays")
        return
    say(f"\n{title}: {policy_words(within)}")
    if within.retryable and within.max_attempts != 1:
        show(_table(delay_table(within, limit=limit)))


def _as_json(policy: Policy, limit: int) -> dict[str, Any]:
    rules = [
        {"rule": rule.name, **rule_as_dict(rule.rule), **_attempts_as_json(within_rule(policy, rule), limit)}
        for rule in compile_policy(policy).rules
    ]
    return {**_attempts_as_json(policy, limit), "rules": rules, "policy": policy.as_dict()}


def _attempts_as_json(policy: Policy, limit: int) -> dict[str, Any]:
    rows = delay_table(policy, limit=limit)
    listed = [
        {
            "attempt": row.attempt,
            "least": row.least,
            "nominal": row.nominal,
            "most": row.most,
            "cumulative": row.cumulative_nominal,
            "cumulative_least": row.cumulative_least,
            "cumulative_most": row.cumulative_most,
        }
        for row in rows
    ]
    return {"max_attempts": policy.max_attempts, "attempts": listed, "more": rows[-1].more}


def _table(rows: list[DelayRow]) -> Any:
    titles = ("attempt", "least", "nominal", "most", "cumulative", "at least", "at most")
    table = new_table(*titles, right=titles)
    for row in rows:
        times = (
            row.least,
            row.nominal,
            row.most,
            row.cumulative_nominal,
            row.cumulative_least,
            row.cumulative_most,
        )
        table.add_row(str(row.attempt), *(format_duration(seconds) for seconds in times))
    if rows[-1].more:
        table.add_row("...", *("" for _ in titles[1:]))
    return table
