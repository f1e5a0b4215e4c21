"""Devices are listed as people count."""

from __future__ import annotations

from strategy_profiles.reporting.device_names import in_order


def test_worker_2_comes_before_worker_10() -> None:
    names = [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in (10, 2, 0)]
    assert in_order([*names, "", "odd"]) == ["", names[2], names[1], names[0], "odd"]
    assert in_order(["CPU:11", "CPU:2"]) == ["CPU:2", "CPU:11"]
