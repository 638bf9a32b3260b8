"""Names the actions of people on executions: their buttons, the titles of their forms, and what they have done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenax.model.views import ActionAnswer, ApprovalAnswer, SignalAnswer
from tenax.ui.words import counted


@dataclass(frozen=True, slots=True)
class ActionForm:
    """Describes the form of an action. `{}` in a text is what it acts on: `step fetch of execution 12`."""

    label: str
    title: str
    text: str
    submit: str
    tone: str = "plain"
    is_first: bool = False
    """True if its button stands by itself, and not in the menu of the rarer actions."""
    done: tuple[str, str] = ("", "")
    """What has happened to one item, and to several."""


FORMS = {
    "retry": ActionForm(
        "Retry now", "Retry {} now?", "What waits for a retry runs now. What has failed gets one more attempt.",
        "Retry now", is_first=True, done=("runs now", "run now"),
    ),
    "approve": ActionForm(
        "Approve", "Approve {}?", "The step completes, and what needs it goes on.", "Approve", is_first=True
    ),
    "reject": ActionForm(
        "Reject", "Reject {}?", "The step fails with the class denied, and is not retried.", "Reject",
        tone="bad", is_first=True,
    ),
    "signal": ActionForm(
        "Send a signal", "Send a signal to {}",
        "The step that waits for it gets it now. If none waits yet, it is kept until one does.",
        "Send the signal",
    ),
    "resume": ActionForm(
        "Resume", "Resume {}?", "The execution and its children go on.", "Resume the execution", is_first=True
    ),
    "pause": ActionForm(
        "Pause", "Pause {}?",
        "Nothing of it or of its children starts any more. Running attempts may finish.", "Pause the execution",
        is_first=True,
    ),
    "reschedule": ActionForm(
        "Reschedule", "Reschedule {}?",
        "The waiting retry gets these fields of a retry policy. They decide when it is due.", "Reschedule",
        done=("waits by the new policy", "wait by the new policy"),
    ),
    "reset": ActionForm(
        "Reset", "Reset {}?",
        "No attempt counts any more, give_up_after starts anew, and what failed runs again.", "Reset",
        done=("starts anew", "start anew"),
    ),
    "resolve": ActionForm(
        "Resolve", "Resolve {}?",
        "Its work was done by hand. Its result is null, and what needs it goes on. A running attempt is revoked.",
        "Resolve", done=("is done by hand", "are done by hand"),
    ),
    "complete": ActionForm(
        "Complete", "Complete {}?",
        "It gets this result, and what needs it goes on. A running attempt is revoked.", "Complete",
        done=("is complete", "are complete"),
    ),
    "fail": ActionForm(
        "Fail", "Fail {}?", "There is no retry, and its on_failure applies. A running attempt is revoked.", "Fail",
        tone="bad", done=("has failed", "have failed"),
    ),
    "cancel": ActionForm(
        "Cancel", "Cancel {}?", "Work that waits ends at once, and running attempts lose their leases.",
        "Cancel the execution", tone="bad", is_first=True,
    ),
    "again": ActionForm(
        "Edit and run again", "Run {} again", "A new execution starts with these inputs.", "Run it again",
        is_first=True,
    ),
}  # fmt: skip
"""The actions in the order of their buttons."""

_STATES = {"cancel": "cancelled", "pause": "paused", "resume": "running"}


def in_order(actions: Sequence[str]) -> list[str]:
    """Returns actions in the order of their buttons."""
    return [action for action in FORMS if action in actions]


def rarer(actions: Sequence[str]) -> list[str]:
    """Returns the actions whose buttons are in a menu."""
    return [action for action in actions if not FORMS[action].is_first]


def target_words(execution_id: int, step: str | None = None, item: int | None = None) -> str:
    """Returns what an action is for: `item 3 of step load of execution 12`."""
    words = [f"item {item}"] if item is not None else []
    words += [f"step {step}"] if step is not None else []
    return " of ".join([*words, f"execution {execution_id}"])


def acted_words(answer: ActionAnswer) -> str:
    """Returns what an action has done: `2 items of step load run now, execution 12 reopened.`"""
    if answer.action in _STATES:
        state = _STATES[answer.action]
        return f"Execution {answer.id} is {state}{'' if answer.changed else ' already'}."
    one, several = FORMS[answer.action].done
    steps = (
        f" of step{'s' if len(answer.steps) != 1 else ''} {', '.join(answer.steps[:20])}"
        if answer.steps
        else ""
    )
    words = f"{counted(answer.items, 'item')}{steps} {one if answer.items == 1 else several}"
    if answer.reopened:
        which = ", ".join(str(one) for one in answer.reopened[:20])
        words += f", execution{'s' if len(answer.reopened) != 1 else ''} {which} reopened"
    return f"{words}."


def answered_words(answer: ApprovalAnswer) -> str:
    what = target_words(answer.id, answer.step, answer.item)
    return f"{what[:1].upper()}{what[1:]} is {'approved' if answer.approved else 'rejected'}."


def signalled_words(answer: SignalAnswer) -> str:
    if answer.delivered_to is not None:
        to = target_words(answer.id, answer.delivered_to.step, answer.delivered_to.item)
        return f"The signal {answer.signal} was delivered to {to}."
    if not answer.created:
        return f"The signal {answer.signal} was sent before with this key. Nothing has changed."
    kept = f"The signal {answer.signal} is kept until a step waits for it."
    if not answer.expected:
        names = ", ".join(answer.names or []) or "none"
        kept += f" No step of the workflow waits for a signal of this name. Its signals: {names}."
    return kept
