"""Lists the published reasons of failures, which `retry_on`, `never_on` and `rules` may name besides classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from tenax.model.attempt.outcome import FAILURE_CLASSES, FailureClass

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "connection_refused": "nothing listens at the address",
        "connection_reset": "the other side broke the connection off",
        "connection_dns": "the host's name could not be resolved",
        "connection_timeout": "no connection, or no answer, in the time the client allows",
        "connection_tls": "the TLS handshake failed",
        "connection_unreachable": "there is no route to the host",
        "connection_protocol": "the answer was not HTTP, or broke off",
        "connection_failed": "the connection failed in some other way",
        "not_committed": "the transaction that was to complete the attempt was not committed",
        "oom_killed": "killed because memory ran out",
        "missing_result": "it ended well but left no result file where one is required",
        "not_completed": "the handler asks to be run again; the attempt counts",
        "snooze_limit": "it snoozed more often than `max_snoozes` allows",
        "unclassified": "it failed, and nothing is known that says how",
        "attempt_timeout": "the attempt outlived its `timeout`",
        "execution_deadline": "the execution outlived its `deadline`",
        "until_limit": "`until` did not hold within its `max_polls` or its `deadline`",
        "wait_deadline": "no signal and no approval came by the `deadline`",
        "callback_deadline": "the callee of an async step did not call back by the `deadline`",
        "worker_died": "the worker's process ended while the attempt ran, and its supervisor said so",
        "worker_heartbeat_stale": "the lease ran out: the worker died or stopped sending heartbeats",
        "hold_expired": "it was held for longer than `max_hold`",
        "worker_wait_expired": "no live worker able to run it for `worker_wait`",
        "queue_ttl_expired": "it was not leased within `queue_ttl`",
        "rejected": "a person rejected what asked for approval",
        "reported_failure": "the handler, or its result file, says that it failed",
        "child_cancelled": "a child execution was cancelled, and not because its parent was",
        "child_failed": "a child execution failed; its class is in the evidence",
        "validation_error": "a validation error",
        "invalid_parameters": "the parameters do not fit what the handler takes",
        "invalid_result": "it says it succeeded, but its result cannot be read",
        "no_callback_url": "the server does not know the address at which others reach it, so no callee could call back",
        "result_too_large": "the results of a fan-out are too large to be put together in one list, or that of a child is too large for its parent",
        "template_error": "a template of the step could not be rendered",
        "permission_denied": "the operating system or the callee denied access",
        "address_refused": "the host of an `http` step has no public address, and the worker connects to no other (`http_addresses`)",
        "pack_damaged": "the content of the action's pack did not reach the worker whole",
        "pack_removed": "the content of the action's pack is not stored any more",
        "unknown_workflow": "the server knows no such workflow",
        "unknown_action": "the server knows no such action",
        "unknown_handler": "no worker anywhere has such a handler",
        "budget_exceeded": "a cost or token limit is spent",
        "cancelled_on_request": "someone cancelled it",
        "failed_by_operator": "an operator failed it",
        "execution_ended": "it was not done when its execution, or its step, was over",
        "manual_retry": "an operator started it again",
    }
)

SERVER_REASONS: frozenset[str] = frozenset(
    {
        "worker_heartbeat_stale",
        "worker_died",
        "worker_wait_expired",
        "queue_ttl_expired",
        "hold_expired",
        "snooze_limit",
        "execution_deadline",
        "until_limit",
        "wait_deadline",
        "callback_deadline",
        "child_failed",
        "child_cancelled",
        "rejected",
        "result_too_large",
        "execution_ended",
        "manual_retry",
        "failed_by_operator",
        "unknown_workflow",
        "unknown_action",
    }
)
"""Reasons that only the server may give. They are not believed from a worker or a callee."""

REASON_PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "http_NNN": "the HTTP status of the answer: http_503, http_429",
        "exit_code_N": "a process ended with this exit code: exit_code_7",
        "signal_N": "a process was killed by this signal: signal_9",
        "exception_NAME": "an exception of this type was raised: exception_OSError. In a policy it also matches the types that descend from it, and may be qualified: exception_mylib.errors.QuotaExceeded",
    }
)

REASON_OF_CLASS: Mapping[FailureClass, str] = MappingProxyType(
    {
        "transient": "unclassified",
        "timeout": "attempt_timeout",
        "worker_lost": "worker_heartbeat_stale",
        "worker_unavailable": "worker_wait_expired",
        "queue_timeout": "queue_ttl_expired",
        "logical": "reported_failure",
        "invalid": "validation_error",
        "denied": "permission_denied",
        "not_found": "unknown_handler",
        "budget": "budget_exceeded",
        "cancelled": "cancelled_on_request",
    }
)
"""The reason of a failure if only its class is known."""

_PATTERN = re.compile(
    r"http_[1-9][0-9]{2}|exit_code_[0-9]{1,10}|signal_[0-9]{1,3}"
    r"|exception_(?=[\w.]{1,200}\Z)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
)


def is_known_reason(text: str) -> bool:
    return text in REASONS or _PATTERN.fullmatch(text) is not None


def known_names() -> tuple[str, ...]:
    """Returns the names that are valid in `retry_on` and similar fields, for suggestions of the nearest name."""
    return (*FAILURE_CLASSES, *REASONS)
