"""Opens Tenax once in each process of Django."""

import atexit
import functools

from tenax import SyncTenax, Tenax


@functools.cache
def application() -> SyncTenax:
    """Opens the application when it is first needed: after a web server has forked its processes."""
    app = Tenax.sync()
    app.__enter__()
    atexit.register(app.__exit__)
    return app
