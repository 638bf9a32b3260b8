"""Submits executions and completes attempts in the application's own database transaction, with the driver that it uses.

`submit` and `complete` take connections of asyncpg, psycopg 3, SQLAlchemy 2 and Django. The database must be that of Tenax.
"""

from tenax.transactions.complete import complete, complete_sync
from tenax.transactions.submit import submit, submit_sync

__all__ = ["complete", "complete_sync", "submit", "submit_sync"]
