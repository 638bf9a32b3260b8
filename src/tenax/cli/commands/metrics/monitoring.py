"""Prints the files for Prometheus and Grafana that Tenax ships."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from tenax.monitoring import DASHBOARD, RULES, read_file


def monitoring(
    file: Annotated[
        Literal["rules", "dashboard"],
        Parameter(
            name="FILE", help="rules: the alerts, for Prometheus. dashboard: a dashboard, for Grafana (JSON)."
        ),
    ],
    /,
) -> None:
    """Print a file for Prometheus or Grafana."""
    sys.stdout.write(read_file(RULES if file == "rules" else DASHBOARD))
