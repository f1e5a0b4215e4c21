"""Runs to export, and the fixtures of the page and of the browser, for the tests of this leaf."""

from __future__ import annotations

from tests.profiles.exports.conftest import straggling, target

__all__ = ["straggling", "target"]
