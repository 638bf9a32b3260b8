"""Says what an attempt came to: outcome, failure, class, reason, and what is believed of a report."""
