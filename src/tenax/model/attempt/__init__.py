"""Defines the outcome of an attempt: its failure, class and reason, and which facts of a report are believed."""
