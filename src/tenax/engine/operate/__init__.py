"""Carries out what people ask for: retry, cancel, pause, resume, limits of queues."""
