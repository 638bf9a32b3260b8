"""A shop on Django whose orders are charged by a task."""
