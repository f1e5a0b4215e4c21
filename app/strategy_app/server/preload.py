"""Imports the pages' modules before the first request and freezes them (`gc.freeze`)."""

from __future__ import annotations

import gc
import threading
from importlib import import_module

# By the main thread, before there are others: PyArrow imports pandas by itself when an array is
# first made, and two threads that import it at once can wait for each other, or crash the process
# (apache/arrow#8588, questdb/py-questdb-client#144). A Timeline that read ahead in a thread of its
# own once showed nothing for 80 s; the cause was this, a crash that `strategy_profiles.decoders`
# prevents, or neither.
import pandas  # noqa: F401

PARTS = (
    "duckdb",
    "strategy_app.screen.answer",
    "strategy_app.widgets.comparison",
    "strategy_app.widgets.evidence",
    "strategy_app.widgets.run_list",
    "strategy_app.widgets.sql_box",
    "strategy_profiles.exports",
)


def preload_soon() -> None:
    """Load in a thread: the server answers meanwhile, and a page that needs a part waits for it."""
    threading.Thread(target=_preload, name="preload", daemon=True).start()


def _preload() -> None:
    for name in PARTS:
        import_module(name)
    # What is loaded by now stays for good: the collector need not look at it again.
    gc.collect()
    gc.freeze()
