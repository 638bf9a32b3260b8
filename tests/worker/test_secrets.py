"""Secrets: where they go, and that they do not come back out."""

from __future__ import annotations

import pytest

from tenax.model.outcome import Facts, Outcome
from tenax.worker.secrets import SecretMissing, Secrets

ENVIRONMENT = {
    "TENAX_SECRET_KEY": "k/1",
    "TENAX_SECRET_LONG": "k/1-and-more",
    "TENAX_SECRET_EMPTY": "",
    "OTHER": "x",
}


def test_slots_are_filled_in_a_copy(assign):
    spec = {"headers": [{"a": None}], "url": None, "env": {"same": 1}}
    slots = (
        (("headers", 0, "a"), ("Bearer ", {"secret": "KEY"}, "!")),
        (("url",), ("http://h/?k=", {"secret": "key"})),
    )
    filled = Secrets(ENVIRONMENT).fill(assign("http", spec, secrets=slots))
    assert filled.spec == {"headers": [{"a": "Bearer k/1!"}], "url": "http://h/?k=k/1", "env": {"same": 1}}
    assert spec == {"headers": [{"a": None}], "url": None, "env": {"same": 1}}


def test_a_missing_secret_is_named(assign):
    with pytest.raises(SecretMissing, match=r"'nope'.*TENAX_SECRET_NOPE"):
        Secrets(ENVIRONMENT).fill(assign("http", {"url": None}, secrets=((("url",), ({"secret": "nope"},)),)))


def test_everything_reported_is_scrubbed_the_longest_secret_first():
    facts = Facts(
        message="k/1",
        stderr_tail="a k/1-and-more b",
        traceback="x=k%2F1",
        data={"k/1": ["k/1", 5]},
        exit_code=1,
    )
    scrubbed = Secrets(ENVIRONMENT).scrub_outcome(Outcome("failed", result=("k/1", None), facts=facts))
    assert scrubbed.result == ("[secret KEY]", None)
    assert scrubbed.facts == Facts(
        message="[secret KEY]",
        stderr_tail="a [secret LONG] b",
        traceback="x=[secret KEY]",
        data={"[secret KEY]": ["[secret KEY]", 5]},
        exit_code=1,
    )


def test_without_secrets_nothing_is_touched():
    outcome = Outcome("succeeded", result={"a": "b"})
    assert Secrets({"HOME": "b"}).scrub_outcome(outcome) is outcome
