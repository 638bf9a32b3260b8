"""Speaks HTTP within bounds: sockets, connections, sizes and times of requests."""
