"""A recorded trace of contexts as one self-contained page that can be stepped through."""

from __future__ import annotations

from strategy_lab.profiles.stepper.page import page

__all__ = ["page"]
