"""Diagnoses the compensations of an execution that has failed and is being undone."""

from __future__ import annotations

from tenax.model.diagnosis import Diagnosis, Door, Remedy
from tenax.model.execution_views import Execution, StepCompensation
from tenax.policy.diagnosis.failures import short_failure
from tenax.policy.diagnosis.words import in_time

_OPEN = ("queued", "running", "retrying", "held")


def diagnose_compensations(execution: Execution, evidence: list[str]) -> Diagnosis | None:
    """Diagnoses an execution whose compensations run, by the first one that is open. Returns None if none run."""
    if execution.compensation != "running":
        return None
    about = f"execution {execution.id}"
    begun = (
        f"Execution {execution.id} has failed ({short_failure(execution.failure or {})}) and is being undone"
    )
    found = next(
        (
            (name, step.compensation)
            for name, step in execution.steps.items()
            if step.compensation is not None and step.compensation.status in _OPEN
        ),
        None,
    )
    if found is None:
        return Diagnosis(about=about, sentence=f"{begun}.", evidence=evidence)
    name, undoing = found
    state = compensation_words(execution, undoing)
    waits = undoing.status in ("retrying", "held")
    door = Door(
        door="hold" if undoing.status == "held" else "due",
        subject=f"the compensation of step {name}",
        reason=f"it {state}",
        opens_at=undoing.available_at,
        remedies=_remedies(execution) if waits else [],
    )
    return Diagnosis(
        about=about,
        sentence=f"{begun}: the compensation of step {name} {state}.",
        doors=[door] if waits else [],
        next=f"It goes on {in_time(undoing.available_at, execution.now)}." if undoing.available_at else None,
        remedies=door.remedies,
        evidence=evidence,
    )


def compensation_words(execution: Execution, undoing: StepCompensation) -> str:
    """Says how a compensation stands, with its last failure if it waits for a retry."""
    if undoing.status != "retrying" or undoing.available_at is None:
        return f"is {undoing.status}"
    last = next((one for one in reversed(undoing.attempts) if one.failure), None)
    why = f" ({short_failure(last.failure)})" if last is not None and last.failure else ""
    when = in_time(undoing.available_at, execution.now)
    return f"is retrying: attempt {undoing.attempt} has failed{why}, and the next one is due {when}"


def _remedies(execution: Execution) -> list[Remedy]:
    return [
        Remedy(words="run it now", command=["retry", str(execution.id)]),
        Remedy(words="give up what is left to undo", command=["cancel", str(execution.id)]),
    ]
