"""Defines the data: definitions, outcomes, decisions, events, and the messages between server and workers. It decides nothing."""
