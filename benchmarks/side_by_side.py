"""Drives an empty and a full database in turn, to measure what the full one costs."""

from __future__ import annotations

from benchmarks.arena import Round
from benchmarks.driven import Rates, drive
from benchmarks.plan import Plan
from benchmarks.report import Figure, Mark
from benchmarks.stats import ratios
from tenax.embed import open_engine
from tenax.settings import load_settings

NOT_SLOWER = Mark("at least", 0.85)


async def in_turn(
    plan: Plan, measure: str, n: int, sides: tuple[tuple[Round, str, list[Rates]], ...]
) -> None:
    """Runs one round on both databases. The first one changes from round to round. Round 0 is not kept."""
    for round_, name, found in sides if n % 2 else reversed(sides):
        await round_.settle()
        async with open_engine(load_settings({"database_url": round_.url}, env={})) as engine:
            rates = await drive(engine, plan.driven)
        plan.say(
            f"{measure} round {n}: {name}: {rates.submitted:,.0f} submitted/s, {rates.worked:,.0f} leased and reported/s"
        )
        if n > 0:
            found.append(rates)


def beside(measure: str, what: str, other: str, ours: list[Rates], reference: list[Rates]) -> list[Figure]:
    """Returns the figures of the rates of both, and of the ratios that should not fall."""
    figures = []
    for verb, part in (("submit", "submitted"), ("lease and report", "worked")):
        mine, theirs = ([getattr(rates, part) for rates in side] for side in (ours, reference))
        figures += [
            Figure(measure, f"{verb}, {other}", "/s", tuple(theirs)),
            Figure(measure, f"{verb}, {what}", "/s", tuple(mine)),
            Figure(measure, f"{verb}, {what} / {other}", "", ratios(mine, theirs), NOT_SLOWER),
        ]
    return figures
