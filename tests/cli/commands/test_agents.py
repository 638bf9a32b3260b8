"""`tenax agent run` and `tenax agent status`: AgentTask files, and agents in their form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tenax.cli.commands.executions.agent_status import agent_task
from tenax.errors import UsageError

TASK = """
apiVersion: core.hortator.ai/v1alpha1
kind: AgentTask
metadata: {name: count}
spec:
  prompt: count to three
  tier: legionary
  retry: {maxAttempts: 3, backoffSeconds: 0.1}
"""
AGENT = """test $TENAX_ATTEMPT -ge 2 || exit 7; printf '{"status": "completed", "output": 3, "usage": {"tokens": 12}}' > $TENAX_RESULT_FILE"""


def test_an_agent_task_is_run_and_shown_in_its_form(command, tmp_path: Path, database_url: str) -> None:
    (tmp_path / "task.yaml").write_text(TASK)
    where = {"TENAX_DATABASE_URL": database_url}
    ended = command("agent", "run", "task.yaml", "--json", TENAX_AGENT_COMMAND=AGENT, **where)
    assert ended.code == 0, ended.err
    number = json.loads(ended.out)["id"]
    task = yaml.safe_load(command("agent", "status", str(number), **where).out)
    assert (task["kind"], task["metadata"]["name"]) == ("AgentTask", "count")
    status = task["status"]
    assert (status["phase"], status["attempts"], status["lastFailureReason"]) == (
        "Completed",
        2,
        "exit code 7",
    )
    assert [(one["exitCode"], one["reason"]) for one in status["history"]] == [
        (7, "transient: exit code 7"),
        (0, "completed"),
    ]
    assert json.loads(command("agent", "status", str(number), "--json", **where).out) == task


def test_a_task_without_a_command_is_valid_and_fails_as_invalid(
    command, tmp_path: Path, database_url: str
) -> None:
    (tmp_path / "task.yaml").write_text(TASK)
    ended = command("agent", "run", "task.yaml", "--json", TENAX_DATABASE_URL=database_url)
    assert ended.code == 1
    assert json.loads(ended.out)["failure"]["class"] == "invalid"


def test_a_file_that_is_no_agent_task_is_refused(command, tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text("name: w\nworkflow: [{step: a, type: sleep, for: 1s}]\n")
    ended = command("agent", "run", "flow.yaml")
    assert ended.code == 2
    assert "this is a workflow file of Tenax already" in ended.err


def step(status: str, *attempts: dict[str, object], **more: object) -> dict[str, object]:
    base = {"started_at": "s", "ended_at": "e", "outcome": "failed", "usage": None, "rule": None}
    shown = [{"attempt": n, **base, **one} for n, one in enumerate(attempts, 1)]
    return {"type": "agent", "status": status, "for_each": False, "attempts": shown, "failure": None, **more}


def failed(failure_class: str, **more: object) -> dict[str, object]:
    return {"failure": {"class": failure_class, "message": "m"}, **more}


@pytest.mark.parametrize(
    ("shown", "phase"),
    [
        (step("pending"), "Pending"),
        (step("queued"), "Pending"),
        (step("held"), "Pending"),
        (step("held", failed("transient")), "Retrying"),
        (step("running", {"failure": None, "outcome": "running"}), "Running"),
        (step("retrying", failed("transient"), available_at="later"), "Retrying"),
        (step("completed", {"failure": None, "outcome": "succeeded"}), "Completed"),
        (step("failed", failed("logical"), failure={"class": "logical"}), "Failed"),
        (step("failed", failed("timeout"), failure={"class": "timeout"}), "TimedOut"),
        (step("failed", failed("budget"), failure={"class": "budget"}), "BudgetExceeded"),
        (
            step("failed", failed("transient", rule="budget"), failure={"class": "transient"}),
            "BudgetExceeded",
        ),
        (step("cancelled"), "Cancelled"),
    ],
)
def test_phases(shown, phase) -> None:
    task = agent_task({"id": 1, "workflow": "w", "steps": {"a": shown}}, None)
    assert task["status"]["phase"] == phase
    assert ("nextRetryTime" in task["status"]) == (shown["status"] == "retrying")


def test_one_of_several_agents_must_be_named() -> None:
    execution = {"id": 1, "workflow": "w", "steps": {"a": step("pending"), "b": step("running")}}
    with pytest.raises(UsageError, match="2 agent steps"):
        agent_task(execution, None)
    assert agent_task(execution, "b")["status"]["phase"] == "Running"
