"""Declares the bodies that people send. The type of submissions is in `tenax.model.wire`. What workers send is in `worker_requests`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from tenax.model.filters.parse import MAX_LENGTH
from tenax.model.wire import (
    Submission,
)
from tenax.model.wire_types import (
    BATCH,
    LARGEST_LIMIT,
    PLAIN,
    Files,
    Item,
    Limit,
    Name,
    Source,
    Text,
)
from tenax.server.schema.body import Body
from tenax.store.fleet.tokens import LARGEST_ID, LONGEST_NAME, Role


class PersonBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Is a body that people send. An unknown key is a mistake here, but not in the body of a worker, which may be newer than the server."""


class Batch(PersonBody, frozen=True):
    """Starts several executions in one transaction: all of them or none."""

    submissions: Annotated[list[Submission], Meta(max_length=BATCH)]


class Reason(PersonBody, frozen=True):
    """Gives the reason of a person who cancels, pauses, drains or resumes something."""

    reason: Text | None = None


class Approval(PersonBody, frozen=True):
    """Approves or rejects a waiting step, or one `item` of its fan-out."""

    reason: Text | None = None
    item: Item | None = None


class Signal(PersonBody, frozen=True):
    """Sends a signal. If its `key` was used before, it counts as the earlier signal, and nothing is sent."""

    name: Name
    data: Any = None
    key: Name | None = None
    reason: Text | None = None


class Workflow(PersonBody, frozen=True):
    """Stores a definition. `files` holds the definitions that its steps name with `file:`, by their paths from its folder."""

    source: Source
    filename: Text | None = None
    files: Files = msgspec.field(default_factory=dict)


class Operation(PersonBody, frozen=True):
    """Acts on an execution, on one of its steps, or on one item of a fan-out."""

    step: Name | None = None
    item: Item | None = None
    reason: Text | None = None


class FilterWanted(PersonBody, frozen=True):
    """Saves a filter."""

    filter: Annotated[str, Meta(max_length=MAX_LENGTH)]


class ScheduleWanted(PersonBody, frozen=True):
    """Creates a schedule. `schedule` has the keys of `schedule` in a workflow file. Without `workflow`, it starts the stored
    workflow of its own name."""

    schedule: dict[str, Any]
    workflow: Name | None = None


class Retry(Operation, frozen=True):
    """Runs waiting retries and failed work again. With `new`, all of a finished execution runs again as a new one, and `input`
    has the inputs that change."""

    new: bool = False
    input: dict[str, Any] | None = None


class Completion(Operation, frozen=True, kw_only=True):
    """Completes a step, or an item of a fan-out, with this result."""

    result: Any


class Rescheduling(Operation, frozen=True, kw_only=True):
    """Changes fields of the retry policy of waiting retries."""

    policy: dict[str, Any]


class AttuneConfig(PersonBody, frozen=True):
    """Describes a retry in the form of Attune. Tenax counts attempts itself, and their limit is in the workflow. So the numbers
    are accepted and change nothing."""

    retry_of: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=LARGEST_ID,
                description="The execution to repeat: an `id` of `ops.execution`, or the id of an execution.",
            ),
        ]
        | None
    ) = None
    retry_count: Annotated[int, Meta(description="Changes nothing: Tenax counts.")] | None = None
    max_retries: (
        Annotated[int, Meta(description="Changes nothing: the workflow's policy says it.")] | None
    ) = None
    retry_reason: (
        Annotated[Text, Meta(description="The reason of the retry; `manual_retry` if absent.")] | None
    ) = None
    original_execution: Annotated[int, Meta(description="Changes nothing: Tenax knows it.")] | None = None


class AttuneExecution(PersonBody, frozen=True):
    """Starts an execution in the form of Attune's API. `action_ref` is an action of a pack, or else the name of a stored
    workflow."""

    action_ref: Name
    parameters: dict[str, Any] | None = None
    config: AttuneConfig | None = None


class ActionRun(PersonBody, frozen=True):
    """Runs one action of a pack. With a `key` that was used before, nothing new starts."""

    params: dict[str, Any] = msgspec.field(default_factory=dict)
    key: Name | None = None


class Limits(PersonBody, frozen=True):
    """Sets all limits of a queue. A limit that is absent or null is removed."""

    concurrency: Annotated[Limit, Meta(description="How many items may run at once.")] | None = None
    rate: (
        Annotated[float, Meta(gt=0, le=LARGEST_LIMIT, description="How many items may start in a second.")]
        | None
    ) = None
    burst: (
        Annotated[
            Limit,
            Meta(
                description="How many items may start at once after a pause. Needs a rate, which is also its default."
            ),
        ]
        | None
    ) = None
    reason: Text | None = None


class TokenWanted(PersonBody, frozen=True):
    """Asks for a new token."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, pattern=PLAIN)]
    role: Role


SUBMISSION = Body(Submission)
BATCH_OF_SUBMISSIONS = Body(Batch)
REASON = Body(Reason)
APPROVAL = Body(Approval)
SIGNAL = Body(Signal)
WORKFLOW = Body(Workflow)
RETRY = Body(Retry)
ATTUNE_EXECUTION = Body(AttuneExecution)
ACTION_RUN = Body(ActionRun)
OPERATION = Body(Operation)
COMPLETION = Body(Completion)
RESCHEDULING = Body(Rescheduling)
TOKEN = Body(TokenWanted)
LIMITS = Body(Limits)
FILTER = Body(FilterWanted)
SCHEDULE = Body(ScheduleWanted)
_ANYTHING: Any = Any
CALLBACK: Body[Any] = Body(_ANYTHING)
"""The body of a callback may be of any type. `tenax.model.attempt.callback` reads it."""
