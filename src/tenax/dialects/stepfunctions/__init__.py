"""Translates the state machines of AWS Step Functions."""
