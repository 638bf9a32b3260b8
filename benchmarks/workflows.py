"""Holds the definitions that the measures run. Their tasks are in `benchmarks.tasks`."""

from __future__ import annotations

NOOP = """
name: bench-noop
workflow:
  - step: only
    type: python
    task: benchmarks.tasks:noop
"""

STAMPED = """
name: bench-stamped
input:
  submitted: {type: number, required: true}
workflow:
  - step: only
    type: python
    task: benchmarks.tasks:waited
    args: {submitted: "{{ input.submitted }}"}
"""

FAILS_ONCE = """
name: bench-fails-once
workflow:
  - step: only
    type: python
    task: benchmarks.tasks:fails
    args: {times: 1}
    retry: {max_attempts: 3, backoff: fixed, initial_delay: 1, jitter: 0}
"""

FAILS_TWICE = FAILS_ONCE.replace("once", "twice").replace("times: 1", "times: 2")

FAILS_SOME = """
name: bench-fails-some
input:
  n: {type: integer, required: true}
workflow:
  - step: only
    type: python
    task: benchmarks.tasks:fails_some
    args: {n: "{{ input.n }}"}
    retry: {max_attempts: 3, backoff: fixed, initial_delay: 100ms, jitter: 0}
"""

FAN_OUT = """
name: bench-fan-out
input:
  numbers: {type: array, required: true}
workflow:
  - step: spread
    type: python
    task: benchmarks.tasks:fails_some
    args: {n: "{{ item }}"}
    for_each: "{{ input.numbers }}"
    parallelism: 2000
    retry: {max_attempts: 3, backoff: fixed, initial_delay: 100ms, jitter: 0}
"""

SHORT = """
name: bench-short
workflow:
  - step: only
    type: python
    task: benchmarks.tasks:takes
    args: {seconds: 0.005}
"""

WIDE = """
name: bench-wide
input:
  numbers: {type: array, required: true}
workflow:
  - step: spread
    type: python
    task: benchmarks.tasks:takes
    args: {seconds: 0.005}
    for_each: "{{ input.numbers }}"
    parallelism: 100000
"""

HISTORY = """
name: bench-history
workflow:
  - {step: first, type: python, task: "benchmarks.tasks:noop"}
  - {step: second, type: python, task: "benchmarks.tasks:noop", needs: [first]}
"""

ROLLING = """
name: bench-rolling
input:
  submitted: {type: number, required: true}
workflow:
  - step: only
    type: python
    task: benchmarks.tasks:takes
    args: {seconds: 0.05}
    retry: {max_attempts: 3, backoff: none, jitter: 0}
"""

FIVE_STEPS = """
name: bench-five-steps
workflow:
  - {step: first, type: python, task: "benchmarks.tasks:noop"}
  - {step: second, type: python, task: "benchmarks.tasks:noop", needs: [first]}
  - {step: third, type: python, task: "benchmarks.tasks:noop", needs: [second]}
  - {step: fourth, type: python, task: "benchmarks.tasks:noop", needs: [third]}
  - {step: fifth, type: python, task: "benchmarks.tasks:noop", needs: [fourth]}
"""

FAN_OF_NOOPS = """
name: bench-fan-of-noops
input:
  numbers: {type: array, required: true}
workflow:
  - step: spread
    type: python
    task: benchmarks.tasks:noop
    for_each: "{{ input.numbers }}"
    parallelism: 100000
"""

WAITING = """
name: bench-waiting
workflow:
  - step: only
    type: python
    task: benchmarks.tasks:noop
    retry: {max_attempts: 5, backoff: fixed, initial_delay: 24h, max_delay: 24h, jitter: 0}
"""

RETRIED = """
name: bench-retried
workflow:
  - {step: first, type: python, task: "benchmarks.tasks:noop", retry: {max_attempts: 3, backoff: none, jitter: 0}}
  - {step: second, type: python, task: "benchmarks.tasks:noop", needs: [first]}
"""
