"""Answers the routes of what operators look after: dead letters, saved filters, bulk jobs and schedules."""
