"""Prints what operators look at: workers, queues, dead letters, bulk jobs, figures and diagnoses."""
