"""The model of a collective's time: what it costs, and that a fit finds what data was made from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.collective_cost import ALGORITHMS, cost
from strategy_replay.scaling.collective_time import (
    CollectiveTime,
    Observed,
    fit,
)
from strategy_replay.scaling.errors import PredictionError

parts = st.floats(1e-3, 10.0)
algorithms = st.sampled_from(ALGORITHMS)


def fitted_time(model: CollectiveTime, numbers: list[int], num_bytes: float) -> CollectiveTime:
    seen = [Observed(num, num_bytes, model.ms(num, num_bytes)) for num in numbers]
    return fit(model.algorithm, seen)


@pytest.mark.slow
@given(algorithms, parts, parts, parts, st.integers(2, 512), st.floats(1.0, 1e9))
def test_more_replicas_and_more_bytes_never_take_less(
    algorithm: str, fixed: float, latency: float, per_mb: float, number: int, num_bytes: float
) -> None:
    model = CollectiveTime(
        algorithm=algorithm,
        fixed_ms=fixed,
        latency_ms=latency,
        ms_per_byte=per_mb / 1e6,
        residual=0.0,
        num_observed=1,
    )
    took = model.ms(number, num_bytes)
    assert model.ms(number + 1, num_bytes) >= took * (1 - 1e-12)
    assert model.ms(number, 2 * num_bytes) > took


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_replica_reduces_nothing(algorithm: str) -> None:
    assert cost(algorithm, 1, 1e9) == (0.0, 0.0)
    assert (
        CollectiveTime(
            algorithm=algorithm,
            fixed_ms=5.0,
            latency_ms=1.0,
            ms_per_byte=1.0,
            residual=0.0,
            num_observed=1,
        ).ms(1, 1e9)
        == 0.0
    )


def test_a_ring_of_four_sends_six_messages_of_a_quarter() -> None:
    assert cost("collective-ring", 4, 100.0) == (6.0, 150.0)


@given(algorithms, st.floats(1.0, 100.0))
def test_one_observation_is_explained_by_bytes(algorithm: str, took_ms: float) -> None:
    fitted = fit(algorithm, [Observed(2, 4e6, took_ms)])
    assert fitted.ms(2, 4e6) == pytest.approx(took_ms)
    assert (fitted.fixed_ms, fitted.latency_ms, fitted.residual) == (0.0, 0.0, 0.0)


@given(parts, parts)
def test_three_groups_show_latency_and_bytes(latency: float, per_mb: float) -> None:
    made = CollectiveTime(
        algorithm="collective-ring",
        fixed_ms=0.0,
        latency_ms=latency,
        ms_per_byte=per_mb / 1e6,
        residual=0.0,
        num_observed=1,
    )
    fitted = fitted_time(made, [2, 4, 8], 4e6)
    assert fitted.residual < 0.25
    for number in (2, 4, 8):
        assert fitted.ms(number, 4e6) == pytest.approx(made.ms(number, 4e6), rel=0.25)


def test_latency_that_matters_is_found() -> None:
    made = CollectiveTime(
        algorithm="collective-ring",
        fixed_ms=0.0,
        latency_ms=3.0,
        ms_per_byte=5e-6,
        residual=0.0,
        num_observed=1,
    )
    fitted = fitted_time(made, [2, 4, 8], 4e6)
    assert fitted.latency_ms == pytest.approx(3.0, rel=0.01)
    assert fitted.ms(64, 4e6) == pytest.approx(made.ms(64, 4e6), rel=0.01)


def test_an_algorithm_without_a_model_is_refused() -> None:
    with pytest.raises(ReplayError, match="no model of the time that 'magic' takes"):
        cost("magic", 2, 1.0)
    with pytest.raises(PredictionError, match="No collective of two or more replicas"):
        fit("nccl", [Observed(1, 1e6, 3.0)])
