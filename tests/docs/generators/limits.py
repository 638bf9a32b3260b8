"""Makes the table of limits on what others send. Defaults are from the settings, fixed limits from the code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from generators.tables import code, table
from tenax.engine.bulk.runner import MAX_PREVIEWS
from tenax.engine.caches import input_cache as inputs
from tenax.engine.caches import lease_cache as leased
from tenax.engine.context import VIEWS_AT_ONCE
from tenax.engine.external.server_steps import MOST_SLOW_OF_ONE
from tenax.engine.graph.start_steps import LONGEST_PLAIN_KEY, MOST_ITEMS, WORK_PER_KEY
from tenax.engine.late_results import MAX_LATE_RESULTS
from tenax.engine.lease.large_inputs import MAX_ANSWER
from tenax.engine.operate.filters import MAX_SAVED
from tenax.engine.operate.operator_action import MAX_POLICY, MAX_WRITTEN
from tenax.engine.submit.resolve_definitions import DEEPEST as DEEPEST_CHILD
from tenax.engine.views.selection import MAX_EXPANDED
from tenax.model import json_text
from tenax.model.attempt import bounded
from tenax.model.filters import terms as filters
from tenax.model.filters.parse import MAX_LENGTH
from tenax.model.inputs import inputs as declared
from tenax.model.packs.archive import MAX_FILES
from tenax.model.packs.names import MAX_PATH
from tenax.model.source.yaml_builder import MAX_DEPTH, MAX_VALUES
from tenax.model.wire_types import BATCH, FILES, LONGEST_LEASE_WAIT
from tenax.policy.check import MOST_EXPRESSIONS, MOST_EXPRESSIONS_OF_STEP
from tenax.policy.expressions.compiler import NODES, TEXT_LENGTH
from tenax.policy.expressions.values import TEXT_LIMIT
from tenax.policy.packs.read_pack import MAX_ACTION_FILE, MAX_ACTIONS
from tenax.server.api.executions import LONGEST_NEWS_WAIT
from tenax.server.protocol.bounded import MAX_PIPELINED
from tenax.server.protocol.connections import FILES_RESERVED
from tenax.server.schema.body import DEEPEST_JSON
from tenax.settings.docs import describe_settings
from tenax.store.selection.bulk_jobs import MAX_EXECUTIONS
from tenax.store.selection.conditions import FILTER_SECONDS
from tenax.store.tables.log import LOOK_BYTES, LOOK_ROWS, PAGE_BYTES
from tenax.worker.executors.redirects import MAX_REDIRECTS
from tenax.worker.handlers.error_outcomes import STDERR_LIMIT, TRACEBACK_LIMIT
from tenax.worker.packs.parameters import CHECK_SECONDS
from tenax.worker.processes.processes import STDOUT_LIMIT

_TEMPLATE = "class `invalid`, reason `template_error`"
_CHECK = "422; in a child's step class `invalid`, reason `invalid_parameters`"
_RESULT = "class `invalid`, reason `invalid_result`"


class Limit(NamedTuple):
    """Is one row. `bound` is the name of a setting, or the fixed limit in words."""

    what: str
    bound: str
    beyond: str


def _count(number: int, unit: str = "") -> str:
    return f"{number:,} {unit}".strip()


def _size(number: int) -> str:
    return f"{number // 1_000_000}MB" if number >= 1_000_000 else f"{number // 1000}KB"


LIMITS: Mapping[str, tuple[Limit, ...]] = {
    "Requests, before anyone is asked for a token": (
        Limit("request line and headers", "max_head", "431, the connection is closed"),
        Limit("body", "max_body", "413; a body that goes on is cut off"),
        Limit(
            "requests on one connection that wait for the answer to an earlier one",
            _count(MAX_PIPELINED),
            "the connection is closed",
        ),
        Limit("time for a head", "head_timeout", "408, the connection is closed"),
        Limit("time for a body", "body_timeout", "408, the connection is closed"),
        Limit("time without progress of an answer that is not read", "body_timeout", "the connection is dropped"),
        Limit("connections from one address", "max_connections_per_address", "room is made, or 429"),
        Limit(f"connections in all, and {FILES_RESERVED} fewer than files may be open", "max_connections", "room is made, or 503"),
    ),
    "Requests with a token, and callbacks": (
        Limit("values in the JSON of a body", "max_values", "413"),
        Limit(
            "memory for all bodies above 64 KB together, until they are answered; half of it for one token, or for the callbacks of one item",
            "body_memory",
            "503",
        ),
        Limit("levels of JSON", _count(DEEPEST_JSON), "422"),
        Limit("submissions, reports or releases in one request", _count(BATCH), "422"),
        Limit("a filter", f"{_count(MAX_LENGTH)} characters, {filters.MAX_TERMS} terms, {filters.MAX_VALUES} values", "400"),
        Limit("time of a statement with a filter", f"{FILTER_SECONDS:g}s", "400"),
        Limit("saved filters, and characters of those that one filter names", f"{_count(MAX_SAVED)}, {_count(MAX_EXPANDED)}", "409, 400"),
        Limit("executions of one bulk job", _count(MAX_EXECUTIONS), "400"),
        Limit("previews of bulk jobs of one actor", _count(MAX_PREVIEWS), "the oldest are forgotten"),
        Limit("policy of `reschedule`, as JSON", _count(MAX_POLICY, "characters"), "400"),
        Limit("results or policies that one action writes for several items", _count(MAX_WRITTEN, "characters"), "400"),
        Limit("views, lists and figures that are made at the same time; one sender has at most all but one of them", _count(VIEWS_AT_ONCE), "senders wait for their turns"),
        Limit("definitions of children in one submission", _count(FILES), "422"),
        Limit("time that a request waits for work", f"{LONGEST_LEASE_WAIT:g}s", "422"),
        Limit("time that a request waits for news of an execution", f"{LONGEST_NEWS_WAIT:g}s", "422"),
        Limit("a page of history in the server's memory", _size(PAGE_BYTES), "the answer is sent page by page"),
    ),
    "Definitions": (
        Limit("bytes", "max_definition", "422"),
        Limit("steps", "max_steps", "422"),
        Limit("values in the schemas of all inputs", "max_schema", "422"),
        Limit("processor time to read and check one in a process beside the server", "definition_time", "422"),
        Limit("inputs", _count(declared.MAX_INPUTS), "422"),
        Limit("templates and conditions", f"{_count(MOST_EXPRESSIONS)}, {_count(MOST_EXPRESSIONS_OF_STEP)} in one step", "422"),
        Limit("one expression", f"{_count(TEXT_LENGTH)} characters, {_count(NODES)} parts", "422"),
        Limit("values in all, and levels", f"{_count(MAX_VALUES)}, {MAX_DEPTH}", "422"),
        Limit("levels of children", _count(DEEPEST_CHILD), "422"),
    ),
    "Packs": (
        Limit("bytes of the files of a pack", "max_pack", "413"),
        Limit("files of a pack", _count(MAX_FILES), "413"),
        Limit("actions of a pack", _count(MAX_ACTIONS), "413"),
        Limit("an action file, and `pack.yaml`", _size(MAX_ACTION_FILE), "413"),
        Limit("parameters of an action", _count(declared.MAX_INPUTS), "422"),
        Limit("a path in a pack", _count(MAX_PATH, "bytes"), "422"),
        Limit("processor time to read one in a process beside the server", "definition_time", "422"),
        Limit("packs that a worker keeps", "pack_cache", "those that were unused for longest are dropped"),
        Limit("time to check parameters whose schemas may take long, on a worker", f"{CHECK_SECONDS:g}s", "class `invalid`, reason `invalid_parameters`"),
    ),
    "Inputs, schemas and fan-outs": (
        Limit("input of a check in a process beside the server", "max_input", _CHECK),
        Limit("processor time of such a check", "input_time", _CHECK),
        Limit("levels of an input", _count(declared.MAX_DEPTH), _CHECK),
        Limit("items of one fan-out", _count(MOST_ITEMS), f"the step fails, {_TEMPLATE}"),
        Limit("processes beside the server; one sender has at most all but one of them", "aside_processes", "senders wait for their turns"),
        Limit("children of one execution that wait for such a process", _count(MOST_SLOW_OF_ONE), "further ones are started later"),
        Limit("memory of each such process", "aside_memory", "as beyond `definition_time` or `input_time`"),
    ),
    "Conditions and templates": (
        Limit("units of work of all conditions of one decision", "expression_work", "no retry, and the decision says why"),
        Limit(
            "units of work of one rendering: the templates of an attempt, a `when`, a `for_each`, an `on_failure`, a key, `outputs`",
            "2 x expression_work",
            f"the attempt, the step or the execution fails, {_TEMPLATE}",
        ),
        Limit(
            "the same of all keys (`concurrency.key`) of a fan-out",
            f"2 x expression_work, and {_count(WORK_PER_KEY)} for each item",
            f"the step fails, {_TEMPLATE}",
        ),
        Limit("bytes that one rendering gives", "max_rendered", "as beyond the work"),
        Limit("result of a step that an expression reads", "max_rendered", "it is not loaded; as beyond the work"),
        Limit("results that one view of an execution or page of items shows, and evidence of failures that a view shows", "max_rendered", "a marker is in their places"),
        Limit("rendered inputs in the answer to one lease request, and one further item", _size(MAX_ANSWER), "the other items go back to the queue, uncounted"),
        Limit("one text that an expression builds", _count(TEXT_LIMIT, "characters"), "as beyond the work"),
        Limit("a key of `concurrency`", _count(LONGEST_PLAIN_KEY, "characters"), "it is known by its hash"),
    ),
    "Answers and results, on a worker": (
        Limit("answer of an `http` step, result file", "max_result", f"the attempt fails, {_RESULT}"),
        Limit("levels of a result", _count(json_text.MAX_DEPTH), f"the attempt fails, {_RESULT}"),
        Limit("stdout of a process without a result file", _size(STDOUT_LIMIT), "cut, and the result says so"),
        Limit("stderr of a process in its failure", _count(STDERR_LIMIT, "characters"), "the end is kept"),
        Limit("traceback of a failure", _count(TRACEBACK_LIMIT, "characters"), "the end is kept"),
        Limit("redirects of an `http` step", _count(MAX_REDIRECTS), "the attempt fails"),
    ),
    "Reports and callbacks": (
        Limit("message of a failure, in characters", "max_message", "cut, with a mark that says how much is missing"),
        Limit("`traceback` and `stderr_tail`, each, of any sender", "max_evidence", "the end is kept, with a mark"),
        Limit("`data` of a failure, as JSON", "max_evidence", "a text with its beginning, and a mark"),
        Limit("reason, dependency, name of an exception", _count(bounded.MAX_NAME, "characters"), "cut"),
        Limit("base classes of an exception", _count(bounded.MAX_BASES), "left out"),
        Limit("a late report or callback", "max_late_result", "its SHA-256, its size and its beginning are recorded"),
        Limit("a checkpoint", "max_checkpoint", "the call fails, and a worker that sends it all the same is ignored"),
        Limit("the output of an attempt", "max_output", "its middle is cut"),
        Limit("notes of running attempts in one request", _count(BATCH), "422"),
        Limit(
            "different late reports under one token, late callbacks of one attempt",
            _count(MAX_LATE_RESULTS),
            "answered, not recorded",
        ),
        Limit(
            "log that a late report is compared with",
            f"the newest {_count(LOOK_ROWS)} rows, {_size(LOOK_BYTES)}",
            "recorded with `unchecked: true`",
        ),
    ),
    "Memory of the server": (
        Limit("plans of workflows, by an estimate", "plan_memory", "the plans that were not used for longest are read again when they are needed"),
        Limit("schemas with their validators", _size(declared.SCHEMA_MEMORY), "the oldest are made again when they are needed"),
        Limit("leases", _count(leased.MOST_REMEMBERED), "the database is asked"),
        Limit("inputs of up to 1KB, of the youngest executions", _count(inputs.MOST_REMEMBERED), "the database is asked"),
    ),
}  # fmt: skip
_NO_LIMITS = {"max_hold": "how long work waits for a person"}
"""Settings that look like limits on what others send, but are not."""


_ENDINGS = ("_time", "_timeout", "_memory", "_work")


def limits() -> str:
    """Returns the table, with a line above each group."""
    defaults = {row.name: row.default for row in describe_settings()}
    rows: list[tuple[str, str, str, str]] = []
    for group, listed in LIMITS.items():
        rows.append((f"**{group}**", "", "", ""))
        rows += [(one.what, *_bound(one.bound, defaults), one.beyond) for one in listed]
    return table(("what", "limit", "setting", "beyond it"), rows)


def _bound(bound: str, defaults: Mapping[str, str]) -> tuple[str, str]:
    """Returns the limit as a number, and the setting or `fixed`."""
    named = [name for name in re.findall(r"[a-z_]+", bound) if name in defaults]
    if not named:
        return bound, "fixed"
    [name] = named
    factor = 2 if bound.startswith("2 x ") else 1
    default = defaults[name]
    shown = f"{factor * int(default):,}" if default.isdigit() else default
    return bound.removeprefix("2 x ").replace(name, shown), code(name)


def settings_in_table() -> set[str]:
    return {
        name for listed in LIMITS.values() for one in listed for name in re.findall(r"[a-z_]+", one.bound)
    }


def settings_that_are_limits() -> Iterator[str]:
    """Returns the names of the settings that limit what others send."""
    for row in describe_settings():
        is_limit = row.name.startswith("max_") or row.name.endswith(_ENDINGS)
        if is_limit and row.name not in _NO_LIMITS:
            yield row.name


BLOCKS = {"limits": limits}
