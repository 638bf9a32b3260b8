"""Draws executions, graphs and figures as SVG, and graphs as text and Mermaid. Describes events and workers in words."""
