"""The settings of the example. It keeps its orders in SQLite; Tenax has a database of its own."""

import os
from pathlib import Path

SECRET_KEY = "only for this example"  # noqa: S105 -- it protects nothing
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SHOP_DATABASE", Path(__file__).parents[1] / "shop.sqlite3"),
        "OPTIONS": {"timeout": 20},
    }
}
