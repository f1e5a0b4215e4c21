"""Whatever else a program does, it ends as it does alone: output, exit code, weights."""

from __future__ import annotations

import pytest

from tests.foreign.both_ways import WEIGHTS, Ran, Runner

pytestmark = [pytest.mark.tf, pytest.mark.run]

ENDS = {
    "asynchronous": 0,
    "asynchronous with an error": 1,
    "threads": 0,
    "data service": 0,
    "forks": 0,
    "killed in a step": 3,
    "raised in a step": 1,
    "left in a step": 4,
}


def _outcome(ran: Ran) -> tuple[int, str, bytes | None]:
    saved = ran.folder / WEIGHTS
    return ran.code, ran.output, saved.read_bytes() if saved.exists() else None


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("how", ENDS)
def test_a_program_under_stress_ends_as_it_does_alone(programs: Runner, how: str) -> None:
    plain, traced = (
        programs.run("under_stress", is_traced=is_traced, arguments=(WEIGHTS, how))
        for is_traced in (False, True)
    )
    assert plain.code == ENDS[how], plain.errors
    assert _outcome(traced) == _outcome(plain), traced.errors
    assert traced.errors.splitlines()[-1:] == plain.errors.splitlines()[-1:]
    if how != "killed in a step":
        assert len(traced.of_kind("step")) >= 6


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("again", range(3))
def test_a_mesh_of_dtensor_computes_what_it_does_alone(programs: Runner, again: int) -> None:
    """With reads of its tensors in the recorder, one of three such programs ended or lost a
    step."""
    plain, _ = programs.both("dtensor")
    traced = programs.run("dtensor", is_traced=True)
    assert _outcome(traced) == _outcome(plain), (again, traced.errors)
    assert traced.code == 0
    assert len(traced.of_kind("step")) == 400
    assert all(step["loss"] is None for step in traced.of_kind("step"))
    assert "is spread over the mesh of `tf.experimental.dtensor`" in traced.notes
    (graph,) = traced.of_kind("placement")
    assert "would hide errors of its own" in graph["reason"]
