"""Puts this folder on the path: its modules have no package, and `against.py` runs them by themselves."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
