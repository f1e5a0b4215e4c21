"""What a fork server cannot finish to import: its preparation does not end."""

from __future__ import annotations

import time


def prepare() -> None:
    time.sleep(3600)
