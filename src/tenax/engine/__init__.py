"""Implements the operations: submit, lease, report, reap, control, recover. Each works on a batch in one transaction."""
