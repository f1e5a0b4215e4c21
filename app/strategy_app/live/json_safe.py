"""Values from a run as JSON that any browser takes: numbers finite, text of a bearable length."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

MAX_TEXT = 2_000
dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def plain(value: Any) -> Any:
    """The value with text cut to a length, and null for what JSON has no word for."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
