"""A self-contained page that steps through a recorded trace of contexts."""

from __future__ import annotations

from strategy_lab.profiles.stepper.page import page

__all__ = ["page"]
