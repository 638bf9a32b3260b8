"""The verbs: submit, lease, report, reap, control, recover. Each is a batch in one transaction."""
