"""XLA on one side of a comparison only explains the answer; unknown does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.compare.document import comparison_document
from strategy_profiles.analysis.compare.run_comparison import compare_runs
from strategy_profiles.analysis.compare.text import answer
from strategy_profiles.analysis.xla import compiled_on_one_side
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import PlacementRecorded
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run


@pytest.mark.parametrize(
    ("a", "b", "begins"),
    [
        ([2, 1], [0, 0], "XLA compiles functions of A and none of B"),
        ([0], [4], "XLA compiles functions of B and none of A"),
        ([0], [0], None),
        ([3], [3], None),
        ([None], [4], None),
        ([2, 0], [0, 0], None),
    ],
)
def test_only_a_whole_side_with_xla_is_reported(
    a: list[int | None], b: list[int | None], begins: str | None
) -> None:
    compiled = compiled_on_one_side(a, b)
    assert (compiled or "").startswith(begins or "") if begins else compiled is None


def run_of(folder: Path, num_compiled: int) -> strategy_profiles.Profile:
    run = write_run(folder, steps=30, windows=0, placement=False)
    log = EventLog(worker_folder(run, 0, 0).events)
    log.write(PlacementRecorded(0, None, 0, "made up", num_compiled=num_compiled))
    log.close()
    return strategy_profiles.load(run)


def test_a_comparison_names_xla_if_it_compiles_one_side_alone(tmp_path: Path) -> None:
    compared = compare_runs(run_of(tmp_path / "a", 0), run_of(tmp_path / "b", 2))
    _, rest = answer(compared)
    assert "XLA compiles functions of B and none of A" in rest
    assert comparison_document(compared, [])["explanation"] in rest
    same = compare_runs(run_of(tmp_path / "c", 2), run_of(tmp_path / "d", 2))
    assert "XLA" not in answer(same)[1]
    assert comparison_document(same, [])["explanation"] is None
