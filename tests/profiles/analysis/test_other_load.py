"""A comparison warns if other programs used the machine during one side only."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.compare.run_comparison import busier_for_one_side, compare_runs
from strategy_profiles.analysis.machine_load import MachineLoad
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import ProcessUse
from strategy_profiles.run.events import ResourcesSampled
from strategy_profiles.run.layout import launcher_file
from tests.synthetic import EPOCH_NS, write_run


def load(other: float, stolen: float = 0.0) -> MachineLoad:
    return MachineLoad(
        num_samples=5, num_cores=4, run_cores=2.0, other_cores=other, stolen_cores=stolen
    )


@pytest.mark.parametrize(
    ("a", "b", "begins"),
    [
        ([load(0.1)], [load(1.2)], "Other programs used 1.2 of the machine's 4 CPU cores while B"),
        (
            [load(0.1, 0.9)],
            [load(0.2)],
            "Other programs and other virtual machines used 1.0 of the machine's 4 CPU cores",
        ),
        ([load(2.0), load(0.0)], [load(0.2)], "Other programs used 1.0"),
        ([load(1.0)], [load(1.2)], None),
        ([None], [load(3.0)], None),
    ],
)
def test_a_clear_difference_between_the_sides_is_a_warning(
    a: list[MachineLoad | None], b: list[MachineLoad | None], begins: str | None
) -> None:
    busier = busier_for_one_side(a, b)
    assert (busier is None) == (begins is None)
    assert (busier or "").startswith(begins or "")


def test_two_runs_with_samples_are_compared_with_the_warning(tmp_path: Path) -> None:
    runs = []
    for name, busy in (("a", 1.0), ("b", 3.0)):
        run = write_run(tmp_path / name, steps=200, memory=False)
        log = EventLog(launcher_file(run, 0), now_ns=lambda: EPOCH_NS + 3 * 10**9)
        log.write(ResourcesSampled(1000.0, 4, busy, 0.0, [ProcessUse(0, 0, 0.8, None)]))
        log.close()
        runs.append(strategy_profiles.load(run))
    warnings = compare_runs(*runs).warnings
    assert any("used 2.2 of the machine's 4 CPU cores while B trained" in each for each in warnings)
