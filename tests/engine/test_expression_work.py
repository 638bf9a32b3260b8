"""Tests that the setting `expression_work` applies to every expression of a workflow."""

from __future__ import annotations

import pytest
from support.hand import Hand, one_postgres

pytestmark = one_postgres

FIRST = "name: w\nworkflow:\n  - {step: first, type: python, task: 't:t'}\n"
SECOND = "  - {step: second, type: python, task: 't:t', needs: first, "
LARGE = "{{ steps.first.result|upper }}"
"""A unit of work for each character."""
PLACES = {
    "`when` of step second": FIRST + SECOND + f"when: \"{LARGE[:-3]} != ''  }}}}\"}}\n",
    "`for_each` of step second": FIRST + SECOND + f'for_each: ["{LARGE}"]}}\n',
    "the `key` of `concurrency` of step second": FIRST
    + SECOND
    + f'concurrency: {{limit: 1, key: "{LARGE}"}}}}\n',
    "outputs": FIRST + f'outputs: {{x: "{LARGE}"}}\n',
}
TEXT = "x" * 3_000


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.settings(expression_work=1_000)
async def test_a_lower_limit_fails_what_exceeds_it(hand: Hand, place: str) -> None:
    id_, first = await hand.start(PLACES[place])
    await hand.succeed(first, TEXT)
    failure = (await hand.get(id_))["failure"]
    assert (failure["class"], failure["reason"]) == ("invalid", "template_error")
    assert failure["message"].startswith(place)
    assert "more than 2,000 units of work (`expression_work`" in failure["message"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.settings(expression_work=2_000_000)
async def test_a_higher_limit_allows_more_than_the_default(hand: Hand, place: str) -> None:
    id_, first = await hand.start(PLACES[place].replace("|upper", "|upper" * 3))
    await hand.succeed(first, "x" * 900_000)
    for second in await hand.lease():
        await hand.succeed(second)
    assert await hand.status(id_) == "completed"


@pytest.mark.settings(expression_work=1_000)
async def test_the_value_of_a_failed_step_has_the_limit_too(hand: Hand) -> None:
    source = FIRST + SECOND + f'on_failure: {{value: "{LARGE}"}}}}\n'
    id_, first = await hand.start(source)
    await hand.succeed(first, TEXT)
    await hand.fail(await hand.lease_one(), failure_class="logical", message="no")
    failure = (await hand.get(id_))["failure"]
    assert failure["message"].startswith("`on_failure` of step second: ")
    assert "more than 2,000 units of work (`expression_work`" in failure["message"]


@pytest.mark.settings(max_rendered=1_000)
async def test_outputs_give_a_bounded_number_of_bytes(hand: Hand) -> None:
    id_, first = await hand.start(PLACES["outputs"])
    await hand.succeed(first, TEXT)
    assert "more than 1,000 bytes (`max_rendered`)" in (await hand.get(id_))["failure"]["message"]


FANNED = """
name: fanned
workflow:
  - {step: first, type: python, task: "t:t"}
  - step: second
    type: python
    task: "t:t"
    needs: first
    for_each: "{{ steps.first.result.items }}"
    parallelism: 100
    concurrency: {limit: 1, key: "KEY"}
"""


@pytest.mark.parametrize(
    ("key", "status"),
    [("{{ item|upper }}", "running"), ("{{ steps.first.result.text|upper }}-{{ index }}", "failed")],
)
@pytest.mark.settings(expression_work=1_000)
async def test_the_keys_of_a_fan_out_share_a_budget(hand: Hand, key: str, status: str) -> None:
    """A long key is within what one key may take. A hundred of them are more than what a hundred items may take."""
    id_, first = await hand.start(FANNED.replace("KEY", key))
    await hand.succeed(first, {"items": ["an item"] * 100, "text": "x" * 800})
    assert await hand.status(id_) == status
    if status == "failed":
        failure = (await hand.get(id_))["failure"]
        assert (
            "for 100 items it takes more than 101,000 units of work (`expression_work`)" in failure["message"]
        )
