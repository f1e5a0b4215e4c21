"""The calibration of the gate counts what it says, on noise whose truth is known."""

from __future__ import annotations

import numpy as np

from benchmarks.compare_noise import NOISES
from tests.plugins.gate.calibration import made_up, rates


def test_a_slowdown_far_beyond_the_noise_is_found_and_none_is_no_alarm() -> None:
    sides = made_up(NOISES["noise within runs only"])
    equal, slower = rates(sides, 0.0, 15, 0), rates(sides, 0.10, 15, 0)
    assert (equal.alarms, equal.undecided) == (0, 0)
    assert (slower.num_found, slower.num_runs) == (15, 6.0)


def test_noise_makes_the_gate_ask_for_more_runs() -> None:
    noisy = rates(made_up(NOISES["runs differ by 4 %"]), 0.05, 6, 1)
    assert noisy.num_runs > 10


def test_both_sides_are_recorded_in_turns() -> None:
    a, b = made_up(NOISES["noise within runs only"])(0.05, np.random.default_rng(0))
    order = sorted([(run.started_ns, "a") for run in a] + [(run.started_ns, "b") for run in b])
    places = [{side for _, side in order[i : i + 2]} for i in range(0, len(order), 2)]
    assert places == [{"a", "b"}] * len(a)
