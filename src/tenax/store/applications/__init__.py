"""Keeps what applications and tasks write in transactions of their own: requested submissions, and results of attempts."""
