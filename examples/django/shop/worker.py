"""What workers import: `DJANGO_SETTINGS_MODULE=shop.settings tenax up shop.worker`."""

import django

django.setup()

from shop import tasks  # noqa: E402, F401 -- models can be imported from here on
