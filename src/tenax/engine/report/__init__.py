"""Takes what workers report of attempts, and the leases that they hand back."""
