"""Draws executions, graphs and figures as SVG, and graphs as text and Mermaid."""
