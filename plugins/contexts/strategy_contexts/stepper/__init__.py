"""A self-contained page that steps through a recorded trace of contexts.

Nothing is recorded here, and no run is read: the trace comes as data.
"""

from __future__ import annotations

from strategy_contexts.stepper.page import page

__all__ = ["page"]
