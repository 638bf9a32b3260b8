"""Decides what happens after an attempt: the rules, the delays, the ledger, and the words for them."""
