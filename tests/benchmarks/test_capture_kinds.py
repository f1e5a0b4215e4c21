"""How long a case's steps are made to last, and in how long a window the profiler is on alone."""

from __future__ import annotations

from benchmarks.measuring import capture_kinds


def _search(num_examples: int, ms_per_example: float, wanted_ms: float, devices: int) -> int:
    """The batch at which the search ends, where data have so many examples."""
    batch, too_many = capture_kinds.FIRST_BATCH, None
    for _ in range(capture_kinds.CALIBRATIONS):
        took_ms = batch * ms_per_example
        if abs(took_ms / wanted_ms - 1) < 0.15:
            break
        wanted = capture_kinds.next_batch(batch, took_ms, wanted_ms, devices, too_many)
        if wanted > num_examples:
            too_many = wanted
        else:
            batch = wanted
    return batch


def test_a_step_is_made_to_last_by_its_batch() -> None:
    assert _search(10_000, 0.1, 100.0, 2) == 1000


def test_data_with_too_few_examples_give_the_longest_step_they_can() -> None:
    batch = _search(1797, 0.04, 100.0, 2)
    assert 1700 < batch <= 1797
    assert batch % 2 == 0


def test_every_replica_has_an_example() -> None:
    assert capture_kinds.next_batch(64, 1000.0, 10.0, 4, None) == 4


def test_the_profiler_alone_has_windows_as_long_as_the_recorders() -> None:
    assert capture_kinds.profiled_steps(10.0) == 100
    assert capture_kinds.profiled_steps(2000.0) == 10
