"""Tiers are a level of the retry policy between the step and the workflow."""

from __future__ import annotations

import pytest

from tenax.errors import UsageError
from tenax.model.definition.tiers import ServerRetry
from tenax.model.parse.keys.program_keys import tiers_of_settings
from tenax.model.parse.parse import parse_workflow
from tenax.policy.check import load_workflow
from tenax.policy.plan import make_plan


def policy_of(keys: str, *, defaults: str = "", server: object = None):
    text = f"name: w\n{defaults}\nworkflow:\n  - {{step: a, type: agent, prompt: x, {keys}}}\n"
    return make_plan(load_workflow(text), server).steps["a"].policy.policy


@pytest.mark.parametrize(
    ("tier", "attempts", "delay", "jitter"),
    [("legionary", 3, 15.0, 0.25), ("centurion", 2, 30.0, 0.25), ("tribune", 1, 1.0, 0.2)],
)
def test_the_built_in_tiers(tier, attempts, delay, jitter):
    policy = policy_of(f"tier: {tier}")
    assert (policy.max_attempts, policy.initial_delay, policy.jitter) == (attempts, delay, jitter)


def test_an_agent_without_a_tier_has_one_attempt():
    assert policy_of("").max_attempts == 1


def test_the_step_is_nearer_than_the_tier_and_the_tier_nearer_than_the_workflow():
    defaults = "defaults: {retry: {max_attempts: 9, initial_delay: 2s, max_delay: 100s}}"
    policy = policy_of("tier: legionary, retry: {initial_delay: 7s}", defaults=defaults)
    assert (policy.max_attempts, policy.initial_delay, policy.max_delay) == (3, 7.0, 100.0)


def test_no_retry_in_the_step_ends_the_search():
    assert policy_of("tier: legionary, retry: false").max_attempts == 1


def test_the_setting_changes_a_tier():
    tiers = tiers_of_settings({"tribune": {"retry": {"max_attempts": 5}}}, "the setting tiers")
    server = ServerRetry({"max_delay": 60.0}, {name: one.retry for name, one in tiers.items()})
    policy = policy_of("tier: tribune", server=server)
    assert (policy.max_attempts, policy.max_delay) == (5, 60.0)
    assert policy_of("tier: centurion", server=server).max_attempts == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tribun": {}}, "unknown tier 'tribun'"),
        ({"tribune": 3}, "tribune must be a table"),
        ({"tribune": {"retry": {"max_attempts": 0}}}, "tribune: retry.max_attempts"),
        ({"tribune": {"command": []}}, "tribune.command must be a text"),
        ({"tribune": {"model": 5}}, "tribune.model must be text"),
        ({"tribune": {"modle": "x"}}, "unknown key 'modle'"),
    ],
)
def test_a_wrong_setting_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        tiers_of_settings(given, "the setting tiers")


def test_the_tier_is_part_of_the_definition():
    [step] = parse_workflow(
        "name: w\nworkflow:\n  - {step: a, type: agent, prompt: x, tier: tribune}\n"
    ).steps
    assert step.spec == {"prompt": "x", "env": {}, "tier": "tribune"}
