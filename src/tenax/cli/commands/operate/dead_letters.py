"""Lists, groups and shows dead letters, redrives and discards them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, get_args

from cyclopts import App, Parameter

from tenax.cli.backend.opening import open_backend
from tenax.cli.backend.protocol import LETTER, check_id, run_async
from tenax.cli.commands.operate.bulk import begin, new_job
from tenax.cli.commands.operate.letter_selection import DEFAULT_SELECTION, SelectionFlags
from tenax.cli.flags import DEFAULT_TARGET, Json, TargetFlags
from tenax.cli.input.rates import NO_PACE, PaceFlags
from tenax.cli.output import print_json, say
from tenax.cli.output import show as show_
from tenax.errors import UsageError
from tenax.model.filters.letters import LetterFilter
from tenax.model.letters.letter import LetterStatus

dead_letters = App(name="dead-letters", help="Look at work that has failed for good, redrive or discard it.")

MAX_LISTED = 500
MAX_NAMED = 1000
"""Letters that one command may name."""
EVERY: tuple[LetterStatus, ...] = get_args(LetterStatus)

LetterId = Annotated[int, Parameter(name="LETTER", help="The number of a dead letter.")]
Status = Annotated[
    tuple[LetterStatus, ...], Parameter(help="Only letters with this status. Repeatable. [open]")
]
All = Annotated[bool, Parameter(name="--all", help="Include letters of every status.")]
Limit = Annotated[int, Parameter(help=f"The number of letters to list, up to {MAX_LISTED}. [50]")]
GroupLimit = Annotated[int, Parameter(help=f"The number of groups to list, up to {MAX_LISTED}. [20]")]


@dead_letters.command(name="list")
def list_(
    *,
    status: Status = (),
    all: All = False,  # noqa: A002 -- the flag's name
    before: Annotated[
        int | None,
        Parameter(help="Only letters beyond this one, the last of the page before. For the next page."),
    ] = None,
    limit: Limit = 50,
    selection: SelectionFlags = DEFAULT_SELECTION,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List the open dead letters, the newest failure first."""
    _check_limit(limit)
    if before is not None:
        check_id(before, LETTER)
    found = run_async(_listed(where, _filter(selection, status, every=all), before, limit))
    if json:
        print_json(found)
    elif found:
        from tenax.cli.render.operators.dead_letters import letter_table

        show_(letter_table(found))
    else:
        say("no dead letters")


async def _listed(
    where: TargetFlags, wanted: LetterFilter, before: int | None, limit: int
) -> Sequence[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return await backend.dead_letters(wanted, before=before, limit=limit)


@dead_letters.command
def groups(
    *,
    status: Status = (),
    all: All = False,  # noqa: A002 -- the flag's name
    limit: GroupLimit = 20,
    selection: SelectionFlags = DEFAULT_SELECTION,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """List failures of the same cause together, the largest group first."""
    _check_limit(limit)
    found = run_async(_grouped(where, _filter(selection, status, every=all), limit))
    if json:
        print_json(found)
    elif found:
        from tenax.cli.render.operators.dead_letters import group_table

        show_(group_table(found, where))
    else:
        say("no dead letters")


async def _grouped(where: TargetFlags, wanted: LetterFilter, limit: int) -> Sequence[dict[str, Any]]:
    async with open_backend(where.settings()) as backend:
        return await backend.dead_letter_groups(wanted, limit=limit)


@dead_letters.command
def show(letter: LetterId, /, *, json: Json = False, where: TargetFlags = DEFAULT_TARGET) -> None:
    """Show a dead letter: its attempts, its last failure, its input, and why it was given up."""
    found = run_async(_shown(where, letter))
    if json:
        print_json(found)
    else:
        from tenax.cli.render.operators.dead_letters import render_letter

        show_(render_letter(found, where))


async def _shown(where: TargetFlags, letter: int) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.dead_letter(letter)


@dead_letters.command
def redrive(
    letters: Annotated[tuple[int, ...], Parameter(name="LETTER", help="The numbers of dead letters.")] = (),
    /,
    *,
    reason: Annotated[
        str | None, Parameter(help="The reason, which is recorded. Required with flags that select letters.")
    ] = None,
    selection: SelectionFlags = DEFAULT_SELECTION,
    pace: PaceFlags = NO_PACE,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Start the items of dead letters again.

    Letters that are named are started all, or none if one cannot be started. For the open letters that flags select, the
    servers carry out a bulk job, with a rate and a canary.
    """
    if selection != DEFAULT_SELECTION:
        if letters:
            raise UsageError("numbers of letters and flags that select letters exclude each other")
        wanted = selection.filter("open")
        begin(new_job("redrive", str(wanted.whole), reason, pace), where, preview=pace.preview, json=json)
        return
    if pace != NO_PACE:
        raise UsageError(
            "--rate, --canary, --max-failed and --preview go with flags that select letters",
            remedy="tenax dead-letters redrive --fingerprint GROUP --canary 10 --reason WHY",
        )
    _check_named(letters)
    done = run_async(_redriven(where, letters, reason))
    if json:
        print_json(done)
    elif done["changed"]:
        say(f"{_count(done['changed'])} redriven; each is tried again now")
    else:
        say("nothing to do: all of them had been redriven before, and have not ended")


async def _redriven(where: TargetFlags, letters: Sequence[int], reason: str | None) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.redrive(letters, reason=reason)


@dead_letters.command
def discard(
    letters: Annotated[tuple[int, ...], Parameter(name="LETTER", help="The numbers of dead letters.")] = (),
    /,
    *,
    note: Annotated[str, Parameter(help="Why they need no more work. It is recorded.")],
    selection: SelectionFlags = DEFAULT_SELECTION,
    json: Json = False,
    where: TargetFlags = DEFAULT_TARGET,
) -> None:
    """Discard dead letters with a note: those named, or all open ones that the flags select."""
    wanted = selection.filter("open") if selection != DEFAULT_SELECTION else None
    if letters and wanted is not None:
        raise UsageError("numbers of letters and flags that select letters exclude each other")
    if wanted is None:
        _check_named(letters)
    done = run_async(_discarded(where, letters, wanted, note))
    if json:
        print_json(done)
    elif done["changed"]:
        say(f"{_count(done['changed'])} discarded")
    else:
        say("nothing to do: no open letter is left")


async def _discarded(
    where: TargetFlags, letters: Sequence[int], wanted: LetterFilter | None, note: str
) -> dict[str, Any]:
    async with open_backend(where.settings()) as backend:
        return await backend.discard(letters, wanted, note=note)


def _filter(selection: SelectionFlags, statuses: Sequence[LetterStatus], *, every: bool) -> LetterFilter:
    if every and statuses:
        raise UsageError("--all and --status exclude each other", remedy="name one of them")
    return selection.filter(*(EVERY if every else statuses or ("open",)))


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_LISTED:
        raise UsageError(f"--limit {limit}: expected a number from 1 to {MAX_LISTED}")


def _check_named(letters: Sequence[int]) -> None:
    if not letters:
        raise UsageError(
            "which dead letters? No number is given, and no flag that selects some",
            remedy="`tenax dead-letters list` shows their numbers; --filter status=open selects all open letters",
        )
    if not 1 <= len(letters) <= MAX_NAMED:
        raise UsageError(
            f"name from 1 to {MAX_NAMED:,} dead letters, not {len(letters):,}",
            remedy="`tenax dead-letters list` shows their numbers",
        )


def _count(number: int) -> str:
    return f"{number:,} dead letter{'' if number == 1 else 's'}"
