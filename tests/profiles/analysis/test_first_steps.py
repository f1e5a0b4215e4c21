"""How long the first step of a configuration took before."""

from __future__ import annotations

import os
from pathlib import Path

from strategy_profiles import load
from strategy_profiles.analysis.first_steps import earlier_first_step_ms
from strategy_profiles.run.layout import worker_folder
from tests.synthetic import write_run


def test_the_first_steps_length_comes_from_a_run_of_the_same_configuration(tmp_path: Path) -> None:
    earlier = write_run(tmp_path / "earlier", steps=3, windows=0)
    spec = load(earlier).segments[0].spec
    assert earlier_first_step_ms(tmp_path / "new", spec) is not None
    assert earlier_first_step_ms(tmp_path / "new", spec | {"strategy": "tpu"}) is None


def test_an_earlier_run_whose_events_are_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    earlier = write_run(tmp_path / "earlier", steps=3, windows=0)
    spec = load(earlier).segments[0].spec
    events = worker_folder(earlier, 0).events
    events.unlink()
    os.mkfifo(events)
    assert earlier_first_step_ms(tmp_path / "new", spec) is None
