"""The description of the API, and the views that its answers are."""

from __future__ import annotations

from dataclasses import fields
from inspect import cleandoc

import msgspec
import pytest

from tenax.model import execution_views, views
from tenax.server.schema import fleet_responses as fleet_answers
from tenax.server.schema import responses as answers


def test_a_view_that_holds_views_of_its_own_kind_is_described_field_by_field():
    described = [(field.name, field.type) for field in fields(answers.Tree)]
    assert described == [(name, views.Tree.__annotations__[name]) for name in views.Tree.__struct_fields__]


@pytest.mark.parametrize(
    ("adapter", "view"),
    [
        (answers.VERIFIED, views.Verified),
        (answers.RETRIED, views.RetryAnswer),
        (answers.SIGNALLED, views.SignalAnswer),
        (answers.APPROVAL, views.ApprovalAnswer),
        (answers.EXPLANATIONS, views.Explanation),
        (answers.STORED_WORKFLOW, views.StoredWorkflow),
        (answers.WORKFLOWS, views.WorkflowInfo),
        (answers.EXECUTION, execution_views.Execution),
        (answers.EXECUTIONS, views.ExecutionSummary),
        (answers.EVENTS, execution_views.Event),
        (answers.NEWS, execution_views.News),
        (answers.ITEMS, views.ItemInfo),
        (fleet_answers.QUEUES, views.Queue),
        (fleet_answers.LIMITED, views.LimitAnswer),
        (fleet_answers.WORKERS, views.Worker),
        (fleet_answers.WORKER, views.WorkerInFull),
    ],
)
def test_a_view_is_described_by_its_own_fields(adapter, view):
    schema = adapter.json_schema(mode="serialization")
    described = schema.get("$defs", {}).get(view.__name__, schema)
    assert list(described["properties"]) == [field.encode_name for field in msgspec.structs.fields(view)]
    assert described.get("description") == (view.__doc__ and cleandoc(view.__doc__))
