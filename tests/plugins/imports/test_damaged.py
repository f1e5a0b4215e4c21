"""Profiles at the limits of what is read; `tests.plugins.imports.damage` damages them at random."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from strategy_imports.proto_fields import DamagedError, fields
from tests.made_xplane import MadeLine, MadePlane, started, xspace
from tests.plugins.imports.damage import judge, originals
from tests.plugins.imports.made import MS


def test_an_intact_profile_is_imported(tmp_path: Path) -> None:
    for name, data in originals():
        assert judge(name, data, tmp_path) == "imported", name
        shutil.rmtree(tmp_path / "run")


def test_a_capture_after_the_year_2043_has_no_begin(tmp_path: Path) -> None:
    lines = [MadeLine("Stream #1", [("kernel", 0, MS, {})])]
    data = xspace([MadePlane("/device:GPU:0", lines), started(2**62)])
    assert judge("a.xplane.pb", data, tmp_path) == "imported"


def test_zeros_behind_a_profile_are_damage() -> None:
    """Each two of them would be a field: 300 MB of them kept the import busy for minutes."""
    with pytest.raises(DamagedError, match="a field without a number at byte 0"):
        next(fields(bytes(10), 0, 10))
