"""Holds files for Prometheus and Grafana: the rules of the alerts, and a dashboard."""

from __future__ import annotations

from importlib.resources import files

RULES = "tenax.rules.yml"
DASHBOARD = "dashboard.json"


def read_file(name: str) -> str:
    return files("tenax.monitoring").joinpath(name).read_text("utf-8")
