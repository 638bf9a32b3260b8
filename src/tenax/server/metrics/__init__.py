"""Exports metrics in the text format of Prometheus."""
