"""Makes executions to draw, and reads drawings."""
