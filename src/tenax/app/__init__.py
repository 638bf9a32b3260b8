"""Is Tenax in an application of its users: one class for a database, the embedded one or a server."""

from tenax.app.application import SyncTenax, Tenax

__all__ = ["SyncTenax", "Tenax"]
