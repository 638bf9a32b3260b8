"""Makes the table of what retry settings of other systems become: each setting is translated."""

from __future__ import annotations

from generators.tables import code, table
from tenax.dialects.translate import translate_text
from tenax.model.durations import format_duration
from tenax.model.parse.retry_fields import parse_retry
from tenax.model.source.yaml_source import read_source
from tenax.policy.retry.delay_table import delay_table
from tenax.policy.retry.resolve import resolve_policy

_MOST = 5  # delays of one row
_JOB = "kind: Job\nspec: {%s, template: {spec: {containers: [{command: [run]}]}}}"
_ARGO = "kind: Workflow\nspec: {entrypoint: a, templates: [{name: a, retryStrategy: {%s}, container: {command: [run]}}]}"
_STATE = "StartAt: A\nStates: {A: {Type: Task, Resource: a, End: true, Retry: [{%s}]}}"
_CASES = (
    ("tasker", "retry: {max_attempts: 3}", "%s"),
    ("tasker", "retry: {max_attempts: 0}", "%s"),
    ("tasker", "retry: {backoff: fibonacci, max_attempts: 5, backoff_base_ms: 500}", "%s"),
    ("argyll", "work_config: {max_retries: 3}", "id: a\nhttp: {endpoint: 'http://a'}\n%s"),
    ("argyll", "work_config: {max_retries: -1, init_backoff: 100}", "id: a\nhttp: {endpoint: 'http://a'}\n%s"),
    ("argyll", "work_config: {}", "id: a\nhttp: {endpoint: 'http://a'}\n%s"),
    ("argyll", "", "id: a\nattributes: {}\nhttp: {endpoint: 'http://a'}\n%s"),
    ("agenttask", "retry: {maxAttempts: 3}", "kind: AgentTask\nspec: {prompt: a, %s}"),
    ("agenttask", "retry: {maxAttempts: 0}", "kind: AgentTask\nspec: {prompt: a, %s}"),
    ("noetl", "retry: true", "kind: Playbook\nworkflow: [{step: a, type: http, url: 'http://a', %s}]"),
    ("noetl", "retry: 5", "kind: Playbook\nworkflow: [{step: a, type: http, url: 'http://a', %s}]"),
    ("attune", "max_retries: 3", "runner_type: shell\nentry_point: a.sh\n%s"),
    ("attune", "retry: {count: 3, delay: 5}", "tasks: [{name: a, action: core.noop, %s}]"),
    ("argo", "limit: 3, backoff: {duration: 10s, factor: 2}", _ARGO),
    ("argo", "limit: 3", _ARGO),
    ("kubernetes", "backoffLimit: 4", _JOB),
    ("kubernetes", "", _JOB.replace("%s, ", "")),
    ("stepfunctions", "ErrorEquals: [States.ALL]", _STATE),
    ("stepfunctions", "ErrorEquals: [States.ALL], MaxAttempts: 5, IntervalSeconds: 2, MaxDelaySeconds: 10", _STATE),
)  # fmt: skip


def schedules() -> str:
    rows = [(code(system), code(setting) if setting else "nothing", *_schedule(system, setting, text)) for system, setting, text in _CASES]  # fmt: skip
    return table(("system", "setting", "attempts", "delays", "jitter"), rows)


def _schedule(system: str, setting: str, text: str) -> tuple[str, str, str]:
    [made] = translate_text(text.replace("%s", setting), system=system).workflows
    retry = read_source(made.text).data["workflow"][0]["retry"]
    patch, _ = parse_retry(retry, ("retry",))
    policy = resolve_policy([patch])
    rows = delay_table(policy, limit=_MOST + 1)
    delays = ", ".join(format_duration(row.nominal) for row in rows[1:])
    total = "unlimited" if policy.max_attempts is None else str(policy.max_attempts)
    return total, f"{delays}, ..." if rows[-1].more else delays or "none", f"{policy.jitter:g}"


BLOCKS = {"import-schedules": schedules}
