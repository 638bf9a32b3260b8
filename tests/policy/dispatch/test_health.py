"""The health of a worker: the contract's table at each boundary, and the floor under the failure columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenax.model.fleet.health import HEALTHS, WORKER_STATES, Health, HealthTerms
from tenax.policy.dispatch.health import (
    FAILURE_COLUMNS,
    Verdict,
    WorkerFacts,
    health_tests,
    judge,
    judge_fleet,
    may_probe,
)

TERMS = HealthTerms()
FINE = WorkerFacts(
    name="w",
    runtimes=("python",),
    queues=("default",),
    labels={},
    slots=10,
    state="active",
    health="healthy",
    heartbeat_age=1.0,
    consecutive_failures=0,
    last_failure_age=None,
    queue_depth=0,
    runs=0,
    failures=0,
    reported_status="healthy",
    recovering=False,
)


def seen(name: str = "w", **changes: object) -> WorkerFacts:
    return replace(FINE, name=name, **changes)


def test_a_worker_of_which_nothing_bad_is_known():
    assert judge(seen(), TERMS) == Verdict("healthy", None, None, None)
    assert judge(seen(reported_status=None), TERMS) == Verdict("healthy")


@pytest.mark.parametrize(
    ("changes", "health", "column", "value", "threshold"),
    [
        ({"heartbeat_age": 29.9}, "healthy", None, None, None),
        ({"heartbeat_age": 30.0}, "unhealthy", "heartbeat_age", 30.0, 30.0),
        ({"consecutive_failures": 2}, "healthy", None, None, None),
        ({"consecutive_failures": 3}, "degraded", "consecutive_failures", 3, 3),
        ({"consecutive_failures": 9}, "degraded", "consecutive_failures", 9, 3),
        ({"consecutive_failures": 10}, "unhealthy", "consecutive_failures", 10, 10),
        ({"queue_depth": 49}, "healthy", None, None, None),
        ({"queue_depth": 50}, "degraded", "queue_depth", 50, 50),
        ({"queue_depth": 99}, "degraded", "queue_depth", 99, 50),
        ({"queue_depth": 100}, "unhealthy", "queue_depth", 100, 100),
        ({"runs": 100, "failures": 29}, "healthy", None, None, None),
        ({"runs": 100, "failures": 30}, "degraded", "failure_rate", 0.3, 0.3),
        ({"runs": 100, "failures": 69}, "degraded", "failure_rate", 0.69, 0.3),
        ({"runs": 100, "failures": 70}, "unhealthy", "failure_rate", 0.7, 0.7),
        ({"runs": 19, "failures": 19}, "healthy", None, None, None),
        ({"runs": 20, "failures": 20}, "unhealthy", "failure_rate", 1.0, 0.7),
        ({"reported_status": "degraded"}, "degraded", "reported_status", "degraded", "degraded"),
        ({"reported_status": "unhealthy"}, "unhealthy", "reported_status", "unhealthy", "unhealthy"),
        ({"recovering": True}, "degraded", "recovering", True, True),
    ],
)
def test_the_table_of_the_contract(changes, health, column, value, threshold):
    assert judge(seen(**changes), TERMS) == Verdict(health, column, value, threshold)


@pytest.mark.parametrize(
    ("slots", "depth", "health"),
    [
        (49, 50, "degraded"),
        (50, 50, "healthy"),
        (50, 51, "degraded"),
        (50, 99, "degraded"),
        (50, 100, "unhealthy"),
        (51, 100, "degraded"),
        (51, 101, "degraded"),
        (51, 102, "unhealthy"),
        (200, 150, "healthy"),
        (200, 200, "healthy"),
        (200, 201, "degraded"),
        (200, 399, "degraded"),
        (200, 400, "unhealthy"),
    ],
)
def test_a_worker_with_many_slots_is_not_overloaded_by_filling_them(slots, depth, health):
    assert judge(seen(slots=slots, queue_depth=depth), TERMS).health == health


@pytest.mark.parametrize(
    ("streak", "age", "health"),
    [
        (3, 300.0, "degraded"),
        (3, 300.1, "healthy"),
        (9, 1e6, "healthy"),
        (9, None, "degraded"),
        (10, 1e6, "unhealthy"),
    ],
)
def test_a_short_streak_is_forgotten_after_the_window(streak, age, health):
    assert judge(seen(consecutive_failures=streak, last_failure_age=age), TERMS).health == health


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"consecutive_failures": 3, "queue_depth": 100}, "queue_depth"),
        ({"consecutive_failures": 10, "queue_depth": 100}, "consecutive_failures"),
        ({"heartbeat_age": 31, "consecutive_failures": 10}, "heartbeat_age"),
        ({"queue_depth": 60, "runs": 20, "failures": 6, "recovering": True}, "queue_depth"),
        ({"recovering": True, "reported_status": "degraded"}, "reported_status"),
    ],
)
def test_the_worst_column_decides_and_of_equals_the_first(changes, column):
    assert judge(seen(**changes), TERMS).column == column


def test_the_columns_of_the_table():
    table = health_tests(seen(consecutive_failures=3, queue_depth=60, runs=19, failures=10, slots=70), TERMS)
    assert [(c.name, c.value, c.degraded_at, c.unhealthy_at, c.health) for c in table] == [
        ("heartbeat_age", 1.0, None, 30.0, "healthy"),
        ("consecutive_failures", 3, 3, 10, "degraded"),
        ("queue_depth", 60, 71, 140, "healthy"),
        ("failure_rate", None, 0.3, 0.7, "healthy"),
        ("reported_status", "healthy", "degraded", "unhealthy", "healthy"),
        ("recovering", False, True, None, "healthy"),
    ]


CHANGED_TERMS = [
    ({"unhealthy_silence": 5.0}, {"heartbeat_age": 5.0}, "unhealthy"),
    ({"degraded_failures": 1}, {"consecutive_failures": 1}, "degraded"),
    ({"unhealthy_failures": 4}, {"consecutive_failures": 4}, "unhealthy"),
    ({"degraded_depth": 20}, {"queue_depth": 20}, "degraded"),
    ({"unhealthy_depth": 30}, {"queue_depth": 30}, "unhealthy"),
    ({"degraded_rate": 0.1}, {"runs": 20, "failures": 2}, "degraded"),
    ({"unhealthy_rate": 0.5}, {"runs": 20, "failures": 10}, "unhealthy"),
    ({"min_runs": 2}, {"runs": 2, "failures": 2}, "unhealthy"),
    ({"window": 10.0}, {"consecutive_failures": 3, "last_failure_age": 11.0}, "healthy"),
]


@pytest.mark.parametrize(("terms", "changes", "health"), CHANGED_TERMS)
def test_every_threshold_is_a_setting(terms, changes, health):
    assert judge(seen(**changes), replace(TERMS, **terms)).health == health
    assert judge(seen(**changes), TERMS).health != health


@pytest.mark.parametrize(
    ("health", "column", "state"),
    list(product(HEALTHS, [*sorted(FAILURE_COLUMNS), "heartbeat_age", None], WORKER_STATES)),
)
def test_only_an_active_worker_that_is_unhealthy_by_its_failures_is_probed(health, column, state):
    may = health == "unhealthy" and column in ("consecutive_failures", "failure_rate") and state == "active"
    assert may_probe(health, column, state, TERMS) == may
    assert not may_probe(health, column, state, replace(TERMS, probing=False))


def failing(name: str, streak: int = 10, **changes: object) -> WorkerFacts:
    return seen(name, consecutive_failures=streak, **changes)


def healths(fleet: Iterable[WorkerFacts]) -> dict[str, Health]:
    return {name: verdict.health for name, verdict in judge_fleet(list(fleet), TERMS).items()}


@pytest.mark.parametrize(("able", "unhealthy"), [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2)])
def test_at_most_half_of_the_able_are_unhealthy_by_failures(able, unhealthy):
    fleet = [failing(f"w{n}") for n in range(able)]
    found = healths(fleet)
    assert list(found.values()).count("unhealthy") == unhealthy
    assert list(found.values()).count("degraded") == able - unhealthy


def test_one_who_is_floored_says_what_decided():
    (verdict,) = judge_fleet([failing("w", 12)], TERMS).values()
    assert verdict == Verdict("degraded", "consecutive_failures", 12, 10, floored=True)
    (verdict,) = judge_fleet([seen(runs=20, failures=20)], TERMS).values()
    assert verdict == Verdict("degraded", "failure_rate", 1.0, 0.7, floored=True)


def test_within_the_floor_nobody_is_floored():
    verdicts = judge_fleet([failing("a"), seen("b")], TERMS)
    assert verdicts == {"a": Verdict("unhealthy", "consecutive_failures", 10, 10), "b": Verdict("healthy")}


@pytest.mark.parametrize(
    "changes",
    [{"heartbeat_age": 30.0}, {"queue_depth": 100}, {"reported_status": "unhealthy"}],
)
def test_other_columns_have_no_floor_and_who_is_unhealthy_by_them_is_not_able(changes):
    assert healths([seen("a", **changes)]) == {"a": "unhealthy"}
    assert healths([failing("a"), seen("b", **changes)]) == {"a": "degraded", "b": "unhealthy"}
    assert healths([failing("a", **changes), failing("b"), failing("c")])["a"] == "unhealthy"
    found = healths([failing("a", 99, **changes), failing("b"), failing("c")])
    assert [found["b"], found["c"]] == ["unhealthy", "degraded"]


@pytest.mark.parametrize("state", ["draining", "paused", "gone"])
def test_peers_that_are_not_active_do_not_count_and_are_not_spared(state):
    assert healths([failing("a"), seen("b", state=state)]) == {"a": "degraded", "b": "healthy"}
    assert healths([seen("a"), failing("b", state=state)]) == {"a": "healthy", "b": "unhealthy"}
    assert healths([failing("b", state=state)]) == {"b": "unhealthy"}


def test_those_already_unhealthy_stay_so_then_go_the_worse():
    assert healths([failing("a", 11), failing("b", 10, health="unhealthy")])["b"] == "unhealthy"
    assert healths([failing("a", 10), failing("b", 11)])["b"] == "unhealthy"
    low, high = {"runs": 20, "failures": 15}, {"runs": 20, "failures": 20}
    assert healths([failing("a", 10, **low), failing("b", 10, **high)])["b"] == "unhealthy"
    assert healths([failing("b"), failing("a")])["a"] == "unhealthy"


def test_each_queue_and_runtime_keeps_its_last_worker():
    fleet = [failing("a", queues=("x", "y")), seen("b", queues=("x",)), seen("c", queues=("x",))]
    assert healths(fleet)["a"] == "degraded"
    assert healths([*fleet, seen("d", queues=("y",))])["a"] == "unhealthy"
    fleet = [failing("a", runtimes=("python", "process")), seen("b"), seen("c")]
    assert healths(fleet)["a"] == "degraded"
    crossed = [seen("d", runtimes=("process",), queues=("other",))]
    assert healths([*fleet, *crossed])["a"] == "degraded"


def test_each_label_keeps_its_last_worker():
    fleet = [failing("a", labels={"gpu": "yes"}), seen("b"), seen("c", labels={"gpu": "no"})]
    assert healths(fleet)["a"] == "degraded"
    assert healths([*fleet, seen("d", labels={"gpu": "yes"})])["a"] == "unhealthy"


def test_one_whom_the_floor_spares_takes_no_place_from_others():
    only_a = ("default", "rare")
    fleet = [failing("a", 30, queues=only_a), failing("b", 20), failing("c", 10), seen("d")]
    assert healths(fleet) == {"a": "degraded", "b": "unhealthy", "c": "unhealthy", "d": "healthy"}


def test_an_empty_fleet():
    assert judge_fleet([], TERMS) == {}


some = st.lists(st.sampled_from("xyz"), min_size=1, max_size=2, unique=True).map(tuple)
workers = st.builds(
    WorkerFacts,
    name=st.just(""),
    runtimes=some,
    queues=some,
    labels=st.dictionaries(st.sampled_from("kl"), st.sampled_from("12"), max_size=2),
    slots=st.integers(1, 200),
    state=st.sampled_from(["active", "active", "active", *WORKER_STATES]),
    health=st.sampled_from(HEALTHS),
    heartbeat_age=st.sampled_from([0.0, 0.0, 0.0, 29.0, 31.0]),
    consecutive_failures=st.sampled_from([0, 4, 10, 11, 12]),
    last_failure_age=st.none() | st.floats(0, 400),
    queue_depth=st.sampled_from([0, 0, 60, 150, 500]),
    runs=st.sampled_from([0, 20, 40]),
    failures=st.integers(0, 20),
    reported_status=st.none() | st.sampled_from(["healthy", "healthy", "degraded", "unhealthy"]),
    recovering=st.booleans(),
)
fleets = st.lists(workers, max_size=12).map(
    lambda fleet: [replace(one, name=f"w{n}") for n, one in enumerate(fleet)]
)


def could_do(one: WorkerFacts, work: tuple[str, str, tuple[str, str] | None]) -> bool:
    queue, runtime, label = work
    return (
        queue in one.queues
        and runtime in one.runtimes
        and (label is None or one.labels.get(label[0]) == label[1])
    )


LABELS = [None, *product("kl", "12")]
ALL_WORK = list(product("xyz", "xyz", LABELS))


def able_ones(fleet: list[WorkerFacts]) -> list[WorkerFacts]:
    """By the words of the contract: those whom nothing but failures could keep from work."""
    spotless = [replace(one, consecutive_failures=0, failures=0) for one in fleet]
    able = {one.name for one in spotless if one.state == "active" and judge(one, TERMS).health != "unhealthy"}
    return [one for one in fleet if one.name in able]


@given(fleets)
def test_the_floor_holds_for_every_kind_of_work(fleet):
    verdicts = judge_fleet(fleet, TERMS)
    able = able_ones(fleet)
    for work in ALL_WORK:
        doing = [one for one in able if could_do(one, work)]
        out = [one for one in doing if verdicts[one.name].health == "unhealthy"]
        assert len(out) <= len(doing) // 2


@given(fleets)
def test_the_floor_spares_only_whom_it_must(fleet):
    verdicts = judge_fleet(fleet, TERMS)
    able = able_ones(fleet)
    for one in fleet:
        alone, verdict = judge(one, TERMS), verdicts[one.name]
        if not verdict.floored:
            assert verdict == alone
            continue
        assert verdict == replace(alone, health="degraded", floored=True)
        assert alone.health == "unhealthy"
        assert one in able
        full = [
            work
            for work in ALL_WORK
            if could_do(one, work) and is_full([other for other in able if could_do(other, work)], verdicts)
        ]
        assert full, "it could have been made unhealthy"


def is_full(doing: list[WorkerFacts], verdicts: dict[str, Verdict]) -> bool:
    out = sum(verdicts[one.name].health == "unhealthy" for one in doing)
    return out + 1 > len(doing) // 2


@given(fleets)
def test_a_fleet_that_is_judged_again_stays_as_it_is(fleet):
    first = judge_fleet(fleet, TERMS)
    again = judge_fleet([replace(one, health=first[one.name].health) for one in reversed(fleet)], TERMS)
    assert again == first
