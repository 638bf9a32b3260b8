"""Generates random scenarios: small workflows with every feature, policies, outcomes, and orders and sizes of batches."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

CHILD = """
name: child
input: {n: {default: 0}}
workflow:
  - {step: nap, type: sleep, for: 2s}
  - {step: do, type: python, task: "t:t", needs: [nap], retry: {max_attempts: 2, initial_delay: 2}}
"""
UNDO = {
    "type": "python",
    "task": "t:u",
    "args": {"got": "{{ result }}"},
    "retry": {"max_attempts": 2, "initial_delay": 3},
}
ROLLS = st.sampled_from([0.0, 0.25, 0.5, 0.999])


@st.composite
def policies(draw: st.DrawFn) -> Any:
    if draw(st.booleans()):
        return draw(st.sampled_from([True, False, 2, 3]))
    policy: dict[str, Any] = {
        "max_attempts": draw(st.sampled_from([1, 2, 3, 5])),
        "initial_delay": draw(st.sampled_from([0, 0.5, 1, 4])),
        "backoff": draw(
            st.sampled_from(["none", "fixed", "linear", "exponential", "fibonacci", "decorrelated"])
        ),
        "jitter": draw(st.sampled_from([0, 0.2, True, "full", "equal"])),
    }
    more: dict[str, st.SearchStrategy[Any]] = {
        "retry_when": st.sampled_from(["{{ status_code >= 500 or error != None }}", "{{ attempt < 2 }}"]),
        "stop_when": st.sampled_from(["{{ failure.reason == 'http_404' }}", "{{ elapsed > 20 }}"]),
        "retry_on": st.sampled_from([["http_404"], ["logical"]]),
        "never_on": st.sampled_from([["http_503"], ["worker_lost"]]),
        "rules": st.sampled_from(
            [
                [{"on": ["http_429"], "initial_delay": 3, "max_attempts": 2}],
                [{"when": "{{ attempt == 1 }}", "retry": True}, {"on": ["transient"], "retry": False}],
            ]
        ),
        "infra_attempts": st.sampled_from([0, 1]),
        "give_up_after": st.sampled_from([5, 60]),
        "vary": st.just([{}, {"args": {"more": 1}}]),
        "max_snoozes": st.just(1),
    }
    for name in draw(st.sets(st.sampled_from(sorted(more)), max_size=3)):
        policy[name] = draw(more[name])
    return policy


@st.composite
def steps(draw: st.DrawFn, name: str, earlier: list[str]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["python"] * 7 + ["sleep", "wait", "workflow", "async"]))
    step: dict[str, Any] = {
        "step": name,
        "type": kind,
        "needs": draw(st.lists(st.sampled_from(earlier), unique=True, max_size=2)) if earlier else [],
    }
    match kind:
        case "python":
            step |= {
                "task": "t:t",
                "args": {"n": draw(st.sampled_from([1, "{{ input.n }}", "{{ attempt }}"]))},
            }
        case "async":
            step |= {"type": "http", "url": "http://callee.test/", "async": {"deadline": "40s"}}
        case "sleep":
            step["for"] = draw(st.sampled_from(["1s", "3s"]))
        case "wait":
            step |= {"signal": "go", "deadline": "30s"}
        case "workflow":
            step |= {"workflow": "child", "timeout": "90s"}
    step["retry"] = draw(policies())
    if isinstance(step["retry"], dict) and kind != "python":
        step["retry"].pop("vary", None)
    for key in draw(st.sets(st.sampled_from(sorted(_EXTRAS)), max_size=3)):
        _EXTRAS[key](draw, step, kind)
    return step


def _fan_out(draw: st.DrawFn, step: dict[str, Any], _kind: str) -> None:
    lists: list[Any] = [[], [1], [1, 2, 3], ["a", "b", "c", "d"], "{{ input.list }}"]
    lists += [f"{{{{ steps.{name}.result.list }}}}" for name in step["needs"]]
    step["for_each"] = draw(st.sampled_from(lists))
    step["parallelism"] = draw(st.sampled_from([1, 2, 9]))
    step["tolerate"] = draw(st.sampled_from([0, 1, "50%"]))


def _when(draw: st.DrawFn, step: dict[str, Any], _kind: str) -> None:
    conditions = ["{{ input.n > 2 }}", "{{ input.n < 2 }}", "{{ 1 / input.n > 0 }}"]
    conditions += [f"{{{{ steps.{name}.status == 'completed' }}}}" for name in step["needs"]]
    step["when"] = draw(st.sampled_from(conditions))


def _until(_draw: st.DrawFn, step: dict[str, Any], kind: str) -> None:
    if kind in ("python", "async"):
        step["until"] = {"condition": "result.n > 1", "delay": "2s", "max_polls": 2}


def _on_failure(draw: st.DrawFn, step: dict[str, Any], _kind: str) -> None:
    step["on_failure"] = draw(
        st.sampled_from(["continue", {"value": {"n": 3, "list": []}}, {"value": {"n": "{{ 1 / input.n }}"}}])
    )


def _compensate(_draw: st.DrawFn, step: dict[str, Any], kind: str) -> None:
    if kind in ("python", "workflow", "async"):
        step["compensate"] = UNDO


def _limit(draw: st.DrawFn, step: dict[str, Any], kind: str) -> None:
    if kind in ("python", "async"):
        # Limits are wide. Otherwise any of several items that become ready in one moment could be the first.
        wide = [90, {"limit": 90, "key": "{{ input.n }}"}, {"limit": 90, "action": "shared"}]
        step["concurrency"] = draw(st.sampled_from(wide))


def _place(draw: st.DrawFn, step: dict[str, Any], kind: str) -> None:
    if kind in ("python", "async"):
        step["priority"] = draw(st.sampled_from([0, 5, 9]))
        step["queue_ttl"] = draw(st.sampled_from(["5s", "1h"]))


def _goal(_draw: st.DrawFn, step: dict[str, Any], _kind: str) -> None:
    step["goal"] = True


def _timeout(draw: st.DrawFn, step: dict[str, Any], kind: str) -> None:
    if kind == "python":
        step["timeout"] = draw(st.sampled_from(["3s", "1m"]))


_EXTRAS = {
    "compensate": _compensate,
    "for_each": _fan_out,
    "goal": _goal,
    "limit": _limit,
    "on_failure": _on_failure,
    "place": _place,
    "timeout": _timeout,
    "until": _until,
    "when": _when,
}


@st.composite
def workflows(draw: st.DrawFn, number: int) -> str:
    names: list[str] = []
    found: list[dict[str, Any]] = []
    plain = draw(st.booleans())
    for n in range(draw(st.integers(1, 5))):
        if plain:  # a chain: each step is the only one behind the last
            step = {
                "step": f"s{n}",
                "type": "python",
                "task": "t:t",
                "needs": names[-1:],
                "retry": draw(policies()),
            }
        else:
            step = draw(steps(f"s{n}", names))
        found.append(step)
        names.append(f"s{n}")
    if not plain and len(names) > 1 and draw(st.booleans()):
        _fall_back(found)
    body: dict[str, Any] = {
        "name": f"w{number}",
        "input": {"n": {"default": draw(st.sampled_from([0, 1, 3]))}, "list": {"default": [1, 2]}},
        "workflow": found,
    }
    if draw(st.sampled_from([False] * 5 + [True])):
        body["deadline"] = draw(st.sampled_from(["5s", "2m"]))
    if draw(st.sampled_from([False] * 4 + [True])):
        body["outputs"] = {"n": f"{{{{ steps.{names[-1]}.status }}}}"}
    return json.dumps(body)


def _fall_back(found: list[dict[str, Any]]) -> None:
    """Makes the last step the fallback of the first, if no other step needs it."""
    first, last = found[0], found[-1]
    if not last["needs"] and "goal" not in last:
        first["on_failure"] = {"step": last["step"]}


RESULTS = st.sampled_from(
    [None, {"n": 0, "list": [1, 2]}, {"n": 2, "list": []}, {"n": 3, "list": ["x", "y", "z"]}, 7, "text"]
)
FACTS = st.sampled_from(
    [
        {"status_code": 503, "message": "503 Service Unavailable"},
        {"status_code": 503, "message": "503 Service Unavailable", "retry_after": 3.0},
        {"status_code": 429, "message": "slow down", "dependency": "api.test"},
        {"status_code": 404, "message": "no such thing"},
        {"connection": "refused", "message": "connection refused"},
        {"exception": "builtins.RuntimeError", "exception_bases": ["builtins.Exception"], "message": "oops"},
        {"fatal": True, "message": "no"},
        {"timed_out": True, "message": "too slow"},
        {"exit_code": 7, "message": "exit code 7", "result_file": "missing"},
    ]
)
SUCCESSES = st.builds(lambda result: {"status": "succeeded", "result": result}, RESULTS)
FAILURES = st.builds(lambda facts: {"status": "failed", "facts": facts}, FACTS)
ODD = st.sampled_from(
    [
        {"status": "not_completed", "facts": {}},
        {"status": "snoozed", "after": 2.0},
        {"status": "failed", "facts": {"status_code": 503}, "after": 1.5},
        {"status": "failed", "facts": {"status_code": 503}, "usage": {"cost_usd": 0.5}},
        {"status": "failed", "facts": {"fatal": True, "message": "no"}, "result": {"why": "because"}},
        {"status": "succeeded", "result": {"n": 2}, "usage": {"cost_usd": 0.25, "tokens": 3}},
        {"status": "accepted"},
    ]
)
OUTCOMES = st.one_of(SUCCESSES, SUCCESSES, FAILURES, FAILURES, ODD)
WHICH = st.integers(0, 30)


def _moves(workflow_count: int) -> st.SearchStrategy[dict[str, Any]]:
    start = st.tuples(st.integers(0, workflow_count - 1), st.sampled_from([None, None, None, "k1", "k2"]))
    then = st.sampled_from([0.001, 0.5, 2.0, 4.0])
    outcomes = st.lists(st.tuples(WHICH, OUTCOMES), min_size=1, max_size=8)
    work = {"worker": st.integers(0, 1), "outcomes": outcomes, "roll": ROLLS, "then": then}
    own = {"which": WHICH, "roll": ROLLS}
    return st.one_of(
        st.fixed_dictionaries({"do": st.just("submit"), "starts": st.lists(start, min_size=1, max_size=4)}),
        *[st.fixed_dictionaries({"do": st.just("work"), **work})] * 8,
        *[
            st.fixed_dictionaries(
                {"do": st.just("wait"), "seconds": st.sampled_from([1, 3, 8, 45]), "roll": ROLLS}
            )
        ]
        * 2,
        *[
            st.fixed_dictionaries({"do": st.just(name), **own})
            for name in (
                "repeat",
                "lose",
                "release",
                "beat",
                "signal",
                "cancel",
                "pause",
                "resume",
                "retry",
                "settle",
                "look",
            )
        ],
        st.fixed_dictionaries({"do": st.just("call_back"), "outcome": st.one_of(SUCCESSES, FAILURES), **own}),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 2))
    begin: dict[str, Any] = {"do": "submit", "starts": [(n, None) for n in range(count) for _ in range(2)]}
    moves = [
        begin,
        {"do": "settle"},
        {"do": "lease"},
        *draw(st.lists(_moves(count), min_size=3, max_size=16)),
    ]
    return {"stored": [CHILD], "workflows": [draw(workflows(n)) for n in range(count)], "moves": moves}


GOOD = {"status": "succeeded", "result": {"n": 2}}
BUSY = {"status": "failed", "facts": {"status_code": 503, "message": "503 Service Unavailable"}}


def _chain(**more: Any) -> str:
    own = {
        "type": "python",
        "task": "t:t",
        "retry": {"max_attempts": 3, "initial_delay": 1, "jitter": 0},
        **more,
    }
    steps = [{"step": "s0", "needs": [], **own}, {"step": "s1", "needs": ["s0"], **own}]
    return json.dumps({"name": "w0", "workflow": steps})


def _played(workflow: str, *moves: dict[str, Any]) -> dict[str, Any]:
    begin = [{"do": "submit", "starts": [(0, None)], "then": 1}, {"do": "settle"}, {"do": "lease"}]
    return {"stored": [], "workflows": [workflow], "moves": [*begin, *moves]}


def _told(outcome: dict[str, Any]) -> dict[str, Any]:
    return {"do": "report", "outcomes": [(0, outcome)], "then": 2}


PAUSE, LOOK, LEASE = {"do": "pause", "which": 0}, {"do": "look"}, {"do": "lease"}
RESUME = {"do": "resume", "which": 0}
ANOTHER = {"do": "submit", "starts": [(0, None)], "then": 1}
FIXED: dict[str, dict[str, Any]] = {
    "a success in a paused execution": _played(
        _chain(), PAUSE, _told(GOOD), LOOK, LEASE, RESUME, LEASE, LOOK
    ),
    "a failure in a paused execution": _played(
        _chain(), PAUSE, _told(BUSY), LOOK, LEASE, RESUME, LEASE, LOOK
    ),
    "several successes": _played(_chain(), _told(GOOD), LOOK, LEASE, _told(GOOD), LOOK),
    "several failures": _played(_chain(), _told(BUSY), LEASE, _told(BUSY), LEASE, LOOK, _told(BUSY)),
    "a success at a limit": _played(
        _chain(concurrency=1), ANOTHER, LEASE, LOOK, _told(GOOD), LOOK, LEASE, LOOK, _told(GOOD), LOOK
    ),
    "a failure at a limit": _played(_chain(concurrency=1), ANOTHER, LEASE, _told(BUSY), LOOK, LEASE, LOOK),
    "limits of keys": _played(
        _chain(concurrency={"limit": 1, "key": "k"}), ANOTHER, ANOTHER, LEASE, LOOK, _told(GOOD), LEASE, LOOK
    ),
    "a report of a lost lease": _played(
        _chain(),
        {"do": "lose", "which": 0},
        {"do": "wait", "seconds": 45},
        LEASE,
        {"do": "repeat", "which": 0},
        LOOK,
    ),
}
"""Scenarios in which a guard matters that random scenarios rarely reach: executions that are paused between a lease and its report, and limits
that only one item fits. Executions begin one after the other, so that one of them is first."""
