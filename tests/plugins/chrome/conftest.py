"""Runs to export."""

from __future__ import annotations

from tests.profiles.exports.conftest import straggling, target

__all__ = ["straggling", "target"]
