"""An import of a capture of GPUs has the figures that the capture's own reader finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import WindowOf, to_tables
from strategy_profiles.capture.joined import join
from strategy_profiles.importers import import_profile
from tests.synthetic.gpus import Cards

PHASES = ("compute_ms", "transfer_ms", "wait_ms")


def figures(rows: list[dict[str, Any]]) -> dict[tuple[int, int], tuple[float, ...]]:
    return {
        (row["step"], row["replica"]): tuple(round(row[name], 3) for name in PHASES) for row in rows
    }


@pytest.mark.parametrize("is_ahead", [False, True])
def test_an_import_of_the_same_file_has_the_same_figures(tmp_path: Path, is_ahead: bool) -> None:
    """Both read kernels by the same names; the import knows no graph."""
    cards = Cards(late_ms=20.0, is_ahead=is_ahead)
    (tmp_path / "box.xplane.pb").write_bytes(cards.capture())
    run = import_profile(tmp_path / "box.xplane.pb", tmp_path / "run")
    imported = strategy_profiles.load(run).table("replica_steps").to_pylist()
    joined = join(xspace.decode(cards.capture()), cards.graph())
    captured = to_tables(joined, WindowOf(0, 0))["replica_steps"].to_pylist()
    assert figures(imported) == figures(captured)
