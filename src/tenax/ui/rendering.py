"""Renders templates. Values of users are escaped, and a name that is missing is an error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tenax import __version__
from tenax.drawing.figures.sparkline import draw_sparkline
from tenax.policy.retry.explain import rule_meaning
from tenax.ui import words
from tenax.ui.action_words import FORMS, in_order, rarer
from tenax.ui.assets import asset_url
from tenax.ui.offers import offers, offers_by_status, waiting_for_people


@cache
def make_environment() -> Environment:
    """Returns the templates. A process compiles each of them once, since the live updates of a page rest as long as a
    rendering was slow."""
    environment = Environment(
        loader=PackageLoader("tenax.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "tone": words.tone,
        "in_utc": words.in_utc,
        "clock": words.clock,
        "duration": words.duration,
        "number": words.number,
        "first_line": words.first_line,
        "progress_words": words.told_progress,
        "with_code": words.with_code,
        "pretty": pretty,
        "percent": words.percent,
        "short": words.short,
        "known": words.known,
        "filter_value": words.filter_value,
    }
    environment.globals |= {
        "asset_url": asset_url,
        "query": words.query,
        "seconds_between": words.seconds_between,
        "version": __version__,
        "sparkline": sparkline,
        "names": words.names,
        "command": words.command,
        "labels": words.labels,
        "column_value": words.column_value,
    }
    environment.globals |= {
        "FORMS": FORMS,
        "in_order": in_order,
        "rarer": rarer,
        "rule_meaning": rule_meaning,
        "offers": offers,
        "offers_by_status": offers_by_status,
        "waiting_for_people": waiting_for_people,
    }
    environment.globals["ui"] = environment.get_template("ui.html").module
    environment.globals["input_fields"] = environment.get_template("executions/input_field.html").module
    environment.globals["acts"] = environment.get_template("executions/buttons.html").module
    return environment


def pretty(value: Any) -> str:
    """Writes JSON for people."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def sparkline(
    values: Sequence[float | None], name: str, unit: str = "", most: float | None = None, width: int = 120
) -> Markup:
    """Draws a small series. Its texts are escaped by the drawing."""
    return Markup(draw_sparkline(values, name=name, unit=unit, most=most, width=width))  # noqa: S704 -- the drawing escapes its texts


class Renderer:
    """Renders pages, and single blocks of them for live updates and answers to htmx."""

    def __init__(self) -> None:
        self._environment = make_environment()

    def page(self, template: str, values: Mapping[str, Any]) -> str:
        return self._environment.get_template(template).render(values)

    def blocks(self, template: str, names: Sequence[str], values: Mapping[str, Any]) -> dict[str, str]:
        """Renders blocks of a template, without the rest of it. Returns them by their names."""
        found = self._environment.get_template(template)
        context = found.new_context(dict(values))
        return {name: "".join(found.blocks[name](context)).strip() for name in names}
