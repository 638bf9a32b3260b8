"""Makes executions to draw. Times are seconds since the execution was created."""

from datetime import UTC, datetime, timedelta

from tenax.model.execution_views import Attempt, Child, Event, Execution, Step, StepCompensation, Work

BEGAN = datetime(2030, 1, 31, 9, 30, tzinfo=UTC)


def at(seconds):
    return None if seconds is None else (BEGAN + timedelta(seconds=seconds)).isoformat()


def attempt(number, start, end=None, *, failure=None, again=None, **more):
    """Makes an attempt. `failure` is `class` or `class:reason`, and `again` the time of the next attempt."""
    if failure is not None:
        class_, _, reason = failure.partition(":")
        more["failure"] = {"class": class_, "reason": reason or class_, "message": f"it was {failure}"}
        more.setdefault("outcome", "failed")
        more.setdefault("verdict", "retry" if again is not None else "fail")
    elif end is not None:
        more.setdefault("outcome", "succeeded")
    if again is not None:
        more |= {"delay_seconds": again - end, "available_at": at(again)}
    return Attempt(attempt=number, started_at=at(start), ended_at=at(end), worker="worker-1", **more)


def _progress(attempts, *, status="completed", enqueued=0.0, due=None, max_attempts=5, waiting=None):
    return {
        "status": status,
        "attempt": max((one.attempt for one in attempts), default=0),
        "counted": len(attempts),
        "max_attempts": max_attempts,
        "result": None,
        "polls": 0,
        "failure": None,
        "available_at": at(due),
        "enqueued_at": at(enqueued),
        "attempts": list(attempts),
        "waiting": waiting,
    }


def work(*attempts, **more):
    return Work(**_progress(attempts, **more))


def compensation(*attempts, items=None, **more):
    return StepCompensation(**_progress(attempts, **more), items=items, failures=[])


def step(*attempts, items=None, undone=None, children=(), needs=(), kind="http", **more):
    return Step(
        **_progress(attempts, **more),
        carried_from=None, on_failure=None, for_each=items is not None, items=items, compensation=undone, type=kind,
        needs=list(needs), goal=False, budget=None, stand_in=None, children=list(children), unserved=None, limited=None,
        held=None,
    )  # fmt: skip


def child(number, status, attempt=1):
    return Child(id=number, status=status, item=None, attempt=attempt)


def counts(**states):
    return {"total": sum(states.values()), **states}


def operator(seconds, action, step=None, seq=99):
    data = {"action": action, "actor": "ada", "reason": "the service is back"}
    return Event(
        id=seq, seq=seq, type="operator_action", at=at(seconds), step=step, item=None, attempt=None, data=data
    )


def execution(steps, *, now, ended=None, status=None, workflow="nightly-sync"):
    return Execution(
        id=42, status=status or ("completed" if ended is not None else "running"), workflow=workflow, version=None,
        input={}, result=None, failure=None, key=None, retry_of=None, original_execution=None, retried_by=[], parent=None,
        compensation=None, created_at=at(0.0), starts_at=None, budgets=[], deadline_at=None, finished_at=at(ended), now=at(now),
        operator_actions=[], last_seq=1, steps=steps,
    )  # fmt: skip
