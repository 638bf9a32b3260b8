"""Draws small figures: bars, strips, series and schedules."""
