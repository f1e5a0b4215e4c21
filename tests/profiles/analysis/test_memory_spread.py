"""Memory of many devices as one band."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from strategy_profiles import load
from strategy_profiles.analysis.memory import memory_use
from strategy_profiles.analysis.memory_spread import memory_spread
from tests.synthetic import write_run

STEP = np.arange(0.0, 40.0, 10.0)


def test_devices_are_listed_in_numeric_order(tmp_path: Path) -> None:
    used = memory_use(load(write_run(tmp_path / "run", replicas=12, global_batch_size=240)))
    assert [item.device.rpartition(":")[2] for item in used] == [str(n) for n in range(12)]


def test_a_device_counts_with_its_latest_sample_from_its_first() -> None:
    late = (np.array([15.0, 25.0]), np.array([500.0, 700.0]))
    spread = memory_spread([(STEP, np.full(4, 100.0)), late])
    assert spread.step.tolist() == [0, 10, 15, 20, 25, 30]
    assert spread.high.tolist() == [100, 100, 500, 500, 700, 700]
    assert spread.low.tolist() == [100] * 6


def test_only_a_value_well_above_the_median_is_an_outlier() -> None:
    alike = [(STEP, np.full(4, 100.0 + n)) for n in range(4)]
    assert memory_spread(alike).outstanding is None
    assert memory_spread([*alike, (STEP, np.full(4, 150.0))]).outstanding == 4
