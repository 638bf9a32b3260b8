"""Shows how the whole system does: alerts, key figures, charts, and groups of failures."""
