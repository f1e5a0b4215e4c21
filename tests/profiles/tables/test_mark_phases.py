"""A replica's step split by its marks: the five phases add up to it, whatever the clock did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.run.events import StepDone
from strategy_profiles.tables.mark_phases import between_marks, fill_step, split_step
from tests.event_records import event_of

MS = 1_000_000
"""A split step is a row a replica: compute, delay, wait, transfer, input and idle, in ms."""


def step(**fields: Any) -> StepDone:
    event = event_of({"kind": "step", **fields})
    assert isinstance(event, StepDone)
    return event


def test_a_late_replica_computes_while_the_others_wait() -> None:
    marks = [[0, 10 * MS, 42 * MS], [0, 40 * MS, 42 * MS]]
    split = split_step(step(wall_ms=45.0, input_ms=1.0, marks_ns=marks))
    assert split == [(10.0, 0.0, 30.0, 2.0, 1.0, 2.0), (40.0, 0.0, 0.0, 2.0, 1.0, 2.0)]
    assert all(sum(phases) == 45.0 for phases in split)


def test_an_injected_delay_is_a_phase_of_its_own_and_no_compute() -> None:
    marks = [[0, 10 * MS, 42 * MS], [0, 40 * MS, 42 * MS]]
    split = split_step(step(wall_ms=45.0, marks_ns=marks), None, [0.0, 30.0])
    assert split == [(10.0, 0.0, 30.0, 2.0, 0.0, 3.0), (10.0, 30.0, 0.0, 2.0, 0.0, 3.0)]


def test_a_delay_is_never_longer_than_what_was_measured_with_it() -> None:
    split = split_step(step(wall_ms=45.0, marks_ns=[[0, 20 * MS, 42 * MS]]), None, [30.0])
    assert split == [(0.0, 20.0, 0.0, 22.0, 0.0, 3.0)]


def test_a_clock_that_went_back_leaves_no_negative_phase() -> None:
    split = split_step(step(wall_ms=5.0, marks_ns=[[10 * MS, 8 * MS, 7 * MS]]))
    assert split == [(0.0, 0.0, 0.0, 0.0, 0.0, 5.0)]


def test_waiting_for_input_is_never_longer_than_the_step() -> None:
    split = split_step(step(wall_ms=5.0, input_ms=9.0, marks_ns=[[0, 0, 0]]))
    assert split == [(0.0, 0.0, 0.0, 0.0, 5.0, 0.0)]


def test_a_step_without_marks_is_not_split() -> None:
    assert split_step(step(wall_ms=5.0)) is None
    assert split_step(step(wall_ms=5.0, marks_ns=[])) is None


times = st.integers(0, 10**9)


@pytest.mark.slow
@given(
    st.lists(st.tuples(times, times, times), min_size=1, max_size=5),
    st.floats(0, 2_000),
    st.floats(0, 2_000),
    st.one_of(st.none(), times),
    st.floats(0, 900),
)
def test_numbers_and_columns_give_the_same_phases_which_add_up(
    marks: list[tuple[int, int, int]],
    wall_ms: float,
    input_ms: float,
    last_ns: int | None,
    delay_ms: float,
) -> None:
    split = split_step(
        step(wall_ms=wall_ms, input_ms=input_ms, marks_ns=marks), last_ns, [delay_ms] * len(marks)
    )
    assert split is not None
    inputs, gradients, reduced = np.array(marks, np.int64).T
    last = max(last_ns or 0, int(gradients.max()))
    delay = np.full(len(marks), round(delay_ms * 1e6))
    between = tuple(
        length / 1e6
        for length in between_marks(inputs, gradients, reduced, np.full(len(marks), last), delay)
    )
    columns = fill_step(
        np.full(len(marks), wall_ms),
        np.full(len(marks), input_ms),
        between,
        np.minimum,
        np.maximum,
    )
    assert np.allclose(np.array(split), np.stack(columns, axis=1), atol=1e-6)
    assert all(sum(phases) == pytest.approx(wall_ms, abs=1e-6) for phases in split)
    assert min(min(phases) for phases in split) >= 0
