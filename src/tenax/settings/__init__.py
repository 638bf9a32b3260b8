"""Reads the settings of a process: defaults, files, variables, flags."""

from tenax.settings.model import Settings as Settings
from tenax.settings.model import find_home as find_home
from tenax.settings.model import load_settings as load_settings
