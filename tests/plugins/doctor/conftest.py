"""The fixtures of the page, for the tests of this leaf."""

from __future__ import annotations

from tests.app.conftest import _labs_options, _no_head_start, _no_keras_to_clear, _one_scan

__all__ = ["_labs_options", "_no_head_start", "_no_keras_to_clear", "_one_scan"]
