"""Speaks HTTP with limits on connections, and on the sizes and times of requests."""
