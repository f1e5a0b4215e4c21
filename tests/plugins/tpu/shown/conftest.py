"""The fixtures of the page and of the browser."""

from __future__ import annotations

from tests.app.conftest import _labs_options, _no_head_start, _no_keras_to_clear, _one_scan
from tests.e2e.conftest import open_page, server, warm_contexts

__all__ = [
    "_labs_options",
    "_no_head_start",
    "_no_keras_to_clear",
    "_one_scan",
    "open_page",
    "server",
    "warm_contexts",
]
