"""What tests/doors and others ask of this leaf: files that it opens, a check of what it writes."""

from __future__ import annotations

from tests.plugins.chrome.trace_event_format import check_trace

OPENS = {"strategy_chrome/export.py": "it is written, not read"}
EXPORT_CHECKS = {"chrome-trace": check_trace}
