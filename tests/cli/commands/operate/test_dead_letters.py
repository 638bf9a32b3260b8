"""`tenax dead-letters`, straight on the database and over HTTP: the work itself is done by hand."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from support.hand import Hand
from support.letters import exhausted, failed, letters, quarantined, tolerated

from tenax.cli.render.operators.dead_letters import group_table, letter_table


@pytest.fixture(params=["on the database", "over HTTP"])
def tenax(request, command, database_url):
    """Calls `tenax dead-letters`. A test asks for what it needs first: the server then finds it in the database."""

    def call(*arguments: object, verb: str = "dead-letters") -> Any:
        where = (
            {"TENAX_SERVER": request.getfixturevalue("server")}
            if request.param == "over HTTP"
            else {"TENAX_DATABASE_URL": database_url}
        )
        return command(verb, *map(str, arguments), **where)

    return call


async def numbers(hand: Hand) -> list[int]:
    return [row["item_id"] for row in await letters(hand, "item_id")]


async def two_failures(hand: Hand) -> list[int]:
    await exhausted(hand)
    await tolerated(hand)
    return await numbers(hand)


async def one_in_quarantine(hand: Hand) -> list[int]:
    await quarantined(hand)
    return await numbers(hand)


def test_a_list_names_letters_executions_and_groups(tenax, play):
    first, second = play(two_failures)
    found = tenax("list", "--json").json
    assert {one["id"] for one in found} == {first, second}
    shown = tenax("list").out
    assert shown.splitlines()[0].split() == [
        "letter", "execution", "workflow", "item", "status", "failure", "attempts", "last", "group", "message",
    ]  # fmt: skip
    for one in found:
        assert f" {one['fingerprint']} " in shown
    assert "each[1]" in shown
    assert "open, tolerated" in shown
    assert [
        one["id"] for one in tenax("list", "--workflow", "one", "--class", "transient", "--json").json
    ] == [first]
    assert tenax("list", "--status", "discarded").out == "no dead letters\n"
    assert len(tenax("list", "--all", "--limit", 1, "--json").json) == 1
    assert tenax("groups", "--step", "nowhere").out == "no dead letters\n"


def test_groups_show_what_failed_most(tenax, play):
    async def scene(hand: Hand) -> None:
        await failed(hand, message="no such order 1")
        await failed(hand, message="no such order 2")
        await tolerated(hand)

    play(scene)
    first, second = tenax("groups", "--json").json
    assert (first["count"], second["count"]) == (2, 1)
    shown = tenax("groups").out
    assert f"list a group: tenax dead-letters list --fingerprint {first['fingerprint']}" in shown
    assert shown.splitlines()[1].split()[:2] == [first["fingerprint"], "2"]


def test_a_letter_is_shown_with_its_history_and_what_can_be_done(tenax, play):
    first, second = play(two_failures)
    shown = tenax("show", first).out
    assert shown.startswith(f"dead letter {first}: only of execution 1 (one), open\n")
    assert "failed for good once" in shown
    assert "attempts are used up" in shown
    assert f"put it aside: tenax dead-letters discard {first} --note WHY" in shown
    assert f"start it again: tenax dead-letters redrive {first}" in shown
    assert "see its execution: tenax show 1 --step only" in shown
    other = tenax("show", second).out
    assert "tolerated: the step went on in spite of it" in other
    assert "the letter can only be discarded" in other
    assert tenax("show", second, "--json").json["item"] == 1


def test_a_quarantined_item_is_redriven(tenax, play):
    [number] = play(one_in_quarantine)
    assert f"start it again: tenax dead-letters redrive {number}" in tenax("show", number).out
    done = tenax("redrive", number, "--reason", "fixed")
    assert (done.code, done.out) == (0, "1 dead letter redriven; each is tried again now\n")
    again = tenax("redrive", number)
    assert again.out == "nothing to do: all of them had been redriven before, and have not ended\n"
    [found] = tenax("list", "--status", "redriven", "--json").json
    assert found["id"] == number


def test_what_cannot_be_redriven_says_why(tenax, play):
    _, tolerated = play(two_failures)
    ended = tenax("redrive", tolerated)
    assert ended.code == 2
    assert f"tenax: dead letter {tolerated} cannot be redriven: execution 2 has completed" in ended.err


def test_letters_are_discarded_by_number_or_by_flags(tenax, play):
    first, second = play(two_failures)
    assert tenax("discard", first, "--note", "known bug").out == "1 dead letter discarded\n"
    assert "discarded by " in tenax("show", first).out
    done = tenax("discard", "--workflow", "fan", "--note", "test data", "--json").json
    assert done == {"changed": 1, "ids": [second]}
    assert (
        tenax("discard", "--workflow", "fan", "--note", "again").out
        == "nothing to do: no open letter is left\n"
    )
    assert tenax("list").out == "no dead letters\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "--limit", "0"), "--limit 0: expected a number from 1 to 500"),
        (("list", "--all", "--status", "open"), "--all and --status exclude each other"),
        (("list", "--until", "soon"), "--until soon: expected a duration"),
        (("list", "--before", "-1"), "-1 cannot be the number of a dead letter"),
        (("discard", "--note", "x"), "which dead letters?"),
        (("discard", "--note", "x", "--filter", ""), "no flag that selects some"),
        (("discard", "1", "--step", "a", "--note", "x"), "exclude each other"),
        (("discard", "1"), "--note"),
        (("show", "0"), "0 cannot be the number of a dead letter"),
        (("redrive",), "--filter status=open selects all open letters"),
        (("redrive", "1", "--step", "a", "--reason", "x"), "exclude each other"),
        (("redrive", "1", "--canary", "2"), "go with flags that select letters"),
        (("redrive", "--step", "a"), "a bulk action needs a reason"),
        (("list", "--filter", "stepp=a"), "did you mean `step`?"),
        (("list", "--filter", "@mine"), "saved filters select executions"),
    ],
)
def test_commands_that_are_wrong_are_refused(command, database_url, arguments, words):
    ended = command("dead-letters", *arguments, TENAX_DATABASE_URL=database_url)
    assert ended.code == 2
    assert words in ended.err


def test_a_failed_execution_names_the_command(command, database_url, play):
    play(two_failures)
    shown = command("show", "1", TENAX_DATABASE_URL=database_url).out
    assert shown.splitlines()[-1] == "dead letters: tenax dead-letters list --execution 1"
    assert command("list", TENAX_DATABASE_URL=database_url).out.splitlines()[-1] == (
        "failures by cause: tenax dead-letters groups"
    )


LETTER = {
    "id": 123456789012, "execution_id": 987654321098, "workflow": "a-workflow-with-a-long-name", "step": "load", "item": 7,
    "compensation": False, "status": "open", "tolerated": False, "reason": "http_503", "attempts": 3,
    "last_at": "2026-01-31T12:00:00.5Z", "fingerprint": "0123456789abcdef", "message": "no such order " * 9,
}  # fmt: skip
GROUP = {
    "fingerprint": "0123456789abcdef", "count": 12_345, "share": None, "reason": "http_503", "workflows": ["a", "b"],
    "steps": ["load"], "first_at": "2026-01-31T12:00:00Z", "last_at": "2026-01-31T12:00:00Z", "example": "no",
}  # fmt: skip


@pytest.mark.parametrize("width", [40, 80, 120, 200, 1000])
def test_each_letter_is_a_line_and_its_numbers_are_never_cut(width):
    console = Console(width=width, record=True, file=StringIO())
    console.print(letter_table([LETTER, LETTER]))
    title, first, second, *_ = console.export_text().splitlines()
    assert (title.split()[0], first) == ("letter", second)
    assert first.split()[:2] == ["123456789012", "987654321098"]
    assert "open" in first
    assert len(first) <= width
    console.print(group_table([GROUP]))
    title, first, *_ = console.export_text().splitlines()
    assert first.split()[:2] == ["0123456789abcdef", "12,345"]
    assert len(first) <= width


def test_a_wide_terminal_shows_all_of_a_letter():
    console = Console(width=300, record=True, file=StringIO())
    console.print(letter_table([LETTER]), group_table([GROUP]))
    shown = console.export_text()
    for whole in (
        "a-workflow-with-a-long-name",
        "load[7]",
        "2026-01-31 12:00:00",
        "0123456789abcdef",
        "http_503",
    ):
        assert whole in shown
    assert "left out" not in shown
